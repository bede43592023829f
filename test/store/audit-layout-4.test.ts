import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { AUDIT_ACTIONS, type AuditPage } from '../../src/site/audit-trail.js';
import { CarryOver } from '../../src/store/carry-over.js';
import { faultTexts } from '../harness/fault-texts.js';
import { useRedis } from '../harness/shared-redis.js';
import { AuditWorld, entry, query, readAll, SET } from './audit-world.js';

const place = useRedis();

const formerSchema = z.object({
  sequence: z.number(),
  /** Number and steady time of each, in turn. */
  marks: z.array(z.string()),
  /** By action: member and time of each, in turn. */
  sets: z.record(z.string(), z.array(z.string())),
  expected: z.array(z.looseObject({ sequence: z.number(), atMs: z.number() })),
});

/** A site as a gateway of layout 4 left it: 60 records in six files, a few of them also in the store. */
async function former() {
  const base = mkdtempSync(join(tmpdir(), 'gateway-audit-layout-4-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  execFileSync('tar', ['-xzf', join(import.meta.dirname, 'layout-4/audit.tar.gz'), '-C', base]);
  const { expected, ...state } = formerSchema.parse(
    JSON.parse(readFileSync(join(base, 'former.json'), 'utf8')),
  );
  const world = new AuditWorld(place.socketPath, { directory: join(base, 'files') });
  const { redis, keys } = world;
  const putBack = async () => {
    for (const [action, members] of Object.entries(state.sets)) {
      for (let at = 0; at + 1 < members.length; at += 2) {
        await redis.zadd(keys.formerAudit(action), members[at + 1] ?? '', members[at] ?? '');
      }
    }
    await redis.set(keys.layout, 4);
  };
  await putBack();
  await redis.set(keys.auditSequence, state.sequence);
  for (let at = 0; at + 1 < state.marks.length; at += 2) {
    await redis.zadd(keys.auditMarks, state.marks[at + 1] ?? '', state.marks[at] ?? '');
  }
  const carryOver = async () => {
    await new CarryOver(redis, keys, world.log).run();
    await world.archiver.prepare();
  };
  return { world, expected, putBack, carryOver };
}

function recordsOf(pages: readonly AuditPage[]) {
  return pages.flatMap(({ records }) => records);
}

it('shows every record of layout 4, in order, before and after they are moved', async () => {
  const { world, expected, carryOver } = await former();
  await carryOver();
  expect(await world.storedCount()).toBe(51);
  const all = () => readAll(world.trail, query({ order: 'asc', limit: 7 }));
  expect(recordsOf(await all())).toEqual(expected);
  await world.trail.record([entry(SET + 1e9)]);
  await world.move();
  expect(await world.storedCount()).toBe(0);
  const records = recordsOf(await all());
  expect(records.slice(0, -1)).toEqual(expected);
  expect(records.at(-1)?.sequence).toBe(expected.length + 1);
  expect(new Set((await world.archivedCounts()).values())).toEqual(new Set([1]));
  expect(faultTexts(world.health.faults())).toEqual([]);
  const sets = AUDIT_ACTIONS.map((action) => world.keys.formerAudit(action));
  expect(await world.redis.exists(...sets)).toBe(0);
});

it('continues after a gateway that was killed while it carried them over', async () => {
  const { world, expected, putBack, carryOver } = await former();
  const { redis, keys } = world;
  await carryOver();
  // All are in the stream; then a part, and the sets are still there.
  for (const count of [51, 20]) {
    const entries = await redis.xrange(keys.auditLog, '-', '+', 'COUNT', count);
    await redis.del(keys.auditLog);
    for (const [id, fields] of entries) await redis.xadd(keys.auditLog, id, ...fields);
    await putBack();
    await carryOver();
    const pages = await readAll(world.trail, query({ order: 'asc' }));
    expect(recordsOf(pages)).toEqual(expected);
    expect(await world.storedCount()).toBe(51);
  }
});

it('removes records of layout 4 once they are too old, also from within a file', async () => {
  const { world, expected, carryOver } = await former();
  await carryOver();
  await world.move();
  expect(await world.removeOld(100)).toBe(0);
  expect(await world.removeOld(101)).toBe(60);
  const shown = async () => recordsOf(await readAll(world.trail, query({ order: 'asc' })));
  expect(await shown()).toEqual(expected.filter(({ sequence }) => sequence > 60));
  expect(await world.removeOld(151)).toBe(45);
  expect(world.files()).toEqual([]);
});

it('reports a damaged file of layout 4, and shows all the rest', async () => {
  const { world, expected, carryOver } = await former();
  const file = world.files().find((path) => path.endsWith('/1577836770000_1577836836000_1_37.br'));
  const bytes = readFileSync(file ?? '');
  bytes[bytes.length - 2] = (bytes.at(-2) ?? 0) ^ 1;
  writeFileSync(file ?? '', bytes);
  await carryOver();
  const records = recordsOf(await readAll(world.trail, query({ order: 'asc' })));
  // Every third record has the action of the file.
  const isLost = (sequence: number) => sequence <= 37 && sequence % 3 === 1;
  expect(records).toEqual(expected.filter(({ sequence }) => !isLost(sequence)));
  expect(faultTexts(world.health.faults())).toEqual([
    'Files of the audit trail cannot be read: 1.',
  ]);
});
