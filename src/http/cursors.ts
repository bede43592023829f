import { createHmac, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../errors.js';

/** Start of a listing's next page, and the newest entry when the first page was read. */
export interface PageCursor {
  /** Time and number of the last entry of the page before. */
  readonly timeMs: number;
  readonly sequence: number;
  /** The newest entry when the first page was read. */
  readonly upToSequence: number;
}

/** Everything that selects entries except the page size; each listing has its own member names. */
export type CursorScope = Readonly<Record<string, string | number | readonly string[] | undefined>>;

const NUMBER_BYTES = 8;
const PAYLOAD_BYTES = 3 * NUMBER_BYTES;

/**
 * Opaque cursors: three numbers and an HMAC-SHA256 over them and the scope.
 *
 * The scope is everything that selects entries. The cursor does not hold it, but with another scope the
 * HMAC does not match.
 */
export class PageCursors {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  encode({ timeMs, sequence, upToSequence }: PageCursor, scope: CursorScope): string {
    const payload = Buffer.alloc(PAYLOAD_BYTES);
    payload.writeDoubleBE(timeMs, 0);
    payload.writeDoubleBE(sequence, NUMBER_BYTES);
    payload.writeDoubleBE(upToSequence, 2 * NUMBER_BYTES);
    return Buffer.concat([payload, this.#sign(payload, scope)]).toString('base64url');
  }

  /** @throws GatewayError `invalid-cursor` when it was tampered with or belongs to another query */
  decode(text: string, scope: CursorScope): PageCursor {
    const bytes = Buffer.from(text, 'base64url');
    const payload = bytes.subarray(0, PAYLOAD_BYTES);
    const signature = bytes.subarray(PAYLOAD_BYTES);
    const expected = this.#sign(payload, scope);
    // `Buffer.from` skips characters outside base64url; our cursors have none.
    const isOurs =
      bytes.toString('base64url') === text &&
      signature.length === expected.length &&
      timingSafeEqual(signature, expected);
    if (!isOurs) throw invalidCursor();
    return {
      timeMs: payload.readDoubleBE(0),
      sequence: payload.readDoubleBE(NUMBER_BYTES),
      upToSequence: payload.readDoubleBE(2 * NUMBER_BYTES),
    };
  }

  #sign(payload: Buffer, scope: CursorScope): Buffer {
    // Lists may come in another order.
    const bound = JSON.stringify(scope, (_, value) =>
      Array.isArray(value) ? value.toSorted() : value,
    );
    return createHmac('sha256', this.#key).update(payload).update(bound).digest();
  }
}

function invalidCursor(): GatewayError {
  return new GatewayError('invalid-cursor', 'The cursor does not belong to this query.', {
    faults: [{ path: 'cursor', message: 'does not belong to this query' }],
  });
}
