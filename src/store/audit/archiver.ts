import { setImmediate } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { AUDIT_ACTIONS, type AuditAction } from '../../site/audit-trail.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { AuditArchive } from './archive.js';
import { formatAuditNumber } from './records.js';
import {
  type AuditMember,
  type AuditSegment,
  boundsOf,
  compareInTrail,
  positionOf,
} from './segment.js';
import type { SegmentContent } from './segment-content.js';

const dropRecords = new Script('drop-audit-records', z.number());
const raiseNumber = new Script('raise-audit-number', z.number());

/** Records sought in a segment before the event loop is yielded: a millisecond or two. */
const SOUGHT_AT_A_TIME = 200;
/** Redis serves nobody else during a command: a megabyte or two with the longest records. */
const RECORDS_PER_CALL = 200;
/**
 * The store estimates the size of all records by so many of the oldest, in a millisecond or two. Unless
 * there is something to move, there are fewer than that.
 */
const SAMPLES = 20_000;

export interface AuditArchiverOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly archive: AuditArchive;
  /** How much of the store's memory the records of one action may take. */
  readonly maxKeptBytes: number;
  /** Roughly how much text goes into a segment. */
  readonly segmentBytes: number;
}

/**
 * Moves the oldest audit records to the disk when memory runs short.
 *
 * Records leave the store once they are durably on the disk. A gateway that is killed in between finds
 * them in both, and stores none twice.
 */
export class AuditArchiver {
  readonly #options: AuditArchiverOptions;

  constructor(options: AuditArchiverOptions) {
    this.#options = options;
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
    const numbers = archive.segments(AUDIT_ACTIONS).map(({ highestNumber }) => highestNumber);
    const highest = numbers.reduce((one, other) => Math.max(one, other), 0);
    await raiseNumber.run(redis, [keys.auditSequence], [highest]);
    await archive.makeDirectory();
  }

  /**
   * @returns how many were moved
   * @throws GatewayError `insufficient-storage` when the disk does not take them
   */
  async moveOld(stopping: AbortSignal): Promise<number> {
    await this.prepare();
    let total = 0;
    for (const action of AUDIT_ACTIONS) {
      while (!stopping.aborted && (await this.#isTooMuch(action))) {
        const moved = await this.#moveOldest(action);
        if (moved === 0) break;
        total += moved;
      }
    }
    return total;
  }

  async #isTooMuch(action: AuditAction): Promise<boolean> {
    const { redis, keys, maxKeptBytes } = this.#options;
    const bytes = await redis.memory('USAGE', keys.audit(action), 'SAMPLES', SAMPLES);
    return (bytes ?? 0) > maxKeptBytes;
  }

  async #moveOldest(action: AuditAction): Promise<number> {
    const { keys, archive } = this.#options;
    const index = keys.audit(action);
    const oldest = await this.#oldest(index);
    if (oldest.length === 0) return 0;
    const missing = await this.#notArchived(action, oldest);
    if (missing.length > 0) await archive.add(action, missing);
    return this.#drop(index, oldest);
  }

  /** Reads enough for one segment, in order. */
  async #oldest(index: string): Promise<AuditMember[]> {
    const { redis, segmentBytes } = this.#options;
    const oldest: AuditMember[] = [];
    let bytes = 0;
    for (let rank = 0; bytes < segmentBytes; rank += RECORDS_PER_CALL) {
      const rows = await redis.zrange(index, rank, rank + RECORDS_PER_CALL - 1, 'WITHSCORES');
      for (let at = 0; at + 1 < rows.length && bytes < segmentBytes; at += 2) {
        const one = { member: rows[at] ?? '', atMs: Number(rows[at + 1]) };
        const previous = oldest.at(-1);
        // A record inserted meanwhile moves the ranks of those after it.
        if (previous && compareInTrail(positionOf(previous), positionOf(one)) >= 0) continue;
        oldest.push(one);
        bytes += Buffer.byteLength(one.member);
      }
      if (rows.length < 2 * RECORDS_PER_CALL) break;
    }
    return oldest;
  }

  /** Leaves out those that a killed gateway had archived already. */
  async #notArchived(
    action: AuditAction,
    members: readonly AuditMember[],
  ): Promise<readonly AuditMember[]> {
    const { archive } = this.#options;
    const bounds = boundsOf(members);
    const overlaps = ({ firstAtMs, lastAtMs, lowestNumber, highestNumber }: AuditSegment) =>
      firstAtMs <= bounds.lastAtMs &&
      lastAtMs >= bounds.firstAtMs &&
      lowestNumber <= bounds.highestNumber &&
      highestNumber >= bounds.lowestNumber;
    let missing = members;
    for (const segment of archive.segments([action]).filter(overlaps)) {
      const content = await archive.open(segment);
      if (content) missing = await notIn(content, missing);
    }
    return missing;
  }

  async #drop(index: string, members: readonly AuditMember[]): Promise<number> {
    const { redis } = this.#options;
    let count = 0;
    for (let at = 0; at < members.length; at += RECORDS_PER_CALL) {
      const some = members.slice(at, at + RECORDS_PER_CALL);
      const numbers = some.map((one) => formatAuditNumber(positionOf(one).sequence));
      const dropped = await dropRecords.run(redis, [index], numbers);
      const others = some.slice(dropped).map(({ member }) => member);
      count += dropped;
      // With an older record added meanwhile, these are not the oldest any more.
      if (others.length > 0) count += await redis.zrem(index, ...others);
    }
    return count;
  }
}

async function notIn(
  content: SegmentContent,
  members: readonly AuditMember[],
): Promise<AuditMember[]> {
  const missing: AuditMember[] = [];
  for (let at = 0; at < members.length; at += SOUGHT_AT_A_TIME) {
    const some = members.slice(at, at + SOUGHT_AT_A_TIME);
    missing.push(...some.filter((one) => !content.has(positionOf(one))));
    await setImmediate();
  }
  return missing;
}
