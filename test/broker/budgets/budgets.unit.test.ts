import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Budget, Budgets, limitKey } from '../../../src/broker/budgets/budgets.js';
import type { BudgetLimits, OwnLimits } from '../../../src/domain/limits.js';
import type { Device } from '../../../src/domain/site.js';
import { TokenBucket, TokenRate } from '../../../src/domain/token-bucket.js';
import { SiteModel } from '../../../src/site/site-model.js';

const PLENTY = 1e12;
const plenty = {
  messagesPerSecond: PLENTY,
  messageBurst: PLENTY,
  bytesPerSecond: PLENTY,
  byteBurst: PLENTY,
  alarmsPerDay: PLENTY,
  alarmBytesPerDay: PLENTY,
  connectsPerSecond: PLENTY,
  connectBurst: PLENTY,
};
const NO_LIMITS: BudgetLimits = { device: plenty, token: plenty };
const DAY_MS = 86_400_000;

/** Devices of several locations, with these limits. */
class Site {
  readonly model = new SiteModel();
  readonly budgets: Budgets;
  nowMs = 1_000_000;

  constructor(limits: Partial<BudgetLimits>) {
    this.budgets = new Budgets({ ...NO_LIMITS, ...limits }, this.model);
  }

  put(id: string, locationId = 'a', limits: OwnLimits = {}): Budget {
    const device: Device = {
      id,
      locationId,
      roomId: null,
      name: id,
      order: 1,
      createdAtMs: 0,
      secretHash: '',
      customData: '{}',
      limits,
    };
    this.model.apply([{ kind: 'device', before: undefined, after: device }]);
    return this.budgets.of({ type: 'device', id });
  }

  /** Sends single messages while the budget allows. Returns how many. */
  sendAll(budget: Budget, most = 10_000): number {
    for (let sent = 0; sent < most; sent++) {
      if (budget.reachedLimit(this.nowMs) !== undefined) return sent;
      budget.take(1, 1, this.nowMs);
    }
    return most;
  }

  limitOf(budget: Budget): string | undefined {
    const limit = budget.reachedLimit(this.nowMs);
    return limit && limitKey(limit);
  }
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
          const bucket = new TokenBucket();
          bucket.limit(new TokenRate(perSecond / 1_000, burst), 0);
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

describe('a budget', () => {
  const device = { ...plenty, messagesPerSecond: 100, messageBurst: 200 };

  it('lets a device send its burst, then its rate', () => {
    const site = new Site({ device });
    const budget = site.put('one');
    expect(site.sendAll(budget)).toBe(201);
    expect(site.limitOf(budget)).toBe('device.messagesPerSecond');
    expect(budget.isFree).toBe(false);
    site.nowMs += 1_010;
    expect(site.sendAll(budget)).toBe(101);
  });

  it('counts bytes, alarms and alarm bytes separately, the latter two per day', () => {
    const limits = { ...plenty, bytesPerSecond: 1_000, byteBurst: 5_000 };
    const site = new Site({ device: { ...limits, alarmsPerDay: 10, alarmBytesPerDay: 700 } });
    const [bytes, alarms, large] = [site.put('bytes'), site.put('alarms'), site.put('large')];
    bytes.take(1, 5_001, site.nowMs);
    expect(site.limitOf(bytes)).toBe('device.bytesPerSecond');
    for (let count = 0; count < 11; count++) {
      alarms.countAlarm(10);
      alarms.take(1, 10, site.nowMs);
    }
    expect(site.limitOf(alarms)).toBe('device.alarmsPerDay');
    large.countAlarm(701);
    large.take(1, 701, site.nowMs);
    expect(site.limitOf(large)).toBe('device.alarmBytesPerDay');
    site.nowMs += DAY_MS / 10;
    expect([bytes, alarms, large].map((budget) => site.limitOf(budget))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('counts connects, and the bytes of a CONNECT', () => {
    const limits = { ...plenty, bytesPerSecond: 1_000, byteBurst: 5_000 };
    const site = new Site({ device: { ...limits, connectsPerSecond: 10, connectBurst: 20 } });
    const [often, large] = [site.put('often'), site.put('large')];
    const limitOf = (budget: Budget) => budget.reachedConnectLimit(site.nowMs)?.name;
    for (let connects = 0; connects <= 20; connects++) often.takeConnect(10, site.nowMs);
    expect(limitOf(often)).toBe('connectsPerSecond');
    // Existing connections are still read.
    expect(site.limitOf(often)).toBeUndefined();
    site.nowMs += 101;
    expect(limitOf(often)).toBeUndefined();
    large.takeConnect(5_001, site.nowMs);
    expect(limitOf(large)).toBe('bytesPerSecond');
  });

  it('charges what is read for an answer, without going into debt for it', () => {
    const site = new Site({ token: { ...plenty, bytesPerSecond: 1_000, byteBurst: 5_000 } });
    const budget = site.budgets.of({ type: 'token', id: 'token', grants: [] });
    budget.takeAnswer(5_100, site.nowMs);
    expect(site.limitOf(budget)).toBe('token.bytesPerSecond');
    expect(budget.isFree).toBe(false);
    budget.takeAnswer(1_000_000, site.nowMs);
    site.nowMs += 101;
    expect(site.limitOf(budget)).toBeUndefined();
  });

  it('applies new limits of the device immediately, counting what is used up', () => {
    const site = new Site({ device });
    const budget = site.put('one');
    site.sendAll(budget);
    site.put('one', 'a', { messageBurst: 300 });
    expect(site.sendAll(budget)).toBe(100);
    site.nowMs += 1_000;
    site.put('one', 'a', { messageBurst: 250 });
    expect(site.sendAll(budget)).toBe(50);
  });

  it('creates no debt from a lower limit, so that a chatty sensor is not mute for days', () => {
    const site = new Site({ device: { ...device, alarmsPerDay: 200_000 } });
    const budget = site.put('one');
    for (let count = 0; count < 5_000; count++) budget.countAlarm(1);
    budget.take(1, 1, site.nowMs);
    site.put('one', 'a', { alarmsPerDay: 1_000 });
    expect(site.limitOf(budget)).toBeUndefined();
    budget.countAlarm(1);
    budget.take(1, 1, site.nowMs);
    expect(site.limitOf(budget)).toBe('device.alarmsPerDay');
    site.nowMs += DAY_MS / 1_000;
    expect(site.limitOf(budget)).toBeUndefined();
  });

  it('keeps a debt when the limit changes', () => {
    const site = new Site({ device });
    const budget = site.put('one');
    budget.take(250, 1, site.nowMs);
    site.put('one', 'a', { messagesPerSecond: 10, messageBurst: 10 });
    expect(site.limitOf(budget)).toBe('device.messagesPerSecond');
    site.nowMs += 4_900;
    expect(site.limitOf(budget)).toBe('device.messagesPerSecond');
    site.nowMs += 200;
    expect(site.limitOf(budget)).toBeUndefined();
  });

  it('follows the device to another location', () => {
    const site = new Site({ device });
    const budget = site.put('one');
    expect(budget.locationId).toBe('a');
    site.put('one', 'b');
    expect(budget.locationId).toBe('b');
  });

  it.each([
    [['a'], 'a'],
    [['a', 'a'], 'a'],
    [['a', 'b'], undefined],
    [['*'], undefined],
  ])('of a token with grants over %j belongs to location %s', (locations, locationId) => {
    const grants = locations.map((location) => ({ location, role: 'manager' as const }));
    const { budgets } = new Site({});
    expect(budgets.of({ type: 'token', id: 'token', grants }).locationId).toBe(locationId);
  });
});
