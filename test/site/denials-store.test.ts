import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { newId } from '../../src/domain/notation.js';
import { Denials } from '../../src/site/access/denials.js';
import { type Actor, AUDIT_ACTIONS } from '../../src/site/audit-trail.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';
import { AuditRecords } from '../../src/store/audit/records.js';
import { AuditTrailRedis } from '../../src/store/audit/trail.js';
import { keysOf } from '../../src/store/keys.js';
import { Store } from '../../src/store/store.js';
import { useRedis } from '../former/servers/shared-redis.js';

const place = useRedis();

/** Denials on a store that takes writes or refuses them, one millisecond apart. */
async function start() {
  const redis = new Redis({ path: place.socketPath });
  const keys = keysOf(newId());
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  const records = new AuditRecords(Date.now);
  const trail = new AuditTrailRedis({ store: new Store(redis), keys, log, records });
  let nowMs = 0;
  const now = () => nowMs;
  const denials = new Denials({
    audit: trail,
    headroom: new StoreHeadroom(),
    log,
    now,
    steadyNow: now,
  });
  const accept = (isAccepting: boolean) =>
    redis.config('SET', 'maxmemory', isAccepting ? '0' : '1');
  onTestFinished(async () => {
    await accept(true);
    redis.disconnect();
  });
  const deny = (principals: number, of = 1) => {
    for (let index = 0; index < principals; index++) {
      nowMs++;
      const id = `${nowMs}`;
      const actor: Actor = { type: 'access-token', id, address: null, requestId: null };
      for (let count = 0; count < of; count++) denials.addFailedLogin(actor, {});
    }
  };
  const written = async () => {
    const all = { actions: AUDIT_ACTIONS, order: 'asc', limit: 100 } as const;
    const anything = { locationId: undefined, actorId: undefined, resourceId: undefined };
    const anytime = { beforeMs: undefined, afterMs: undefined };
    const first = { upToSequence: undefined, position: undefined };
    const page = await trail.page({ ...all, ...anything, ...anytime, ...first });
    return { times: page.records.map(({ atMs }) => atMs), count: page.upToSequence };
  };
  return { denials, deny, accept, written, lines };
}

it('denials that the store refuses are written as soon as it accepts them, once and in order', async () => {
  const { denials, deny, accept, written, lines } = await start();
  await accept(false);
  deny(30);
  await expect.poll(() => lines.join('')).toContain('failed to record denials, retrying');
  await accept(true);
  await expect.poll(async () => (await written()).count).toBe(30);
  expect((await written()).times).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
  await denials.stop();
  expect((await written()).count).toBe(30);
  expect(denials.lost).toBe(0);
});

it('10,000 records wait while the store is away; further denials are counted and logged as lost', async () => {
  const { denials, deny, accept, written, lines } = await start();
  await accept(false);
  deny(1_000, 10);
  expect(denials.lost).toBe(0);
  deny(7);
  expect(denials.lost).toBe(7);
  expect(lines.filter((line) => line.includes('denials are lost')).length).toBe(1);
  await accept(true);
  await expect.poll(async () => (await written()).count).toBe(10_000);
  deny(1);
  await denials.stop();
  expect((await written()).count).toBe(10_001);
});

it('a record with a count that finds no room is lost with everything that it stands for', async () => {
  const { denials, deny, accept } = await start();
  await accept(false);
  deny(1_000, 10);
  deny(1, 35);
  expect(denials.lost).toBe(10);
  await denials.stop();
  expect(denials.lost).toBe(35);
});

it('at the stop, waiting records are tried once more, or else reported as lost', async () => {
  const { denials, deny, accept, lines } = await start();
  await accept(false);
  deny(1);
  await denials.stop();
  expect(lines.join('')).toMatch(/"lost":1,.*failed to record denials before the stop/);
});
