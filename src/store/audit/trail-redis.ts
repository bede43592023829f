import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type {
  AuditEntry,
  AuditPage,
  AuditQuery,
  AuditReader,
  AuditTrail,
} from '../../site/audit-trail.js';
import { makeChange } from '../change.js';
import { answering } from '../failures.js';
import type { Keys } from '../keys.js';
import type { AuditArchive } from './archive.js';
import { AuditPageBuilder } from './page.js';
import type { AuditRecords } from './records.js';
import { streamedRecords } from './stream.js';

export interface AuditTrailOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: AuditRecords;
  readonly archive: AuditArchive;
  readonly log: Logger;
  /** Bounds the wait for a filter that leaves out nearly everything. */
  readonly maxSegmentsPerPage: number;
}

/**
 * The audit trail: the newest records in a stream of Redis, older ones in files (AuditArchive).
 *
 * The stream is in the order of numbers, a page in that of times, which may go back with the clock.
 */
export class AuditTrailRedis implements AuditTrail, AuditReader {
  readonly #options: AuditTrailOptions;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
  }

  async record(entries: readonly AuditEntry[]): Promise<void> {
    const { redis, keys } = this.#options;
    const records = entries.map((entry) => this.#options.records.of(entry));
    await makeChange(redis, keys, { writes: [], records });
  }

  /**
   * Reads the stream, then segments until the page is full.
   *
   * A record is in a file before it leaves the stream. So none is missed in this order, and one that is
   * found in both is shown once.
   */
  async page(query: AuditQuery): Promise<AuditPage> {
    const { redis, keys, log } = this.#options;
    const newest = async () => Number((await redis.get(keys.auditSequence)) ?? 0);
    const builder = new AuditPageBuilder(query, query.upToSequence ?? (await answering(newest)));
    const page = await this.#build(builder);
    const sequences = [...builder.unreadable];
    if (sequences.length > 0) log.error({ sequences }, 'failed to read audit records');
    return page;
  }

  async #build(page: AuditPageBuilder): Promise<AuditPage> {
    const { redis, keys, archive, maxSegmentsPerPage } = this.#options;
    await answering(async () => {
      for await (const records of streamedRecords(redis, keys)) await page.add(records);
    });
    const seen = new Set<string>();
    for (;;) {
      // Listed anew each time: retention may write the younger records of a segment to another.
      const segment = page.firstOf(archive.segments().filter(({ name }) => !seen.has(name)));
      if (segment === undefined) return page.whole();
      const begin = page.beginOf(segment);
      if (page.isFullAt(begin)) return page.whole();
      if (seen.size >= maxSegmentsPerPage && page.isAhead(begin)) return page.upTo(begin);
      seen.add(segment.name);
      await page.add((await archive.read(segment)) ?? []);
    }
  }
}
