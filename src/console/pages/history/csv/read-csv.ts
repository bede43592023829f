import { exportAlarms } from '../../../api.js';
import { searchParameters } from '../alarm-pages.js';
import { ALL_HOMES, type AlarmSearch } from '../history-search.js';
import { SpreadsheetCsv } from './spreadsheet-csv.js';

/** Pieces of this total size are joined into a Blob, which a browser may keep on disk. */
const PIECES_BYTES = 4 * 1024 * 1024;

/**
 * Reads the alarms of a search as CSV for a spreadsheet.
 *
 * @param separator between two cells
 * @param onBytes receives the number of bytes read so far
 * @throws Refusal with the gateway's answer when it refuses
 */
export async function readCsv(
  search: AlarmSearch,
  separator: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<Blob> {
  const { locationId } = search;
  const at = locationId === ALL_HOMES ? undefined : { locationId };
  const { body } = await exportAlarms(at, searchParameters(search), { signal });
  if (body === null) throw new Error('the answer has no body');
  let bytes = 0;
  const counter = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      bytes += piece.byteLength;
      onBytes(bytes);
      controller.enqueue(piece);
    },
  });
  const file = body
    .pipeThrough(counter)
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new SpreadsheetCsv(separator))
    .pipeThrough(new TextEncoderStream());
  return collected(file);
}

async function collected(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Blob> {
  const reader = body.getReader();
  const type = 'text/csv';
  let file = new Blob([], { type });
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob([file, ...pieces], { type });
    pieces.push(value);
    bytes += value.byteLength;
    if (bytes < PIECES_BYTES) continue;
    file = new Blob([file, ...pieces], { type });
    [pieces, bytes] = [[], 0];
  }
}
