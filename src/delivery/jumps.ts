import type { LogEntry } from './log-entry.js';
import type { ReadAhead } from './read-ahead.js';
import type { Amount, SentEntries } from './sent-entries.js';
import type { Mark, Unread } from './tally.js';

/** Where a cursor stands, as far as a jump goes by it. */
export interface Standing {
  readonly offset: number;
  readonly unread: Unread;
  readonly sent: SentEntries;
  readonly page: ReadAhead;
}

/** A way for a cursor to pass a part of its backlog without reading it. */
export interface Jump {
  readonly mark: Mark;
  /** What is left to read. */
  readonly left: Amount;
  /** What is left of the page in memory, which is sent first; undefined: the page is passed as well. */
  readonly page?: readonly LogEntry[];
}

/** Where a jump may lead: not to where what was settled is known entry by entry. */
export function firstTarget({ offset, sent }: Pick<Standing, 'offset' | 'sent'>): number {
  return Math.max(offset, sent.knownUpTo);
}

/** Passes what was received before this time. */
export function jumpOverOlder(standing: Standing, timeMs: number): Jump | undefined {
  const mark = standing.unread.markBefore(timeMs, firstTarget(standing));
  return mark && jumpTo(standing, mark);
}

/** Passes as much of the oldest as must go; the page in memory stays, unless it is too much. */
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
  const { count, bytes } = unread.behind(mark);
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
  const { count, bytes } = unread.behind(mark);
  return { mark, left: { count: kept.length + count, bytes: keptBytes + bytes }, page: kept };
}
