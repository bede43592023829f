import type { LogEntry } from './log-entry.js';
import type { ReadAhead } from './read-ahead.js';
import type { Amount, SentEntries } from './sent-entries.js';
import type { Mark, Unread } from './tally.js';

/** The part of a cursor's position that a jump depends on. */
export interface Standing {
  readonly offset: number;
  readonly unread: Unread;
  readonly sent: SentEntries;
  readonly page: ReadAhead;
}

/** A cursor's move past part of its backlog, without reading it. */
export interface Jump {
  readonly mark: Mark;
  /** Entries left to read after the jump. */
  readonly left: Amount;
  /** Entries of the page in memory, which are sent first; undefined: the page is passed as well. */
  readonly page?: readonly LogEntry[];
}

/**
 * The lowest target of a jump.
 *
 * No jump ends where the entries that are done with are known one by one.
 */
export function firstTarget({ offset, sent }: Pick<Standing, 'offset' | 'sent'>): number {
  return Math.max(offset, sent.knownUpTo);
}

/** Jumps over entries received before this time. */
export function jumpOverOlder(standing: Standing, timeMs: number): Jump | undefined {
  const mark = standing.unread.markBefore(timeMs, firstTarget(standing));
  return mark && jumpTo(standing, mark);
}

/**
 * Jumps over the oldest entries beyond the bounds.
 *
 * The page in memory is kept, unless it takes more than half of a bound.
 */
export function jumpLeaving(
  standing: Standing,
  maxCount: number,
  maxBytes: number,
): Jump | undefined {
  const behindPage = jumpBehindPage(standing, maxCount, maxBytes);
  if (behindPage !== undefined) return behindPage;
  const [count, bytes] = [Math.max(0, maxCount), Math.max(0, maxBytes)];
  const mark = standing.unread.markLeaving(count, bytes, firstTarget(standing));
  return mark && jumpTo(standing, mark);
}

function jumpTo({ unread, sent }: Standing, mark: Mark): Jump {
  const { count, bytes } = unread.after(mark);
  return { mark, left: { count: Math.max(0, count - sent.aheadAfter(mark.sequence)), bytes } };
}

function jumpBehindPage(standing: Standing, maxCount: number, maxBytes: number): Jump | undefined {
  const { offset, unread, sent, page } = standing;
  if (page.next === undefined || sent.aheadCount > 0) return undefined;
  const kept = page.left.filter(({ sequence }) => sequence > offset && sent.isOpen(sequence));
  const keptBytes = kept.reduce((sum, { payload }) => sum + payload.length, 0);
  if (kept.length > maxCount / 2 || keptBytes > maxBytes / 2) return undefined;
  const from = Math.max(firstTarget(standing), page.readUpTo);
  const mark = unread.markLeaving(maxCount - kept.length, maxBytes - keptBytes, from);
  if (mark === undefined) return undefined;
  const { count, bytes } = unread.after(mark);
  return { mark, left: { count: kept.length + count, bytes: keptBytes + bytes }, page: kept };
}
