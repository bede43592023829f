import { PLAUSIBLE_FROM_MS } from '../../domain/times.js';
import type { AuditAction } from '../../site/audit-trail.js';
import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { AuditArchive } from './archive.js';
import type { FirstFailure } from './first-failure.js';
import type { AuditMember, AuditSegment } from './segment.js';
import { positionOf } from './segment.js';

/** What was removed: how many, and the highest number among them, 0 for none. */
export interface Removed {
  readonly count: number;
  readonly last: number;
}

/**
 * Removes old records from the archive; what that means is for AuditRetention to say. A segment that
 * cannot be removed or rewritten stays as it is, and keeps the others from nothing.
 */
export class AuditArchiveRetention {
  readonly #archive: AuditArchive;

  constructor(archive: AuditArchive) {
    this.#archive = archive;
  }

  /** @throws GatewayError `insufficient-storage` when the archive cannot be looked at */
  prepare(): Promise<void> {
    return this.#archive.load();
  }

  /**
   * When the newest record of these actions was written before this time by a clock that was set, undefined
   * when none was.
   */
  async newestBefore(timeMs: number, actions: readonly AuditAction[]): Promise<number | undefined> {
    let newest: number | undefined;
    for (const segment of this.#archive.segments(actions)) {
      if (segment.firstAtMs >= timeMs) continue;
      const { lastAtMs } = segment;
      const atMs = lastAtMs < timeMs ? lastAtMs : await this.#lastBefore(timeMs, segment);
      if (atMs >= PLAUSIBLE_FROM_MS) newest = Math.max(newest ?? 0, atMs);
    }
    return newest;
  }

  /** Of one that cannot be read it is certain only that it begins with one from before, and when. */
  async #lastBefore(timeMs: number, segment: AuditSegment): Promise<number> {
    const content = await this.#archive.open(segment);
    if (content === undefined) return Math.max(segment.firstAtMs, PLAUSIBLE_FROM_MS);
    const count = content.countBefore({ atMs: timeMs, sequence: 0 });
    return count === 0 ? Number.NEGATIVE_INFINITY : content.at(count - 1).atMs;
  }

  /** Removes what was written before this time, by a clock that was set. */
  async removeBefore(
    before: number,
    failures: FirstFailure,
    stopping: AbortSignal,
  ): Promise<Removed> {
    const isOld = ({ atMs }: AuditMember) => atMs >= PLAUSIBLE_FROM_MS && atMs < before;
    let [count, last] = [0, 0];
    for (const segment of this.#segments()) {
      if (stopping.aborted) break;
      const { firstAtMs, lastAtMs } = segment;
      if (firstAtMs >= before || lastAtMs < PLAUSIBLE_FROM_MS) continue;
      const isWhollyOld = firstAtMs >= PLAUSIBLE_FROM_MS && lastAtMs < before;
      const removed = await failures.attempt(() => this.#remove(segment, isOld, isWhollyOld));
      count += removed?.count ?? 0;
      last = Math.max(last, removed?.last ?? 0);
    }
    return { count, last };
  }

  /** Removes what was written before the record of this number by a clock that was not set. */
  async removeUndated(
    number: number,
    failures: FirstFailure,
    stopping: AbortSignal,
  ): Promise<number> {
    const isOld = (one: AuditMember) =>
      one.atMs < PLAUSIBLE_FROM_MS && positionOf(one).sequence < number;
    let count = 0;
    for (const segment of this.#segments()) {
      if (stopping.aborted) break;
      const { firstAtMs, lastAtMs, lowestNumber, highestNumber } = segment;
      if (firstAtMs >= PLAUSIBLE_FROM_MS || lowestNumber >= number) continue;
      const isWhollyOld = lastAtMs < PLAUSIBLE_FROM_MS && highestNumber < number;
      const removed = await failures.attempt(() => this.#remove(segment, isOld, isWhollyOld));
      count += removed?.count ?? 0;
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
