/** Listings as CSV (RFC 4180, with a header line): every page, streamed. */

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import type { Logger } from 'pino';
import type { TimeZone } from '../domain/calendar.js';
import type { preparedJson } from './documents/openapi.js';
import { checkAgain, type HttpEnv } from './http-env.js';
import { JSON_MEDIA_TYPE } from './json-body.js';
import { bodyStream } from './server/body-stream.js';
import { connectionOf } from './server/http-connection.js';

const CSV_MEDIA_TYPE = 'text/csv';
const CSV_CONTENT_TYPE = `${CSV_MEDIA_TYPE}; charset=utf-8; header=present`;
const LINE_END = '\r\n';
const NEEDS_QUOTES = /[",;\r\n]/;
/** For Excel, which otherwise takes UTF-8 for Windows-1252. */
const BYTE_ORDER_MARK = '\uFEFF';

export const CSV_SEPARATORS = [',', ';'] as const;
export type CsvSeparator = (typeof CSV_SEPARATORS)[number];

/** How lines are written. */
export interface CsvForm {
  /** A file with semicolons is for Excel in German, and has a byte order mark. */
  readonly separator: CsvSeparator;
  /** A time in RFC 3339, as it is shown. */
  readonly timeText: (time: string) => string;
}

/** The form that a query asks for: commas, and RFC 3339 in UTC, if it asks for none. */
export function csvForm(query: {
  readonly separator?: CsvSeparator | undefined;
  readonly timeZone?: TimeZone | undefined;
}): CsvForm {
  const { separator = ',', timeZone } = query;
  const timeText = (time: string) => timeZone?.textOf(Date.parse(time)) ?? time;
  return { separator, timeText };
}
/** A spreadsheet runs a cell that begins like this as a formula, even after white space or full-width. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r]/;
/** Where the list separator is a semicolon, as in German, it takes the rest for a cell of its own. */
const FORMULA_AFTER_SEPARATOR = /([;\t]\s*)(?=[=+\-@＝＋－＠])/g;

interface Page {
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface CsvListing<One extends Page> {
  /** The names of the columns. */
  readonly header: readonly string[];
  readonly form: CsvForm;
  readonly linesOf: (page: One) => string;
  readonly first: One;
  readonly following: (cursor: string) => Promise<One>;
}

/** Adds CSV to the media types of a described response. */
export function withCsv(
  { description, content }: ReturnType<typeof preparedJson>,
  header: readonly string[],
) {
  const schema = z.string().openapi({ example: csvLine(header) });
  return { description, content: { ...content, [CSV_MEDIA_TYPE]: { schema } } };
}

/** Whether the client prefers CSV to JSON. */
export function wantsCsv(c: Context<HttpEnv>): boolean {
  c.header('Vary', 'Accept', { append: true });
  const supports = [JSON_MEDIA_TYPE, CSV_MEDIA_TYPE];
  return accepts(c, { header: 'Accept', supports, default: JSON_MEDIA_TYPE }) === CSV_MEDIA_TYPE;
}

/** Answers with all pages. */
export function csvResponse<One extends Page>(
  c: Context<HttpEnv>,
  log: Logger,
  listing: CsvListing<One>,
): Response {
  const takeTurn = () => connectionOf(c.env.incoming)?.turn();
  const body = bodyStream(c, csvPages(c, listing), log, takeTurn);
  return c.body(body, 200, { 'Content-Type': CSV_CONTENT_TYPE });
}

async function* csvPages<One extends Page>(
  c: Context<HttpEnv>,
  { header, form: { separator }, linesOf, first, following }: CsvListing<One>,
): AsyncGenerator<Uint8Array> {
  const mark = separator === ';' ? BYTE_ORDER_MARK : '';
  yield Buffer.from(mark + csvLine(header, separator));
  for (let page = first; ; page = await following(page.nextCursor)) {
    yield Buffer.from(linesOf(page));
    if (page.nextCursor === null) return;
    // The client decides how long a download takes; its token may have ended meanwhile.
    checkAgain(c);
  }
}

/** A line; missing cells are empty. */
export function csvLine(
  cells: readonly (string | null | undefined)[],
  separator: CsvSeparator = ',',
): string {
  return cells.map((cell) => csvCell(cell ?? '')).join(separator) + LINE_END;
}

function csvCell(text: string): string {
  const harmless = text.replaceAll(FORMULA_AFTER_SEPARATOR, "$1'");
  const cell = FORMULA.test(harmless) ? `'${harmless}` : harmless;
  return NEEDS_QUOTES.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
