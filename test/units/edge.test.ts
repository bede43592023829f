/**
 * Parts of the edge that decide how much is read: what each principal sends, and how fast an address may connect.
 * The limits themselves, as clients see them, are in `budgets`.
 */
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { Flows } from '../../src/broker/flow.js';
import { TokenBucket } from '../../src/domain/token-bucket.js';
import { ConnectionRate } from '../../src/network/connection-rate.js';
import { SiteModel } from '../../src/site/site-model.js';

const DEVICE = { type: 'device', id: 'one' } as const;

/** The flow of a device that may send 100 messages a second, and 1,000 at once. */
function startFlow() {
  const flows = new Flows({
    limits: {
      device: { messagesPerSecond: 100, alarmsPerDay: 200_000 },
      token: { messagesPerSecond: 1 },
    },
    model: new SiteModel(),
    wallMs: () => 0,
    log: pino({ level: 'silent' }),
  });
  const flow = flows.of(DEVICE);
  return {
    flow,
    /** Sends single messages while it may. Returns how many. */
    sendAll: (nowMs: number) => {
      for (let sent = 0; sent < 10_000; sent++) {
        if (flow.freeAtMs > nowMs) return sent;
        flow.countPacket(1, nowMs);
      }
      return 10_000;
    },
  };
}

describe('a token bucket', () => {
  it('gives its initial fill, then what flows in, whatever is taken when', () => {
    const taken = fc.record({ afterMs: fc.nat(2_000), tokens: fc.integer({ min: 1, max: 50 }) });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 200 }),
        fc.array(taken, { maxLength: 100 }),
        (perSecond, burst, takes) => {
          const bucket = new TokenBucket(perSecond / 1_000, burst);
          let [level, nowMs] = [burst, 0];
          for (const { afterMs, tokens } of takes) {
            nowMs += afterMs;
            level = Math.min(burst, level + (afterMs * perSecond) / 1_000);
            // The two ways of counting differ only by rounding errors.
            if (Math.abs(level) > 1e-6) expect(bucket.freeAtMs <= nowMs).toBe(level > 0);
            bucket.take(tokens, nowMs);
            level -= tokens;
          }
        },
      ),
    );
  });
});

describe('a flow', () => {
  it('counts a packet as one message for each KiB, and at least as one', () => {
    const [one, other] = [startFlow(), startFlow()];
    one.flow.countPacket(100 * 1_024, 1_000);
    expect(other.sendAll(1_000) - one.sendAll(1_000)).toBe(100);
  });

  it('has ten seconds of messages at once, then so many each second', () => {
    const { sendAll } = startFlow();
    expect([sendAll(1_000), sendAll(1_000), sendAll(2_000)]).toEqual([1_001, 0, 100]);
  });

  it('counts as slowed from when it is held back, until ten seconds after', () => {
    const { flow } = startFlow();
    for (let count = 0; count < 1_050; count++) flow.countPacket(1, 1_000);
    flow.noteHeldBack(1_400);
    expect(flow.slowedAt(11_000)).toEqual({ limit: 'messagesPerSecond', sinceMs: 0 });
    expect(flow.slowedAt(12_000)).toBeUndefined();
  });
});

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

describe('the connections of an address', () => {
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

  it('are admitted up to the whole burst, whatever the fraction of the clock', () => {
    for (let at = 0; at < 1_000; at++) {
      const rate = new ConnectionRate(1, 2, () => at * 1_234.567);
      expect(times(3, () => rate.admits('10.0.0.1'))).toEqual([true, true, false]);
    }
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
