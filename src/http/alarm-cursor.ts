import { createHmac, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../errors.js';
import type { AlarmPosition, AlarmQuery } from '../site/alarm-history.js';

/** Where the next page starts, and which alarms existed when the first one was read. */
export interface AlarmCursor {
  readonly position: AlarmPosition;
  readonly upToSequence: number;
}

/** What a cursor is bound to: everything of the query that chooses alarms; only `limit` may change. */
export type CursorScope = Pick<
  AlarmQuery,
  'locationId' | 'deviceId' | 'kinds' | 'beforeMs' | 'afterMs' | 'order'
>;

const NUMBER_BYTES = 8;
const PAYLOAD_BYTES = 3 * NUMBER_BYTES;

/**
 * Opaque cursors: three numbers and an HMAC-SHA256 over them and the scope. The scope itself is not
 * in the cursor; with another one the HMAC does not match.
 */
export class AlarmCursors {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  encode(cursor: AlarmCursor, scope: CursorScope): string {
    const payload = Buffer.alloc(PAYLOAD_BYTES);
    payload.writeDoubleBE(cursor.position.detectedAtMs, 0);
    payload.writeDoubleBE(cursor.position.sequence, NUMBER_BYTES);
    payload.writeDoubleBE(cursor.upToSequence, 2 * NUMBER_BYTES);
    return Buffer.concat([payload, this.#sign(payload, scope)]).toString('base64url');
  }

  /** @throws GatewayError `invalid-cursor` when it was tampered with or belongs to another query */
  decode(text: string, scope: CursorScope): AlarmCursor {
    const bytes = Buffer.from(text, 'base64url');
    const payload = bytes.subarray(0, PAYLOAD_BYTES);
    const signature = bytes.subarray(PAYLOAD_BYTES);
    const expected = this.#sign(payload, scope);
    // `Buffer.from` skips what is not base64url: such a text is not what was given out.
    const isOurs =
      bytes.toString('base64url') === text &&
      signature.length === expected.length &&
      timingSafeEqual(signature, expected);
    if (!isOurs) {
      throw new GatewayError('invalid-cursor', 'The cursor does not belong to this query.');
    }
    return {
      position: {
        detectedAtMs: payload.readDoubleBE(0),
        sequence: payload.readDoubleBE(NUMBER_BYTES),
      },
      upToSequence: payload.readDoubleBE(2 * NUMBER_BYTES),
    };
  }

  #sign(payload: Buffer, scope: CursorScope): Buffer {
    const { locationId, deviceId, kinds, beforeMs, afterMs, order } = scope;
    const bound = [
      locationId,
      deviceId ?? null,
      [...new Set(kinds)].sort(),
      beforeMs ?? null,
      afterMs ?? null,
      order,
    ];
    return createHmac('sha256', this.#key).update(payload).update(JSON.stringify(bound)).digest();
  }
}
