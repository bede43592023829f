import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { newId } from '../../src/domain/notation.js';
import { AUDIT_ACTIONS, type AuditEntry, GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { BackgroundAudit } from '../../src/site/background-audit.js';
import { AuditRecords } from '../../src/store/audit/records.js';
import { AuditTrailRedis } from '../../src/store/audit/trail-redis.js';
import { Keys } from '../../src/store/keys.js';
import { useRedis } from '../http/harness.js';
import { openArchive } from '../store/audit-world.js';

const place = useRedis();

async function start() {
  const redis = new Redis({ path: place.socketPath });
  const keys = new Keys(newId());
  const trail = new AuditTrailRedis({
    ...{ redis, keys, records: new AuditRecords(keys) },
    archive: openArchive(place.socketPath).archive,
  });
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  const background = new BackgroundAudit(trail, log);
  /** Whether the store takes what is written. */
  const accept = (isAccepting: boolean) =>
    redis.config('SET', 'maxmemory', isAccepting ? '0' : '1');
  onTestFinished(async () => {
    await accept(true);
    redis.disconnect();
  });
  const written = async () => {
    const all = { actions: AUDIT_ACTIONS, order: 'asc', limit: 100 } as const;
    const anything = { locationId: undefined, actorId: undefined, resourceId: undefined };
    const anytime = { beforeMs: undefined, afterMs: undefined };
    const first = { upToSequence: undefined, position: undefined };
    const page = await trail.page({ ...all, ...anything, ...anytime, ...first });
    return { times: page.records.map(({ atMs }) => atMs), count: page.upToSequence };
  };
  return { background, accept, written, lines };
}

function entry(atMs: number): AuditEntry {
  const nothing = { locationId: null, resourceId: null, details: {} };
  return { action: 'authentication.refused', actor: GATEWAY_ACTOR, atMs, ...nothing };
}

it('what the store refuses is written as soon as it takes it, once and in order', async () => {
  const { background, accept, written, lines } = await start();
  await accept(false);
  for (let atMs = 1; atMs <= 30; atMs++) background.add(entry(atMs));
  await expect.poll(() => lines.join('')).toContain('trying again');
  await accept(true);
  await expect.poll(async () => (await written()).count).toBe(30);
  expect((await written()).times).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
  await background.stop();
  expect((await written()).count).toBe(30);
  expect(background.lost).toBe(0);
});

it('takes a bounded number while the store is away; the log and a count say what is lost', async () => {
  const { background, accept, written, lines } = await start();
  await accept(false);
  for (let atMs = 1; atMs <= 10_007; atMs++) background.add(entry(atMs));
  expect(background.lost).toBe(7);
  expect(lines.filter((line) => line.includes('audit entries are lost')).length).toBe(1);
  await accept(true);
  await expect.poll(async () => (await written()).count, { timeout: 20_000 }).toBe(10_000);
  background.add(entry(20_000));
  await background.stop();
  expect((await written()).count).toBe(10_001);
}, 30_000);

it('at the stop what waits is tried once more, and else said to be lost', async () => {
  const { background, accept, lines } = await start();
  await accept(false);
  background.add(entry(1));
  await background.stop();
  expect(lines.join('')).toContain('"lost":1');
});
