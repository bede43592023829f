import type { AuditPosition, AuditQuery } from '../site/audit-trail.js';
import { PageCursors } from './page-cursor.js';

/** Where the next page starts, and which records existed when the first one was read. */
export interface AuditCursor {
  readonly position: AuditPosition;
  readonly upToSequence: number;
}

/** What a cursor is bound to: everything of the query that chooses records; only `limit` may change. */
export type AuditScope = Omit<AuditQuery, 'limit' | 'position' | 'upToSequence'>;

/** The cursors of the audit trail. */
export class AuditCursors {
  readonly #cursors: PageCursors;

  constructor(key: Buffer) {
    this.#cursors = new PageCursors(key);
  }

  encode({ position, upToSequence }: AuditCursor, scope: AuditScope): string {
    const { atMs: timeMs, sequence } = position;
    return this.#cursors.encode({ timeMs, sequence, upToSequence }, bound(scope));
  }

  /** @throws GatewayError `invalid-cursor` when it was tampered with or belongs to another query */
  decode(text: string, scope: AuditScope): AuditCursor {
    const { timeMs, sequence, upToSequence } = this.#cursors.decode(text, bound(scope));
    return { position: { atMs: timeMs, sequence }, upToSequence };
  }
}

/** Begins with a word, so that no alarm listing has the same. */
function bound(scope: AuditScope): unknown[] {
  const { actions, beforeMs, afterMs, locationId, actorId, resourceId, order } = scope;
  return [
    'audit',
    [...new Set(actions)].sort(),
    beforeMs ?? null,
    afterMs ?? null,
    locationId ?? null,
    actorId ?? null,
    resourceId ?? null,
    order,
  ];
}
