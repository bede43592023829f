import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { Health } from '../../../src/site/health/health.js';
import { AuditExport } from '../../../src/store/audit/export.js';
import { Store } from '../../../src/store/store.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { faultTexts } from '../../harness/described/fault-texts.js';
import { AuditWorld, entries, entry, upTo } from './audit-world.js';

const place = useRedis();
const FIRST_DAY = Date.UTC(2026, 10, 25);
const DAY_MS = 24 * 3_600_000;
const DENIAL = { action: 'permission.refused' } as const;
const FAULT = 'Audit records cannot be exported to the disk.';
const lineSchema = z.object({ id: z.coerce.number(), at: z.string(), action: z.string() });

/** An export of a separate trail. */
class ExportWorld extends AuditWorld {
  readonly base = mkdtempSync(join(tmpdir(), 'gateway-audit-'));
  readonly directory = join(this.base, 'audit');
  readonly health = new Health();
  #exporter = this.#open();

  constructor() {
    super(place.socketPath);
    onTestFinished(() => rmSync(this.base, { recursive: true, force: true }));
  }

  run(): Promise<void> {
    return this.#exporter.run();
  }

  restart(): void {
    this.#exporter = this.#open();
  }

  days(): string[] {
    return readdirSync(this.directory).filter((name) => name.endsWith('.jsonl'));
  }

  /** The records in a day's file. */
  exported(day = '2026-11-25') {
    const text = readFileSync(join(this.directory, `${day}.jsonl`), 'utf8');
    expect(text.at(-1)).toBe('\n');
    return text
      .slice(0, -1)
      .split('\n')
      .map((line) => lineSchema.parse(JSON.parse(line)));
  }

  ids(day?: string): number[] {
    return this.exported(day).map(({ id }) => id);
  }

  #open(): AuditExport {
    const { redis, keys, directory, health, log } = this;
    return new AuditExport({ store: new Store(redis), keys, directory, health, log });
  }
}

it('appends each record once, as a line in the file of its day', async () => {
  const world = new ExportWorld();
  const { trail } = world;
  // More than one read of a stream returns; both sorts in turn, across midnight, and a wrong clock.
  await trail.record([
    ...entries(301, FIRST_DAY),
    ...entries(250, FIRST_DAY, DENIAL),
    ...entries(300, FIRST_DAY),
    entry(FIRST_DAY + DAY_MS),
    entry(0, DENIAL),
    entry(FIRST_DAY + DAY_MS - 1),
  ]);
  await world.run();
  expect(world.days()).toEqual(['1970-01-01.jsonl', '2026-11-25.jsonl', '2026-11-26.jsonl']);
  expect(world.ids()).toEqual([...upTo(851), 854]);
  expect(world.exported('1970-01-01')).toEqual([
    { id: 853, at: '1970-01-01T00:00:00.000Z', action: 'permission.refused' },
  ]);
  expect(world.ids('2026-11-26')).toEqual([852]);

  await world.run();
  world.restart();
  await trail.record([entry(FIRST_DAY), entry(FIRST_DAY, DENIAL)]);
  await world.run();
  await world.run();
  expect(world.ids()).toEqual([...upTo(851), 854, 855, 856]);
  const modes = [world.directory, join(world.directory, '2026-11-25.jsonl')].map(
    (path) => statSync(path).mode & 0o777,
  );
  expect(modes).toEqual([0o700, 0o600]);
});

it('exports the records of a store that was emptied', async () => {
  const world = new ExportWorld();
  const { trail, redis, keys } = world;
  await trail.record(entries(5, FIRST_DAY));
  await world.run();
  await redis.del(keys.auditChanges, keys.auditSequence);
  await trail.record(entries(2, FIRST_DAY + DAY_MS));
  await world.run();
  expect(world.ids()).toEqual(upTo(5));
  expect(world.ids('2026-11-26')).toEqual([1, 2]);
});

it('continues after a crash that cut off a line, and repeats its record', async () => {
  const world = new ExportWorld();
  await world.trail.record(entries(3, FIRST_DAY));
  await world.run();
  const path = join(world.directory, '2026-11-25.jsonl');
  appendFileSync(path, '{"id":"4","at":"2026-');
  await world.trail.record(entries(2, FIRST_DAY));
  world.restart();
  await world.run();
  const lines = readFileSync(path, 'utf8').split('\n');
  expect(lines[3]).toBe('{"id":"4","at":"2026-');
  const ids = lines.filter((_, at) => at !== 3 && at < 6).map((line) => JSON.parse(line).id);
  expect(ids).toEqual(['1', '2', '3', '4', '5']);
});

it('reports an unwritable disk once, and exports the records later', async () => {
  const world = new ExportWorld();
  writeFileSync(world.directory, 'a file in its place');
  await world.trail.record(entries(3, FIRST_DAY));
  for (let attempt = 0; attempt < 3; attempt++) await expect(world.run()).rejects.toThrow();
  expect(faultTexts(world.health.faults())).toEqual([FAULT]);
  expect(world.health.faults()[0]?.stops).toBe(false);
  expect(world.logged).toHaveLength(1);
  expect(world.logged[0]).toContain('failed to export audit records, retrying');
  rmSync(world.directory);
  await world.run();
  expect(faultTexts(world.health.faults())).toEqual([]);
  expect(world.ids()).toEqual(upTo(3));
});

it('exports every record once a full disk has room again', async ({ skip }) => {
  const world = new ExportWorld();
  mkdirSync(world.directory);
  const options = ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', world.directory];
  if (spawnSync('mount', options, { stdio: 'ignore' }).status !== 0) {
    return skip('mounting a small file system is not permitted here');
  }
  onTestFinished(() => {
    spawnSync('umount', ['--lazy', world.directory], { stdio: 'ignore' });
  });
  const filler = join(world.directory, 'filler');
  writeFileSync(filler, Buffer.alloc(40_000));
  await world.trail.record(entries(150, FIRST_DAY));
  await expect(world.run()).rejects.toThrow('ENOSPC');
  await expect(world.run()).rejects.toThrow('ENOSPC');
  expect(faultTexts(world.health.faults())).toEqual([FAULT]);
  rmSync(filler);
  await world.run();
  expect(faultTexts(world.health.faults())).toEqual([]);
  const text = readFileSync(join(world.directory, '2026-11-25.jsonl'), 'utf8');
  const whole = text.split('\n').filter((line) => line.endsWith('}}'));
  expect(new Set(whole.map((line) => JSON.parse(line).id)).size).toBe(150);
});
