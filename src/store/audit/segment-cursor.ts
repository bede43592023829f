import type { AuditPosition, AuditQuery } from '../../site/audit-trail.js';
import { type AuditMember, type AuditSegment, compareInTrail, positionOf } from './segment.js';
import type { SegmentContent } from './segment-content.js';

/** The records that a page is made of, before its filters. */
export type Stretch = Pick<AuditQuery, 'order' | 'afterMs' | 'beforeMs' | 'position'> & {
  readonly upToSequence: number;
  /** Where the stretch ends, undefined when no records follow. */
  readonly until: AuditPosition | undefined;
};

/** Whether the one comes before the other in this order. */
export function comesBefore(
  order: AuditQuery['order'],
  one: AuditPosition,
  other: AuditPosition,
): boolean {
  const compared = compareInTrail(one, other);
  return order === 'asc' ? compared < 0 : compared > 0;
}

/** Whether a segment may have records of the stretch. */
export function mayHave(segment: AuditSegment, stretch: Stretch): boolean {
  const { order, afterMs, beforeMs, position, until, upToSequence } = stretch;
  const { firstAtMs, lastAtMs, lowestNumber } = segment;
  const [begin, end] = order === 'asc' ? [position, until] : [until, position];
  if (lowestNumber > upToSequence) return false;
  if (afterMs !== undefined && lastAtMs <= afterMs) return false;
  if (beforeMs !== undefined && firstAtMs >= beforeMs) return false;
  if (begin !== undefined && lastAtMs < begin.atMs) return false;
  return end === undefined || firstAtMs <= end.atMs;
}

/** Walks a segment's records from a stretch's beginning, in its order. */
export class SegmentCursor {
  readonly #content: SegmentContent;
  readonly #step: 1 | -1;
  readonly #end: number;
  #index: number;
  #head: AuditMember | undefined;

  constructor(content: SegmentContent, stretch: Stretch) {
    const { order, afterMs, beforeMs, position } = stretch;
    const before = (atMs: number, sequence = 0) => content.countBefore({ atMs, sequence });
    let first = afterMs === undefined ? 0 : before(afterMs + 1);
    let last = beforeMs === undefined ? content.length : before(beforeMs);
    if (position !== undefined) {
      const { atMs, sequence } = position;
      if (order === 'asc') first = Math.max(first, before(atMs, sequence + 1));
      else last = Math.min(last, before(atMs, sequence));
    }
    this.#content = content;
    this.#step = order === 'asc' ? 1 : -1;
    // Nothing at all when the last one comes before the first.
    const [from, to] = [first, Math.max(first, last)];
    this.#index = order === 'asc' ? from : to - 1;
    this.#end = order === 'asc' ? to : from - 1;
    this.#read();
  }

  /** The current record, undefined after the last one. */
  get head(): AuditMember | undefined {
    return this.#head;
  }

  /** The current record's position. */
  get position(): AuditPosition | undefined {
    return this.#head && positionOf(this.#head);
  }

  next(): void {
    this.#index += this.#step;
    this.#read();
  }

  #read(): void {
    this.#head = this.#index === this.#end ? undefined : this.#content.at(this.#index);
  }
}
