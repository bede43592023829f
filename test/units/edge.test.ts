/**
 * Parts of the edge that decide who is admitted: budgets, rates and quotas of connections.
 * The limits themselves, as clients see them, are in `budgets`.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import fc from 'fast-check';
import { generate } from 'mqtt-packet';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConnectionQuota, type Held } from '../../src/broker/admission/connection-quota.js';
import { UnidentifiedConnections } from '../../src/broker/admission/unidentified-connections.js';
import { type Budget, Budgets, limitKey } from '../../src/broker/budgets/budgets.js';
import type { BudgetLimits, OwnLimits } from '../../src/domain/limits.js';
import type { Device } from '../../src/domain/site.js';
import { TokenBucket, TokenRate } from '../../src/domain/token-bucket.js';
import { ConnectionRate } from '../../src/network/connection-rate.js';
import { QuotaWatch } from '../../src/site/access/quota-watch.js';
import { Health } from '../../src/site/health/health.js';
import { SiteModel } from '../../src/site/site-model.js';
import { faultTexts } from '../harness/described/fault-texts.js';

const MIB = 2 ** 20;
const SILENT = pino({ level: 'silent' });
const PLENTY = 1e12;
const plenty = {
  messagesPerSecond: PLENTY,
  messageBurst: PLENTY,
  alarmsPerDay: PLENTY,
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
    for (let count = 0; count < 5_000; count++) budget.countAlarm();
    budget.take(1, 1, site.nowMs);
    site.put('one', 'a', { alarmsPerDay: 1_000 });
    expect(site.limitOf(budget)).toBeUndefined();
    budget.countAlarm();
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

describe('the quota of all connections', () => {
  /** A quota of eight connections in all, and the addresses of those it has dropped. */
  function start() {
    const health = new Health();
    const watch = new QuotaWatch({ health, model: new SiteModel(), log: SILENT, now: () => 0 });
    const quota = new ConnectionQuota({ total: 8, isExempt: () => false, watch });
    const dropped: string[] = [];
    const arrive = (address: string): Held => {
      const drop = () => void dropped.push(address);
      const held = { address, keepAliveMs: 0, silentMs: 0, timeOut: drop, close: drop };
      quota.arrived(held);
      return held;
    };
    return { health, quota, dropped, arrive };
  }

  it('counts newcomers from one IPv6 network as one address', () => {
    const { health, dropped, arrive } = start();
    for (let host = 1; host <= 6; host++) arrive(`2001:db8:0:1::${host}`);
    expect(dropped).toEqual(['2001:db8:0:1::1', '2001:db8:0:1::2']);
    for (let host = 1; host <= 4; host++) arrive(`2001:db8:0:2::${host}`);
    expect(dropped).toHaveLength(2);
    expect(faultTexts(health.faults())).toEqual([expect.stringContaining('address 2001:db8:0:1')]);
  });

  it('gives newcomers the room that logged-in clients leave', () => {
    const { quota, dropped, arrive } = start();
    const quotas = { connections: 10, persistentSessions: 1, subscriptions: 1 };
    for (let sensor = 1; sensor <= 5; sensor++) {
      const claimant = { owner: `device:${sensor}`, sessionKey: `${sensor}`, quotas };
      quota.admit(arrive(`192.0.2.${sensor}`), claimant);
    }
    for (let stranger = 1; stranger <= 4; stranger++) arrive(`198.51.100.${stranger}`);
    expect(dropped).toEqual(['198.51.100.1']);
  });

  it('allows a principal at most twice its connections during takeovers, while the old ones are ending', () => {
    const { quota, arrive } = start();
    const quotas = { connections: 1, persistentSessions: 1, subscriptions: 1 };
    const claimant = { owner: 'device:1', sessionKey: 'session', quotas };
    for (let time = 1; time <= 2; time++) quota.admit(arrive('192.0.2.1'), claimant);
    const third = arrive('192.0.2.1');
    expect(() => quota.admit(third, claimant)).toThrow('connections');
  });
});

