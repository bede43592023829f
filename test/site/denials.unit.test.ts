import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Denials } from '../../src/site/access/denials.js';
import type { Actor, AuditEntry } from '../../src/site/audit-trail.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';

const STARTED_AT = Date.UTC(2026, 0, 1, 6, 30);
const NOWHERE = { locationId: null, resourceId: null };

function token(id: string, address = '192.0.2.7'): Actor {
  return { type: 'access-token', id, address, requestId: null };
}

function anonymous(address: string): Actor {
  return { type: 'anonymous', id: null, address, requestId: null };
}

/** Denials on a clock that the test moves, and their records so far. */
function start() {
  const entries: AuditEntry[] = [];
  const clock = { nowMs: STARTED_AT };
  const headroom = new StoreHeadroom();
  const denials = new Denials({
    audit: {
      record: async (batch) => {
        entries.push(...batch);
      },
    },
    headroom,
    log: pino({ level: 'silent' }),
    now: () => clock.nowMs,
    steadyNow: () => clock.nowMs - STARTED_AT,
  });
  /** Moves the clock by seconds, with a sweep in each, like the interval. */
  const passSeconds = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.nowMs += 1_000;
      denials.sweep();
    }
  };
  const deny = (who: Actor, count: number, path = '/') => {
    for (let index = 0; index < count; index++) {
      denials.addDeniedPermission(who, NOWHERE, { path: `${path}${index}` });
    }
  };
  /** The records since the last call, once they are written. */
  const recorded = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return entries.splice(0);
  };
  return { clock, denials, deny, headroom, passSeconds, recorded };
}

function paths(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `/${from + index}`);
}

function pathsOf(entries: readonly AuditEntry[]): unknown[] {
  return entries.map(({ details }) => details['path']);
}

it('200 at once get ten records, and within a minute one for the rest: number, first and last', async () => {
  const { deny, passSeconds, recorded } = start();
  deny(token('a'), 200);
  const single = await recorded();
  expect(pathsOf(single)).toEqual(paths(10));
  expect(single.every(({ action }) => action === 'permission.refused')).toBe(true);
  passSeconds(59);
  expect(await recorded()).toEqual([]);
  passSeconds(1);
  const time = new Date(STARTED_AT).toISOString();
  expect(await recorded()).toEqual([
    {
      action: 'permission.refused',
      actor: token('a'),
      atMs: STARTED_AT,
      ...NOWHERE,
      details: {
        path: '/199',
        count: '190',
        firstAt: time,
        lastAt: time,
        firstPath: '/10',
      },
    },
  ]);
  passSeconds(120);
  expect(await recorded()).toEqual([]);
});

it('of a continuing flood are ten records a second and one a minute, and every one is counted', async () => {
  const { deny, passSeconds, recorded } = start();
  for (let second = 0; second < 180; second++) {
    deny(token('a'), 50);
    passSeconds(1);
  }
  passSeconds(60);
  const entries = await recorded();
  const counts = entries.flatMap(({ details }) => details['count'] ?? []).map(Number);
  const singles = entries.length - counts.length;
  expect(singles).toBe(1_800);
  expect(counts).toHaveLength(3);
  expect(singles + counts.reduce((sum, count) => sum + count, 0)).toBe(180 * 50);
});

it('at ten a second are all recorded separately', async () => {
  const { clock, deny, recorded } = start();
  for (let index = 0; index < 300; index++) {
    deny(token('a'), 1, `/${index}/`);
    clock.nowMs += 100;
  }
  expect(await recorded()).toHaveLength(300);
});

