import { PLAUSIBLE_FROM_MS } from '../../domain/times.js';
import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { AuditArchive } from './archive.js';
import type { AuditMember, AuditSegment } from './segment.js';
import { positionOf } from './segment.js';

/** What was removed: how many, and the highest number among them, 0 for none. */
export interface Removed {
  readonly count: number;
  readonly last: number;
}

/** Removes old records from the archive; what that means is for AuditRetention to say. */
export class AuditArchiveRetention {
  readonly #archive: AuditArchive;

  constructor(archive: AuditArchive) {
    this.#archive = archive;
  }

  /** @throws GatewayError `insufficient-storage` when the archive cannot be used */
  prepare(): Promise<void> {
    return this.#archive.load();
  }

  /** When the newest record was written that is archived, undefined when there is none. */
  get newestAtMs(): number | undefined {
    return this.#segments().at(-1)?.lastAtMs;
  }

  /**
   * Removes what was written before this time, by a clock that was set.
   *
   * @throws GatewayError `insufficient-storage` when the disk does not let it
   */
  async removeBefore(before: number, stopping: AbortSignal): Promise<Removed> {
    const isOld = ({ atMs }: AuditMember) => atMs >= PLAUSIBLE_FROM_MS && atMs < before;
    let [count, last] = [0, 0];
    for (const segment of this.#segments()) {
      if (stopping.aborted) break;
      const { firstAtMs, lastAtMs } = segment;
      if (firstAtMs >= before || lastAtMs < PLAUSIBLE_FROM_MS) continue;
      const isWhollyOld = firstAtMs >= PLAUSIBLE_FROM_MS && lastAtMs < before;
      const removed = await this.#remove(segment, isOld, isWhollyOld);
      count += removed.count;
      last = Math.max(last, removed.last);
    }
    return { count, last };
  }

  /**
   * Removes what was written before the record of this number by a clock that was not set.
   *
   * @throws GatewayError `insufficient-storage` when the disk does not let it
   */
  async removeUndated(number: number, stopping: AbortSignal): Promise<number> {
    const isOld = (one: AuditMember) =>
      one.atMs < PLAUSIBLE_FROM_MS && positionOf(one).sequence < number;
    let count = 0;
    for (const segment of this.#segments()) {
      if (stopping.aborted) break;
      const { firstAtMs, lastAtMs, lowestNumber, highestNumber } = segment;
      if (firstAtMs >= PLAUSIBLE_FROM_MS || lowestNumber >= number) continue;
      const isWhollyOld = lastAtMs < PLAUSIBLE_FROM_MS && highestNumber < number;
      count += (await this.#remove(segment, isOld, isWhollyOld)).count;
    }
    return count;
  }

  /** Of one that cannot be read nobody knows how many it had. */
  async #remove(
    segment: AuditSegment,
    isOld: (one: AuditMember) => boolean,
    isWhollyOld: boolean,
  ): Promise<Removed> {
    const content = await this.#archive.open(segment);
    const all = (await content?.all()) ?? [];
    const kept = all.filter((one) => !isOld(one));
    if (isWhollyOld || (content !== undefined && kept.length === 0)) {
      await this.#archive.remove(segment);
    } else if (kept.length < all.length) {
      await this.#archive.keepOnly(segment, kept);
    }
    const numbers = all.filter(isOld).map((one) => positionOf(one).sequence);
    const unread = content === undefined && isWhollyOld ? segment.highestNumber : 0;
    return {
      count: numbers.length,
      last: numbers.reduce((one, other) => Math.max(one, other), unread),
    };
  }

  /** In the order of time: what is wholly old makes room on a full disk for what is written anew. */
  #segments(): AuditSegment[] {
    const all = this.#archive.segments(AUDIT_ACTIONS);
    return all.sort((one, other) => one.lastAtMs - other.lastAtMs);
  }
}
