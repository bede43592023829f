import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { AuditArchive } from './archive.js';
import type { FirstFailure } from './first-failure.js';
import { type AuditMember, type AuditSegment, positionOf } from './segment.js';

/**
 * Removes records from the archive that AuditRetention finds too old.
 *
 * A segment that cannot be removed or rewritten stays as it is and does not hold up the others.
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

  /** Removes the records up to and including this number; returns how many. */
  async removeUpTo(number: number, failures: FirstFailure, stopping: AbortSignal): Promise<number> {
    let count = 0;
    for (const segment of this.#segments()) {
      if (stopping.aborted) break;
      if (segment.lowestNumber > number) continue;
      count += (await failures.attempt(() => this.#removeFrom(segment, number))) ?? 0;
    }
    return count;
  }

  /** Counts nothing for an unreadable segment, whose number of records is unknown. */
  async #removeFrom(segment: AuditSegment, number: number): Promise<number> {
    const isOld = (one: AuditMember) => positionOf(one).sequence <= number;
    const content = await this.#archive.open(segment);
    const all = (await content?.all()) ?? [];
    const kept = all.filter((one) => !isOld(one));
    const isWhollyOld = segment.highestNumber <= number;
    if (isWhollyOld || (content !== undefined && kept.length === 0)) {
      await this.#archive.remove(segment);
    } else if (kept.length < all.length) {
      await this.#archive.keepOnly(segment, kept);
    }
    return all.length - kept.length;
  }

  /** Oldest first: on a full disk, wholly old segments make room for those rewritten. */
  #segments(): AuditSegment[] {
    const all = this.#archive.segments(AUDIT_ACTIONS);
    return all.sort((one, other) => one.highestNumber - other.highestNumber);
  }
}
