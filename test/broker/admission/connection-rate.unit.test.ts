import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { ConnectionRate } from '../../../src/broker/admission/connection-rate.js';

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

  it('take no more memory as the number of past addresses grows', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const heapBytes = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const { now, pass } = clock();
    const rate = new ConnectionRate(10, 100, now);
    const before = heapBytes();
    for (let host = 0; host < 100_000; host++) {
      rate.admits(`10.${host >> 16}.${(host >> 8) & 0xff}.${host & 0xff}`);
      pass(1);
    }
    expect(heapBytes() - before).toBeLessThan(1024 * 1024);
    expect(rate.admits('10.0.0.1')).toBe(true);
  });

  it('do not count against another address', () => {
    const rate = new ConnectionRate(10, 5, clock().now);
    times(50, () => rate.admits('10.0.0.1'));
    expect(rate.admits('10.0.0.1')).toBe(false);
    expect(rate.admits('10.0.0.2')).toBe(true);
  });

  it('are counted together within an IPv6 network', () => {
    const rate = new ConnectionRate(10, 5, clock().now);
    let host = 0;
    const admitted = times(50, () => rate.admits(`2001:db8:0:1::${++host}`)).filter(Boolean);
    expect(admitted).toHaveLength(5);
    expect(rate.admits('2001:db8:0:2::1')).toBe(true);
  });

  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])(
    'are unlimited from %s',
    (address) => {
      const rate = new ConnectionRate(1, 1, clock().now);
      expect(times(50, () => rate.admits(address))).not.toContain(false);
    },
  );

  it.each(['1.127.0.0', '128.0.0.1', '::11', '::ffff:10.0.0.1', ''])(
    'are counted from %j',
    (address) => {
      const rate = new ConnectionRate(1, 1, clock().now);
      expect(times(3, () => rate.admits(address))).toEqual([true, false, false]);
    },
  );
});
