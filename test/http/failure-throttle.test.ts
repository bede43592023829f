import { describe, expect, it } from 'vitest';
import { isLoopbackAddress } from '../../src/domain/addresses.js';
import { FailureThrottle } from '../../src/http/failure-throttle.js';

function fail(throttle: FailureThrottle, address: string, times: number): void {
  for (let time = 1; time <= times; time++) throttle.add(address);
}

describe('failures of an address', () => {
  it('count for a minute from the first', () => {
    let nowMs = 1_000;
    const throttle = new FailureThrottle(isLoopbackAddress, () => nowMs);
    fail(throttle, '192.0.2.1', 19);
    nowMs += 30_000;
    expect(throttle.waitMs('192.0.2.1')).toBe(0);
    fail(throttle, '192.0.2.1', 1);
    expect(throttle.waitMs('192.0.2.1')).toBe(30_000);
    expect(throttle.waitMs('192.0.2.2')).toBe(0);
    nowMs += 30_000;
    expect(throttle.waitMs('192.0.2.1')).toBe(0);
  });

  it('are kept for a bounded number of addresses', () => {
    const throttle = new FailureThrottle(isLoopbackAddress, () => 0);
    fail(throttle, '2001:db8::1', 20);
    for (let number = 1; number < 10_000; number++) throttle.add(`2001:db8::1:${number}`);
    expect(throttle.waitMs('2001:db8::1')).toBe(60_000);
    throttle.add('2001:db8::2');
    expect(throttle.waitMs('2001:db8::1')).toBe(0);
  });
});

it('recognises loopback addresses in every notation', () => {
  for (const address of ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1']) {
    expect(isLoopbackAddress(address), address).toBe(true);
  }
  for (const address of ['128.0.0.1', '::2', '::ffff:10.0.0.1', 'fe80::1%eth0', '']) {
    expect(isLoopbackAddress(address), address).toBe(false);
  }
});