describe('a connection without a whole CONNECT', () => {
  /** Longer than a machine may stall between two steps of a test. */
  const TIMEOUT_MS = 3_000;
  const SHORT_MS = 150;
  const MAX_PACKET_BYTES = MIB / 4;
  const MAX_BEGUN_BYTES = 32 * MIB;
  const CONNECT = generate({
    cmd: 'connect',
    clientId: 'sensor',
    protocolVersion: 4,
    keepalive: 30,
  });
  /** Announces 200,000 more bytes. */
  const HEAD_OF_LONG_CONNECT = Buffer.from([0x10, 0xc0, 0x9a, 0x0c]);
  const NAMED =
    'Too many connections without a login: the oldest of them are closed: address 10.0.0.1';

  let server: Server;
  let unidentified: UnidentifiedConnections;
  let quota: ConnectionQuota;
  let health: Health;
  let timeoutMs: number;
  let served: Socket[];
  let timedOut: string[];
  let malformed: string[];
  let clients: Socket[];

  beforeEach(async () => {
    [served, timedOut, malformed, clients] = [[], [], [], []];
    timeoutMs = TIMEOUT_MS;
    health = new Health();
    const now = () => performance.now();
    const watch = new QuotaWatch({ health, model: new SiteModel(), log: SILENT, now });
    quota = new ConnectionQuota({ total: 1_000, isExempt: () => true, watch });
    unidentified = new UnidentifiedConnections({
      get timeoutMs() {
        return timeoutMs;
      },
      maxPacketBytes: MAX_PACKET_BYTES,
      watch,
      quota,
      onTimeout: (address) => timedOut.push(address),
      onMalformed: (address) => malformed.push(address),
    });
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      unidentified.wait(socket, '10.0.0.1', () => served.push(socket));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    for (const socket of [...clients, ...served]) socket.destroy();
    server.close();
  });

  async function open(count: number): Promise<void> {
    const { port } = z.object({ port: z.number() }).parse(server.address());
    for (let opened = 0; opened < count; opened++) {
      const client = connect(port, '127.0.0.1').resume();
      await once(client, 'connect');
      clients.push(client);
    }
  }

  async function allClosed(): Promise<void> {
    for (const client of clients) if (!client.closed) await once(client, 'close');
  }

  it.each([
    ['no CONNECT', Buffer.from('G')],
    ['a CONNECT that is too long', Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f])],
    ['a CONNECT whose length is malformed', Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff])],
  ])('immediately ends a connection that begins with %s', async (_what, bytes) => {
    await open(1);
    clients[0]?.write(bytes);
    await allClosed();
    expect([served, malformed, timedOut]).toEqual([[], ['10.0.0.1'], []]);
  });

  it('ends connections that stop in the middle of CONNECT, and names an address that opened several', async () => {
    timeoutMs = SHORT_MS;
    await open(4);
    for (const client of clients) client.write(CONNECT.subarray(0, 12));
    await allClosed();
    expect(served).toEqual([]);
    expect(timedOut).toEqual(Array(4).fill('10.0.0.1'));
    await expect.poll(() => faultTexts(health.faults())).toEqual([NAMED]);
  });

  it('ends the oldest incomplete CONNECT when all of them together are too large', async () => {
    const partBytes = 190_000;
    const part = Buffer.concat([HEAD_OF_LONG_CONNECT, Buffer.alloc(partBytes)]);
    const most = Math.floor(MAX_BEGUN_BYTES / part.length);
    timeoutMs = 60_000;
    await open(most + 1);
    const [oldest, second] = clients;
    for (const client of clients) client.write(part);
    await expect.poll(() => oldest?.closed).toBe(true);
    expect(second?.closed).toBe(false);
    expect(faultTexts(health.faults())).toEqual([NAMED]);
  });

  it('names nobody for a single one', async () => {
    timeoutMs = SHORT_MS;
    await open(1);
    await allClosed();
    expect(timedOut.length).toBe(1);
    expect(faultTexts(health.faults())).toEqual([]);
  });
});
