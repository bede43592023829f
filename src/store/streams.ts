import { GatewayError } from '../errors.js';

/** The entries of a stream: the number of each, and alternating names and values. */
export type StreamRow = readonly [sequence: number, fields: readonly Buffer[]];

/** Reads the answer of XRANGE without zod: a page of a backlog has thousands of fields. */
export function streamRows(reply: unknown): StreamRow[] {
  if (!Array.isArray(reply)) throw unreadable();
  return reply.map((row: unknown): StreamRow => {
    if (!Array.isArray(row)) throw unreadable();
    const [id, fields]: unknown[] = row;
    if (!(id instanceof Buffer) || !areBuffers(fields)) throw unreadable();
    return [Number.parseInt(id.toString(), 10), fields];
  });
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
