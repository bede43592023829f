import type { AuditAction } from '../../site/audit-trail.js';
import type { AuditArchive } from './archive.js';
import type { AuditMember, AuditSegment } from './segment.js';
import { comesBefore, mayHave, SegmentCursor, type Stretch } from './segment-cursor.js';

/**
 * Merges the archived records of a stretch from their segments.
 *
 * Times overlap where the clock has jumped; otherwise one segment is open at a time for each action.
 */
export class AuditArchiveMerge {
  readonly #archive: AuditArchive;
  readonly #stretch: Stretch;
  readonly #waiting: Set<AuditSegment>;
  readonly #cursors = new Set<SegmentCursor>();
  #next: AuditSegment | undefined;

  constructor(archive: AuditArchive, actions: readonly AuditAction[], stretch: Stretch) {
    this.#archive = archive;
    this.#stretch = stretch;
    const all = archive.segments(actions);
    this.#waiting = new Set(all.filter((segment) => mayHave(segment, stretch)));
    this.#next = this.#entered();
  }

  /** Whether a segment must be opened before `take` can tell which record is the next one. */
  get mustOpen(): boolean {
    if (this.#next === undefined) return false;
    const first = this.#first()?.position;
    if (first === undefined) return true;
    const { order } = this.#stretch;
    const { firstAtMs, lastAtMs } = this.#next;
    return order === 'asc' ? firstAtMs <= first.atMs : lastAtMs >= first.atMs;
  }

  async open(): Promise<void> {
    const segment = this.#next;
    if (segment === undefined) return;
    const content = await this.#archive.open(segment);
    if (content !== undefined) this.#cursors.add(new SegmentCursor(content, this.#stretch));
    this.#waiting.delete(segment);
    this.#next = this.#entered();
  }

  /** Takes the next record, undefined after the last one. `mustOpen` must be false. */
  take(): AuditMember | undefined {
    const first = this.#first();
    const head = first?.head;
    first?.next();
    return head;
  }

  /** The earliest of the segments yet to be opened. */
  #entered(): AuditSegment | undefined {
    let found: AuditSegment | undefined;
    const isAscending = this.#stretch.order === 'asc';
    for (const segment of this.#waiting) {
      const isFirst = isAscending
        ? segment.firstAtMs < (found?.firstAtMs ?? Number.POSITIVE_INFINITY)
        : segment.lastAtMs > (found?.lastAtMs ?? Number.NEGATIVE_INFINITY);
      if (isFirst) found = segment;
    }
    return found;
  }

  #first(): SegmentCursor | undefined {
    let found: SegmentCursor | undefined;
    for (const cursor of this.#cursors) {
      const { position } = cursor;
      if (position === undefined) {
        this.#cursors.delete(cursor);
      } else if (
        found?.position === undefined ||
        comesBefore(this.#stretch.order, position, found.position)
      ) {
        found = cursor;
      }
    }
    return found;
  }
}
