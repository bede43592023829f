import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { type Logger, pino } from 'pino';
import { onTestFinished } from 'vitest';
import { newId, PLAUSIBLE_FROM_MS } from '../../src/domain/notation.js';
import {
  AUDIT_ACTIONS,
  type AuditEntry,
  type AuditPage,
  type AuditQuery,
  GATEWAY_ACTOR,
} from '../../src/site/audit-trail.js';
import { Health } from '../../src/site/health.js';
import { AuditArchive } from '../../src/store/audit/archive.js';
import { AuditArchiver } from '../../src/store/audit/archiver.js';
import { AuditArchiveFaults } from '../../src/store/audit/faults.js';
import { AuditRecords, type StoredRecord } from '../../src/store/audit/records.js';
import { AuditRetention } from '../../src/store/audit/retention.js';
import { AuditTrailRedis } from '../../src/store/audit/trail-redis.js';
import { Keys } from '../../src/store/keys.js';

/** The first plausible time of a clock that was set. */
export const SET = PLAUSIBLE_FROM_MS;
/** How long records are kept in these tests. */
const MAX_AGE_MS = 100;

export interface WorldOptions {
  readonly maxKeptBytes?: number;
  readonly segmentBytes?: number;
  readonly intervalMs?: number;
  readonly maxSegmentsPerPage?: number;
  /** The archive's directory; beside the store when left out. */
  readonly directory?: string;
  readonly keys?: Keys;
}

/** Opens an archive in a directory of its own, as a gateway does at its start. */
export function openArchive(
  socketPath: string,
  directory = join(dirname(socketPath), randomUUID()),
) {
  const health = new Health();
  health.started();
  const logged: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => logged.push(line) });
  const faults = new AuditArchiveFaults(health, log);
  const archive = new AuditArchive(directory, faults);
  return { archive, directory, health, faults, log, logged };
}

/** The audit trail of a site, in a store that many share, and its archive. */
export class AuditWorld {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly trail: AuditTrailRedis;
  readonly archive: AuditArchive;
  readonly archiver: AuditArchiver;
  readonly directory: string;
  readonly health: Health;
  readonly faults: AuditArchiveFaults;
  readonly log: Logger;
  readonly logged: readonly string[];
  readonly #socketPath: string;
  readonly #options: WorldOptions;

  constructor(socketPath: string, options: WorldOptions = {}) {
    const { maxKeptBytes = 0, segmentBytes = 2_000, intervalMs = 5 } = options;
    this.#socketPath = socketPath;
    this.#options = options;
    this.redis = new Redis({ path: socketPath });
    onTestFinished(() => this.redis.disconnect());
    this.keys = options.keys ?? new Keys(newId());
    const opened = openArchive(socketPath, options.directory);
    this.archive = opened.archive;
    this.directory = opened.directory;
    this.health = opened.health;
    this.faults = opened.faults;
    this.log = opened.log;
    this.logged = opened.logged;
    const { redis, keys, archive, faults, log } = this;
    this.archiver = new AuditArchiver({
      ...{ redis, keys, archive, faults, log },
      ...{ intervalMs, maxKeptBytes, segmentBytes },
    });
    this.trail = new AuditTrailRedis({
      ...{ redis, keys, archive, log, records: new AuditRecords(keys) },
      maxSegmentsPerPage: options.maxSegmentsPerPage ?? 1_000,
    });
  }

  /** The world after a restart of the gateway. */
  restarted(changes: WorldOptions = {}): AuditWorld {
    const { keys, directory } = this;
    return new AuditWorld(this.#socketPath, { ...this.#options, keys, directory, ...changes });
  }

  /** Moves records that take too much memory to the disk; returns how many. */
  move(): Promise<number> {
    return this.archiver.moveOld(new AbortController().signal);
  }

  /** The retention of a gateway whose steady clock is this far after `SET`. */
  retentionAt(nowMs: number): AuditRetention {
    const { redis, keys, archive } = this;
    return new AuditRetention({
      ...{ redis, keys, archive, maxAgeMs: MAX_AGE_MS, now: () => SET + nowMs },
    });
  }

  /** Removes records that are too old by then; earlier ones count as written then at the latest. */
  removeOld(nowMs: number): Promise<number> {
    return this.retentionAt(nowMs).removeOld(new AbortController().signal);
  }

  /** Counts the records in Redis. */
  storedCount(): Promise<number> {
    return this.redis.xlen(this.keys.auditLog);
  }

  /** The entries of the stream, to put them back as if a gateway was killed before it removed them. */
  async stored(): Promise<() => Promise<void>> {
    const { redis, keys } = this;
    const entries = await redis.xrange(keys.auditLog, '-', '+');
    return async () => {
      const later = await redis.xrange(keys.auditLog, '-', '+');
      await redis.del(keys.auditLog);
      for (const [id, fields] of [...entries, ...later]) {
        await redis.xadd(keys.auditLog, id, ...fields);
      }
    };
  }

  /** The first records of the stream, as its archiver reads them. */
  async oldest(count: number): Promise<StoredRecord[]> {
    const entries = await this.redis.xrange(this.keys.auditLog, '-', '+', 'COUNT', count);
    return entries.map(([id, fields]) => {
      const [, atMs, , text = ''] = fields;
      return { sequence: Number.parseInt(id, 10), atMs: Number(atMs), text };
    });
  }

  /** Counts how often each record is archived, by its number. */
  async archivedCounts(): Promise<Map<number, number>> {
    const counts = new Map<number, number>();
    for (const segment of this.archive.segments()) {
      for (const { sequence } of (await this.archive.read(segment)) ?? []) {
        counts.set(sequence, (counts.get(sequence) ?? 0) + 1);
      }
    }
    return counts;
  }

  /** Paths of the files of the archive. */
  files(): string[] {
    if (!existsSync(this.directory)) return [];
    const entries = readdirSync(this.directory, { recursive: true, withFileTypes: true });
    const files = entries.filter((one) => one.isFile());
    return files.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  }
}

export function entry(atMs: number, changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    action: 'device.created',
    actor: GATEWAY_ACTOR,
    atMs,
    locationId: null,
    resourceId: null,
    details: {},
    ...changes,
  };
}

/** So many entries, a millisecond apart. */
export function entries(count: number, fromMs = 0, changes: Partial<AuditEntry> = {}) {
  return Array.from({ length: count }, (_, index) => entry(fromMs + index, changes));
}

/** The numbers from 1 on. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

export function query(changes: Partial<AuditQuery> = {}): AuditQuery {
  return {
    actions: AUDIT_ACTIONS,
    beforeMs: undefined,
    afterMs: undefined,
    locationId: undefined,
    actorId: undefined,
    resourceId: undefined,
    order: 'desc',
    limit: 100,
    upToSequence: undefined,
    position: undefined,
    ...changes,
  };
}

/** Reads all pages, calling `between` after each. */
export async function readAll(
  trail: AuditTrailRedis,
  asked: AuditQuery,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<AuditPage[]> {
  const pages: AuditPage[] = [];
  for (let page: AuditPage | undefined; page === undefined || page.next !== undefined; ) {
    page = await trail.page({ ...asked, upToSequence: page?.upToSequence, position: page?.next });
    pages.push(page);
    await between();
  }
  return pages;
}

/** Reads the numbers of all matching records, page by page. */
export async function numbers(trail: AuditTrailRedis, asked = query({ order: 'asc' })) {
  const pages = await readAll(trail, asked);
  return pages.flatMap(({ records }) => records.map(({ sequence }) => sequence));
}