it('that were counted show the first and the last time, and where all of them were', async () => {
  const { clock, denials, passSeconds, recorded } = start();
  const at = (locationId: string, resourceId: string, topic: string) =>
    denials.addDeniedPermission(token('a'), { locationId, resourceId }, { topic });
  for (let index = 0; index < 11; index++) at('home', 'one', 'x/first');
  clock.nowMs += 30;
  at('home', 'two', 'x/last');
  await recorded();
  passSeconds(60);
  expect(await recorded()).toMatchObject([
    {
      atMs: STARTED_AT + 30,
      locationId: 'home',
      resourceId: null,
      details: {
        topic: 'x/last',
        firstTopic: 'x/first',
        count: '2',
        firstAt: new Date(STARTED_AT).toISOString(),
        lastAt: new Date(STARTED_AT + 30).toISOString(),
      },
    },
  ]);
});

it('are grouped by principal, wherever it is, or by address if nobody is known', async () => {
  const { deny, recorded } = start();
  deny(token('a', '192.0.2.1'), 10);
  deny(token('b', '192.0.2.1'), 10);
  deny(anonymous('192.0.2.1'), 10);
  deny(anonymous('192.0.2.2'), 10);
  expect(await recorded()).toHaveLength(40);
  deny(token('a', '192.0.2.9'), 1);
  deny(anonymous('192.0.2.1'), 1);
  expect(await recorded()).toEqual([]);
});

it('are grouped by network with IPv6: a stranger has 2^64 addresses', async () => {
  const { deny, recorded } = start();
  deny(anonymous('2001:db8:0:1::1'), 10);
  deny(anonymous('2001:db8:0:1:ffff::2'), 10);
  expect(await recorded()).toHaveLength(10);
  deny(anonymous('2001:db8:0:2::1'), 10);
  expect(await recorded()).toHaveLength(10);
});

it('of logins are grouped by address, and counted separately from denied permissions', async () => {
  const { denials, deny, passSeconds, recorded } = start();
  deny(anonymous('192.0.2.1'), 10);
  for (let index = 0; index < 15; index++) {
    denials.addFailedLogin(anonymous('192.0.2.1'), { clientId: `${index}` });
  }
  const single = (await recorded()).filter(({ action }) => action === 'authentication.refused');
  expect(single).toHaveLength(10);
  passSeconds(60);
  expect(await recorded()).toMatchObject([
    { action: 'authentication.refused', details: { count: '5', firstClientId: '10' } },
  ]);
});

it('include at most 256 characters of what a client made up', async () => {
  const { denials, recorded } = start();
  const path = 'x'.repeat(5_000);
  denials.addDeniedPermission(token('a'), NOWHERE, { path, topic: null });
  expect(await recorded()).toMatchObject([{ details: { path: path.slice(0, 256), topic: null } }]);
});

it('are remembered for 10,000 addresses: the one denied longest ago gets its record early', async () => {
  const { deny, passSeconds, recorded } = start();
  deny(anonymous('first'), 12);
  deny(anonymous('second'), 13);
  deny(anonymous('first'), 1);
  for (let index = 0; index < 9_998; index++) deny(anonymous(`other-${index}`), 1);
  await recorded();
  deny(anonymous('one more'), 1);
  const early = await recorded();
  expect(early).toMatchObject([
    { actor: { address: 'second' }, details: { count: '3' } },
    { actor: { address: 'one more' } },
  ]);
  passSeconds(60);
  expect(await recorded()).toMatchObject([
    { actor: { address: 'first' }, details: { count: '3' } },
  ]);
});

it('that were only counted are recorded at the stop', async () => {
  const { denials, deny, recorded } = start();
  deny(token('a'), 17);
  await denials.stop();
  const entries = await recorded();
  expect(entries).toHaveLength(11);
  expect(entries.at(-1)?.details['count']).toBe('7');
});

it('are lost, and counted, while the store reserves its last room for alarms', async () => {
  const { denials, deny, headroom, passSeconds, recorded } = start();
  headroom.set('memory', 'short');
  deny(token('one'), 15);
  passSeconds(60);
  expect(await recorded()).toEqual([]);
  expect(denials.lost).toBe(15);
  headroom.set('memory', 'ample');
  deny(token('one'), 1);
  expect(await recorded()).toHaveLength(1);
});
