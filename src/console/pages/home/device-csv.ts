/** Specification 8. */
const MAX_NAME_LENGTH = 120;
/** More than any home has; a file with more is another file. */
export const MAX_LINES = 2_000;

export type CsvFault =
  | 'unclosed-quote'
  | 'too-many-columns'
  | 'name-missing'
  | 'name-too-long'
  | 'name-invalid'
  | 'room-too-long'
  | 'room-invalid';

/** One device of the file. */
export interface DeviceLine {
  /** Counted from 1, as editors do. */
  readonly line: number;
  readonly name: string;
  /** Empty: in no room. */
  readonly room: string;
  readonly faults: readonly CsvFault[];
  /** Whether an earlier line has the same name and room, which is allowed, but most often a mistake. */
  readonly isRepeated: boolean;
}

export interface DeviceCsv {
  readonly lines: readonly DeviceLine[];
  readonly separator: ',' | ';';
  readonly isTooLong: boolean;
}

interface Row {
  readonly line: number;
  readonly cells: readonly string[];
  readonly isClosed: boolean;
}

/** Names of the columns, in the languages of the console. */
const NAME_COLUMN = /^(name|device|gerät|geraet|bezeichnung)$/i;
const ROOM_COLUMN = /^(room|raum|zimmer)$/i;

/** Reads a file of devices: RFC 4180 with semicolons or commas, a header or none, in either order. */
export function parseDeviceCsv(text: string): DeviceCsv {
  const content = text.replace(/^\uFEFF/, '');
  const separator = separatorOf(content);
  const rows = [...rowsOf(content, separator)].filter(({ cells }) => cells.some(isFilled));
  const header = headerOf(rows[0]);
  const data = header === undefined ? rows : rows.slice(1);
  const seen = new Set<string>();
  const lines = data.slice(0, MAX_LINES).map((row): DeviceLine => {
    const name = trimmed(row.cells[header?.name ?? 0]);
    const room = trimmed(row.cells[header?.room ?? 1]);
    const key = JSON.stringify([name, room]);
    const isRepeated = seen.has(key);
    seen.add(key);
    const faults = faultsOf(row, name, room, header?.columns ?? 2);
    return { line: row.line, name, room, faults, isRepeated };
  });
  return { lines, separator, isTooLong: data.length > MAX_LINES };
}

function faultsOf(row: Row, name: string, room: string, columns: number): readonly CsvFault[] {
  if (!row.isClosed) return ['unclosed-quote'];
  const faults: CsvFault[] = [];
  if (row.cells.slice(columns).some(isFilled)) faults.push('too-many-columns');
  if (name === '') faults.push('name-missing');
  if ([...name].length > MAX_NAME_LENGTH) faults.push('name-too-long');
  if (/\p{Cc}|\p{Cs}/u.test(name)) faults.push('name-invalid');
  if ([...room].length > MAX_NAME_LENGTH) faults.push('room-too-long');
  if (/\p{Cc}|\p{Cs}/u.test(room)) faults.push('room-invalid');
  return faults;
}

interface Header {
  readonly name: number;
  /** -1 where the file has no rooms. */
  readonly room: number;
  readonly columns: number;
}

function headerOf(first: Row | undefined): Header | undefined {
  const cells = first?.cells.map(trimmed) ?? [];
  const name = cells.findIndex((cell) => NAME_COLUMN.test(cell));
  if (name === -1) return undefined;
  const room = cells.findIndex((cell) => ROOM_COLUMN.test(cell));
  // Further columns of a file with a header have names, and are left out.
  return { name, room, columns: cells.length };
}

function separatorOf(content: string): ',' | ';' {
  const firstLine = content.split('\n').find(isFilled) ?? '';
  const unquoted = firstLine.replace(/"[^"]*"/g, '');
  return unquoted.includes(';') ? ';' : ',';
}

function* rowsOf(content: string, separator: string): Generator<Row> {
  let cells: string[] = [];
  let cell = '';
  let line = 1;
  let firstLine = 1;
  let isQuoted = false;
  for (let index = 0; index < content.length; index += 1) {
    const character = content.charAt(index);
    if (character === '\n') line += 1;
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (content.charAt(index + 1) === '"') {
        cell += '"';
        index += 1;
      } else isQuoted = false;
    } else if (character === '"' && cell.trim() === '') {
      cell = '';
      isQuoted = true;
    } else if (character === separator) {
      cells.push(cell);
      cell = '';
    } else if (character === '\n') {
      yield { line: firstLine, cells: [...cells, cell], isClosed: true };
      cells = [];
      cell = '';
      firstLine = line;
    } else if (character !== '\r') cell += character;
  }
  yield { line: firstLine, cells: [...cells, cell], isClosed: !isQuoted };
}

function isFilled(cell: string): boolean {
  return cell.trim() !== '';
}

function trimmed(cell: string | undefined): string {
  return (cell ?? '').trim();
}

/** Reads a file's bytes: UTF-8, or else Windows-1252, in which Excel saves a plain CSV. */
export function decodeCsv(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
