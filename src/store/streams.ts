import { GatewayError } from '../errors.js';
import type { Store } from './store.js';

export interface StreamRow {
  /** The number before the hyphen of the entry's id. */
  readonly sequence: number;
  /** The number after it. */
  readonly tag: number;
  /** Alternating names and values. */
  readonly fields: readonly Buffer[];
}

/** Reads entries of a stream without zod: a page of a backlog has thousands of fields. */
export async function readStream(
  store: Store,
  key: string,
  from: string,
  to: string,
  count: number,
): Promise<StreamRow[]> {
  const reply: unknown = await store.read((redis) =>
    redis.xrangeBuffer(key, from, to, 'COUNT', count),
  );
  if (!Array.isArray(reply)) throw unreadable();
  return reply.map(rowOf);
}

function rowOf(row: unknown): StreamRow {
  if (!Array.isArray(row)) throw unreadable();
  const [id, fields]: unknown[] = row;
  if (!(id instanceof Buffer) || !areBuffers(fields)) throw unreadable();
  const [sequence, tag] = id.toString().split('-');
  return { sequence: Number(sequence), tag: Number(tag), fields };
}

/** Whether these are the fields of a stream entry: alternating names and values. */
function areBuffers(fields: unknown): fields is Buffer[] {
  return Array.isArray(fields) && fields.every((field) => field instanceof Buffer);
}

/** The error for an answer without the shape that Redis promises. */
function unreadable(): GatewayError {
  return new GatewayError(
    'internal-error',
    'The store answered with something other than a stream.',
  );
}
