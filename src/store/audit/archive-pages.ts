import { setImmediate } from 'node:timers/promises';
import type { AuditPosition, AuditQuery, AuditRecord } from '../../site/audit-trail.js';
import type { AuditArchive } from './archive.js';
import { AuditArchiveMerge } from './archive-merge.js';
import { isWanted } from './filter.js';
import { readAuditRecord } from './records.js';
import { compareInTrail, positionOf } from './segment.js';
import { comesBefore, type Stretch } from './segment-cursor.js';

/** Characters read before the event loop is yielded: some milliseconds' work. */
const CHARACTERS_AT_A_TIME = 1024 * 1024;

export interface EffortLimits {
  readonly maxSeen: number;
  readonly maxOpened: number;
}

/** Counts a request's cost: a filter may leave out nearly everything. */
export class Effort {
  readonly #limits: EffortLimits;
  #seen = 0;
  #opened = 0;

  constructor(limits: EffortLimits) {
    this.#limits = limits;
  }

  get isSpent(): boolean {
    const { maxSeen, maxOpened } = this.#limits;
    return this.#seen >= maxSeen || this.#opened >= maxOpened;
  }

  see(): void {
    this.#seen++;
  }

  open(): void {
    this.#opened++;
  }
}

export interface ArchiveStretch {
  readonly records: readonly AuditRecord[];
  /** The last record looked at, undefined at the end of the stretch. */
  readonly position: AuditPosition | undefined;
}

/** Reads the archived part of a page. */
export class AuditArchivePages {
  readonly #archive: AuditArchive;

  constructor(archive: AuditArchive) {
    this.#archive = archive;
  }

  /**
   * Reads the wanted records of the stretch, at most `limit`.
   *
   * Each call looks at one record at least, whatever has been spent, so that a caller who goes on
   * asking comes to the end.
   */
  async read(
    query: Omit<AuditQuery, 'upToSequence'>,
    stretch: Stretch,
    effort: Effort,
  ): Promise<ArchiveStretch> {
    const merge = new AuditArchiveMerge(this.#archive, query.actions, stretch);
    const records: AuditRecord[] = [];
    let last: AuditPosition | undefined;
    let characters = 0;
    for (;;) {
      const isEnough = records.length >= query.limit || effort.isSpent;
      if (last !== undefined && isEnough) return { records, position: last };
      if (merge.mustOpen) {
        await merge.open();
        // Opening a segment for the first record is free: there may be many actions.
        if (last !== undefined) effort.open();
        continue;
      }
      const taken = merge.take();
      if (taken === undefined || isBehind(positionOf(taken), stretch)) {
        return { records, position: undefined };
      }
      const position = positionOf(taken);
      effort.see();
      const isNew = last === undefined || compareInTrail(last, position) !== 0;
      last = position;
      if (isNew && position.sequence <= stretch.upToSequence && isWanted(taken.member, query)) {
        records.push(readAuditRecord(taken.atMs, taken.member));
      }
      characters += taken.member.length;
      if (characters < CHARACTERS_AT_A_TIME) continue;
      characters = 0;
      await setImmediate();
    }
  }
}

function isBehind(position: AuditPosition, { order, until }: Stretch): boolean {
  return until !== undefined && comesBefore(order, until, position);
}
