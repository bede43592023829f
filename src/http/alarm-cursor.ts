import type { AlarmPosition, AlarmQuery } from '../site/alarm-history.js';
import { PageCursors } from './page-cursor.js';

/** Start of the next page, and the newest alarm when the first page was read. */
export interface AlarmCursor {
  readonly position: AlarmPosition;
  readonly upToSequence: number;
}

/** The query that a cursor is bound to: everything but `limit`. */
export type CursorScope = Pick<
  AlarmQuery,
  'locationId' | 'deviceId' | 'kinds' | 'beforeMs' | 'afterMs' | 'order'
>;

/** The cursors of the alarm listings. */
export class AlarmCursors {
  readonly #cursors: PageCursors;

  constructor(key: Buffer) {
    this.#cursors = new PageCursors(key);
  }

  encode({ position, upToSequence }: AlarmCursor, scope: CursorScope): string {
    const { detectedAtMs: timeMs, sequence } = position;
    return this.#cursors.encode({ timeMs, sequence, upToSequence }, bound(scope));
  }

  /** @throws GatewayError `invalid-cursor` when it was tampered with or belongs to another query */
  decode(text: string, scope: CursorScope): AlarmCursor {
    const { timeMs, sequence, upToSequence } = this.#cursors.decode(text, bound(scope));
    return { position: { detectedAtMs: timeMs, sequence }, upToSequence };
  }
}

function bound({ locationId, deviceId, kinds, beforeMs, afterMs, order }: CursorScope): unknown[] {
  return [
    locationId,
    deviceId ?? null,
    [...new Set(kinds)].sort(),
    beforeMs ?? null,
    afterMs ?? null,
    order,
  ];
}
