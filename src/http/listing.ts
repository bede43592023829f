/** Long answers, piece by piece: bodies that are made as fast as the client takes them, and listings as CSV (RFC 4180). */

import { accepts } from 'hono/accepts';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { TimeZone } from '../domain/calendar.js';
import { JSON_MEDIA_TYPE } from './body.js';
import type { Caller } from './caller.js';
import type { CSV_SEPARATORS } from './fields.js';
import { type HttpContext, whoAsks } from './frame.js';
import { isOwnFailure, toGatewayError } from './problem.js';

/**
 * A body of pieces, no faster than the client takes them: a client that reads nothing costs one piece.
 *
 * A failure cuts the connection: the status is out, so an early end is the only sign left.
 */
export function streamed(
  c: HttpContext,
  pieces: AsyncGenerator<Uint8Array> | Generator<Uint8Array>,
  log: Logger,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          if (!c.env.outgoing.closed) {
            const level = isOwnFailure(toGatewayError(error)) ? 'error' : 'debug';
            log[level]({ ...whoAsks(c), err: error }, 'failed to stream a response');
          }
          c.env.outgoing.destroy();
        }
      },
      async cancel() {
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

export const CSV_MEDIA_TYPE = 'text/csv';
const CSV_CONTENT_TYPE = `${CSV_MEDIA_TYPE}; charset=utf-8; header=present`;
const LINE_END = '\r\n';
const NEEDS_QUOTES = /[",;\r\n]/;
/** For Excel, which otherwise takes UTF-8 for Windows-1252. */
const BYTE_ORDER_MARK = '\uFEFF';
/** A spreadsheet runs a cell that begins like this as a formula, even after white space or full-width. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r]/;
/** Where the list separator is a semicolon, as in German, it takes the rest for a cell of its own. */
const FORMULA_AFTER_SEPARATOR = /([;\t]\s*)(?=[=+\-@＝＋－＠])/g;

/** How a query asks for its lines: commas, and RFC 3339 in UTC, if it says nothing. */
export interface CsvForm {
  readonly separator?: (typeof CSV_SEPARATORS)[number] | undefined;
  readonly timeZone?: TimeZone | undefined;
}

/** A text in a cell; nothing is an empty cell. */
export type Cell = string | null | undefined;

/** The columns of a listing: for each its name, and the text of its cell. Times are texts in RFC 3339. */
export type Columns<Entry> = readonly (readonly [
  name: string,
  cell: (entry: Entry) => Cell,
  isTime?: 'time',
])[];

/** The media type of a described CSV. */
export function csvContent<Entry>(columns: Columns<Entry>): Readonly<Record<string, z.ZodString>> {
  const header = csvLine(columns.map(([name]) => name));
  return { [CSV_MEDIA_TYPE]: z.string().meta({ examples: [header] }) };
}

/** Whether the client prefers CSV to JSON. */
export function wantsCsv(c: HttpContext): boolean {
  c.header('Vary', 'Accept', { append: true });
  const supports = [JSON_MEDIA_TYPE, CSV_MEDIA_TYPE];
  return accepts(c, { header: 'Accept', supports, default: JSON_MEDIA_TYPE }) === CSV_MEDIA_TYPE;
}

/** A page of a listing; without `nextCursor` the last. */
export interface Page<Entry> {
  readonly nextCursor: string | null;
  readonly entries: readonly Entry[];
}

/**
 * Answers with all pages as CSV.
 *
 * @param first the first page; a failure to read it is still a problem document
 * @param following reads the page at a cursor
 */
export function csvResponse<Entry>(
  c: HttpContext,
  caller: Caller,
  log: Logger,
  columns: Columns<Entry>,
  form: CsvForm,
  first: Page<Entry>,
  following: (cursor: string) => Promise<Page<Entry>>,
): Response {
  const pieces = csvPages(caller, columns, form, first, following);
  return c.body(streamed(c, pieces, log), 200, { 'Content-Type': CSV_CONTENT_TYPE });
}

async function* csvPages<Entry>(
  caller: Caller,
  columns: Columns<Entry>,
  { separator = ',', timeZone }: CsvForm,
  first: Page<Entry>,
  following: (cursor: string) => Promise<Page<Entry>>,
): AsyncGenerator<Uint8Array> {
  const local = (time: Cell) => (time && timeZone ? timeZone.textOf(Date.parse(time)) : time);
  const lineOf = (entry: Entry) => {
    const cells = columns.map(([, cell, isTime]) => (isTime ? local(cell(entry)) : cell(entry)));
    return csvLine(cells, separator);
  };
  // A file with semicolons is for Excel in German.
  const mark = separator === ';' ? BYTE_ORDER_MARK : '';
  yield Buffer.from(
    mark +
      csvLine(
        columns.map(([name]) => name),
        separator,
      ),
  );
  for (let page = first; ; page = await following(page.nextCursor)) {
    yield Buffer.from(page.entries.map(lineOf).join(''));
    if (page.nextCursor === null) return;
    // The client decides how long a download takes; its token may have ended meanwhile.
    caller.checkAgain();
  }
}

/** A line; missing cells are empty. */
export function csvLine(cells: readonly Cell[], separator = ','): string {
  return cells.map((cell) => csvCell(cell ?? '')).join(separator) + LINE_END;
}

function csvCell(text: string): string {
  const harmless = text.replaceAll(FORMULA_AFTER_SEPARATOR, "$1'");
  const cell = FORMULA.test(harmless) ? `'${harmless}` : harmless;
  return NEEDS_QUOTES.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
