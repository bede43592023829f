import type { AuditPosition, AuditQuery } from '../site/audit-trail.js';
import { PageCursors } from './page-cursor.js';

/** Start of the next page, and the newest record when the first page was read. */
export interface AuditCursor {
  readonly position: AuditPosition;
  readonly upToSequence: number;
}

/** The query that a cursor is bound to: everything but `limit`. */
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

/** The scope's values, after a word that no alarm listing begins with. */
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
