import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import { GatewayError } from '../../errors.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { AuditArchive } from './archive.js';
import type { AuditArchiveFaults } from './faults.js';
import type { StoredRecord } from './records.js';
import { streamedRecords } from './stream.js';

const raiseNumber = new Script('raise-audit-number', z.number());

export interface AuditArchiverOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly archive: AuditArchive;
  readonly faults: AuditArchiveFaults;
  readonly log: Logger;
  readonly intervalMs: number;
  /** How much of the store's memory the records may take. */
  readonly maxKeptBytes: number;
  /** Roughly how much text goes into a segment. */
  readonly segmentBytes: number;
}

/**
 * Moves the oldest audit records from the stream to the disk, again and again.
 *
 * Records leave the stream once they are durably on the disk. A gateway that is killed in between finds
 * them in both, and stores none twice.
 */
export class AuditArchiver {
  readonly #options: AuditArchiverOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;
  #isStoreAway = false;

  constructor(options: AuditArchiverOptions) {
    this.#options = options;
  }

  /** Resolves once records may be written. */
  async start(): Promise<void> {
    await this.#attempt(() => this.prepare());
    this.#timer = setInterval(() => this.#run(), this.#options.intervalMs);
    this.#run();
  }

  /** Stops at once: work under way may end anywhere, as records leave the stream last. */
  stop(): void {
    this.#stopping.abort();
    clearInterval(this.#timer);
  }

  /**
   * Loads the archive, and numbers new records after the archived ones.
   *
   * Must run before the first record is written, and regularly. A store that has lost its data would number
   * new records from 1 again, and pages leave out archived records with numbers above the newest.
   *
   * @throws GatewayError `insufficient-storage` when the archive cannot be used
   */
  async prepare(): Promise<void> {
    const { redis, keys, archive } = this.#options;
    await archive.load();
    const highest = archive
      .segments()
      .reduce((number, { highestSequence }) => Math.max(number, highestSequence), 0);
    await raiseNumber.run(redis, [keys.auditSequence], [highest]);
    await archive.makeDirectory();
  }

  /**
   * Moves records until the stream takes little memory.
   *
   * @returns how many were moved
   * @throws GatewayError `insufficient-storage` when the disk does not take them
   */
  async moveOld(stopping: AbortSignal): Promise<number> {
    const { redis, keys, maxKeptBytes } = this.#options;
    await this.prepare();
    let total = 0;
    while (!stopping.aborted) {
      const bytes = await redis.memory('USAGE', keys.auditLog);
      const moved = (bytes ?? 0) > maxKeptBytes ? await this.#moveOldest() : 0;
      if (moved === 0) break;
      total += moved;
    }
    return total;
  }

  async #moveOldest(): Promise<number> {
    const { redis, keys, archive } = this.#options;
    const oldest = await this.#oldest();
    const last = oldest.at(-1);
    if (last === undefined) return 0;
    const missing = await this.#notArchived(oldest, last.sequence);
    if (missing.length > 0) await archive.write(missing);
    return redis.xtrim(keys.auditLog, 'MINID', last.sequence + 1);
  }

  /** Reads enough for one segment. */
  async #oldest(): Promise<StoredRecord[]> {
    const { redis, keys, segmentBytes } = this.#options;
    const oldest: StoredRecord[] = [];
    let bytes = 0;
    for await (const records of streamedRecords(redis, keys)) {
      for (const record of records) {
        if (bytes >= segmentBytes) return oldest;
        oldest.push(record);
        bytes += record.text.length;
      }
    }
    return oldest;
  }

  /** Leaves out those that a killed gateway had archived already. */
  async #notArchived(records: readonly StoredRecord[], last: number): Promise<StoredRecord[]> {
    const { archive } = this.#options;
    const first = records[0]?.sequence ?? last;
    const archived = new Set<string>();
    for (const segment of archive.segments()) {
      if (segment.highestSequence < first || segment.lowestSequence > last) continue;
      for (const record of (await archive.read(segment)) ?? []) archived.add(nameOf(record));
    }
    return records.filter((record) => !archived.has(nameOf(record)));
  }

  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#attempt(async () => {
      const moved = await this.moveOld(this.#stopping.signal);
      if (moved > 0) this.#options.log.info({ moved }, 'audit records moved to the disk');
    }).finally(() => {
      this.#isRunning = false;
    });
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    const { faults, log } = this.#options;
    try {
      await work();
      faults.canWrite();
      this.#isStoreAway = false;
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (error instanceof GatewayError) return faults.cannotWrite(error);
      if (!this.#isStoreAway) log.warn({ err: error }, 'failed to move audit records, retrying');
      this.#isStoreAway = true;
    }
  }
}

/** A store that was emptied while the gateway ran may have given a number again, at another time. */
function nameOf({ sequence, atMs }: StoredRecord): string {
  return `${sequence} ${atMs}`;
}
