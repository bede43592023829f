import { randomUUID } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { Keys } from '../../src/store/keys.js';
import { Api } from '../harness/api.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Store } from '../harness/store.js';
import { AuditWorld, entry } from '../store/audit-world.js';

const ACTION = 'footage.url-made';
/** Pages with a hundred recordings each: some 27 MB. */
const PAGES = 3_000;
const BATCH = 50;
/** The value in storage.ts. */
const MAX_KEPT_BYTES = 512 * 1024;
const KILLS = 3;

const pageSchema = z.object({
  nextCursor: z.string().nullable(),
  events: z.array(z.object({ id: z.string() })),
});

let gateway: GatewayProcess;

afterEach(() => gateway.remove());

/** The audit parts of the gateway, on its own store and archive. */
function worldOf({ dataDir }: GatewayProcess): AuditWorld {
  return new AuditWorld(join(dataDir, 'redis', 'redis.sock'), {
    directory: join(dataDir, 'audit'),
    keys: new Keys('site'),
  });
}

function segments({ dataDir }: GatewayProcess): string[] {
  try {
    return readdirSync(join(dataDir, 'audit')).filter((name) => name.endsWith('.jsonl.gz'));
  } catch {
    return [];
  }
}

async function readPages(world: AuditWorld): Promise<void> {
  const keys = Array.from({ length: 100 }, () => `${randomUUID()}/video/${randomUUID()}.mp4`);
  for (let at = 0; at < PAGES; at += BATCH) {
    const made = Array.from({ length: BATCH }, (_, index) =>
      entry(Date.now() + at + index, {
        action: ACTION,
        actor: { ...GATEWAY_ACTOR, requestId: randomUUID() },
        details: { keys: JSON.stringify(keys) },
      }),
    );
    await world.trail.record(made);
  }
}

async function idsOverHttp(api: Api, order: 'asc' | 'desc'): Promise<number[]> {
  const ids: number[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const part = cursor === undefined ? '' : `&cursor=${cursor}`;
    const page = pageSchema.parse(
      await api.json('GET', `/audit?actions=${ACTION}&order=${order}${part}`),
    );
    ids.push(...page.events.map(({ id }) => Number(id)));
    cursor = page.nextCursor;
  }
  return ids;
}

it('keeps surplus records on the disk, each once, whenever the gateway is killed', async () => {
  gateway = await GatewayProcess.start();
  const filling = worldOf(gateway);
  await readPages(filling);
  const index = filling.keys.auditLog;
  await gateway.kill();
  const records = await filling.oldest(300);
  const first = records[0]?.sequence ?? 0;
  const numbers = Array.from({ length: PAGES }, (_, at) => first + at);

  // The files of a gateway killed after writing one, and in the middle of another.
  await filling.archive.write(records);
  filling.redis.disconnect();
  writeFileSync(join(gateway.dataDir, 'audit', 'draft'), 'half');
  for (let kill = 0; kill < KILLS; kill++) {
    const before = segments(gateway).length;
    const starting = gateway.start().catch(() => undefined);
    await expect
      .poll(() => segments(gateway).length, { interval: 1, timeout: 20_000 })
      .toBeGreaterThan(before);
    await gateway.kill();
    await starting;
  }

  await gateway.start();
  const store = await Store.of(gateway);
  const used = () => store.redis.memory('USAGE', index);
  await expect.poll(used, { timeout: 20_000 }).toBeLessThanOrEqual(MAX_KEPT_BYTES);
  const kept = (await store.redis.xrange(index, '-', '+')).map(([id]) => Number.parseInt(id, 10));
  store.close();
  expect(kept.length).toBeGreaterThan(10);
  const api = new Api(gateway);
  expect(await idsOverHttp(api, 'asc')).toEqual(numbers);
  expect(await idsOverHttp(api, 'desc')).toEqual(numbers.toReversed());

  const world = worldOf(gateway);
  world.redis.disconnect();
  await world.archive.load();
  const counts = await world.archivedCounts();
  // Records archived just before a kill may still be in the store until the next move.
  expect(new Set([...counts.keys(), ...kept])).toEqual(new Set(numbers));
  expect(new Set(counts.values())).toEqual(new Set([1]));
  expect(world.files().filter((file) => file.endsWith('draft'))).toEqual([]);
}, 120_000);
