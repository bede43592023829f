import { describe, expect, it } from 'vitest';
import { ConnectionRate } from '../../src/broker/connection-rate.js';
import { FailedLogins } from '../../src/broker/failed-logins.js';

/** A clock that the test moves. */
function clock(): { now: () => number; pass: (ms: number) => void } {
  let nowMs = 1_700_000_000_000;
  return {
    now: () => nowMs,
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

function times<T>(count: number, call: () => T): T[] {
  return Array.from({ length: count }, call);
}

describe('failed logins of an address', () => {
  it('are answered with a growing delay, up to a limit', () => {
    const failures = new FailedLogins(clock().now);
    const delays = times(40, () => failures.delayFor('10.0.0.1'));
    expect(delays.slice(0, 5)).toEqual([0, 0, 0, 250, 500]);
    expect(delays).toEqual(delays.toSorted((one, other) => one - other));
    expect(delays.at(-1)).toBe(5_000);
  });

  it('do not delay another address', () => {
    const failures = new FailedLogins(clock().now);
    times(10, () => failures.delayFor('10.0.0.1'));
    expect(failures.delayFor('10.0.0.2')).toBe(0);
  });

  it('are forgotten after a success, or a minute without one', () => {
    const { now, pass } = clock();
    const failures = new FailedLogins(now);
    times(10, () => failures.delayFor('10.0.0.1'));
    failures.succeeded('10.0.0.1');
    expect(failures.delayFor('10.0.0.1')).toBe(0);
    times(10, () => failures.delayFor('10.0.0.1'));
    pass(59_999);
    expect(failures.delayFor('10.0.0.1')).toBeGreaterThan(0);
    pass(60_000);
    expect(failures.delayFor('10.0.0.1')).toBe(0);
  });

  it('are remembered for a bounded number of addresses', () => {
    const failures = new FailedLogins(clock().now);
    times(10, () => failures.delayFor('10.0.0.1'));
    for (let number = 0; number < 10_000; number++) failures.delayFor(`10.1.0.${number}`);
    expect(failures.delayFor('10.0.0.1')).toBe(0);
  });
});

describe('fault 16: connections of an address', () => {
  it('are admitted up to the burst, then at the rate', () => {
    const { now, pass } = clock();
    const rate = new ConnectionRate(10, 100, now);
    const admitted = () => times(150, () => rate.admits('10.0.0.1')).filter(Boolean).length;
    expect(admitted()).toBe(100);
    pass(1_000);
    expect(admitted()).toBe(10);
    pass(60_000);
    expect(admitted()).toBe(100);
  });

  it('do not count against another address', () => {
    const rate = new ConnectionRate(10, 5, clock().now);
    times(50, () => rate.admits('10.0.0.1'));
    expect(rate.admits('10.0.0.1')).toBe(false);
    expect(rate.admits('10.0.0.2')).toBe(true);
  });

  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])('are free from %s', (address) => {
    const rate = new ConnectionRate(1, 1, clock().now);
    expect(times(50, () => rate.admits(address))).not.toContain(false);
  });

  it.each(['1.127.0.0', '128.0.0.1', '::11', '::ffff:10.0.0.1', ''])(
    'are counted from %j',
    (address) => {
      const rate = new ConnectionRate(1, 1, clock().now);
      expect(times(3, () => rate.admits(address))).toEqual([true, false, false]);
    },
  );
});
