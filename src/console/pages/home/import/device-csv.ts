import { customDataFault } from '../device/custom-data.js';

/** Specification 8. */
const MAX_NAME_LENGTH = 120;
/** More than any home has; a longer file is the wrong file. */
export const MAX_LINES = 2_000;

export type CsvFault =
  | 'unclosed-quote'
  | 'too-many-columns'
  | 'name-missing'
  | 'name-too-long'
  | 'name-invalid'
  | 'room-too-long'
  | 'room-invalid'
  | 'group-too-long'
  | 'group-invalid'
  | 'group-without-room'
  | 'custom-data-invalid'
  | 'custom-data-too-large';

/** One device of the file. */
export interface DeviceLine {
  /** Counted from 1, as editors do. */
  readonly line: number;
  readonly name: string;
  /** Empty: in no room. */
  readonly room: string;
  /** The group of the room; empty if not named. */
  readonly group: string;
  /** A JSON object; empty: none. */
  readonly customData: string;
  readonly faults: readonly CsvFault[];
  /** Whether an earlier line has the same name and room, which is allowed but usually a mistake. */
  readonly isRepeated: boolean;
}

export interface DeviceCsv {
  readonly lines: readonly DeviceLine[];
  readonly separator: ',' | ';';
  readonly isTooLong: boolean;
  /** Columns of the header that mean nothing here. */
  readonly unknownColumns: readonly string[];
}

interface Row {
  readonly line: number;
  readonly cells: readonly string[];
  readonly isClosed: boolean;
}

/** Names of the columns, in the languages of the console. */
const NAME_COLUMN = /^(name|device|gerät|geraet|bezeichnung)$/i;
const ROOM_COLUMN = /^(room|raum|zimmer)$/i;
const GROUP_COLUMN = /^(group|gruppe|station|wohnbereich)$/i;
const CUSTOM_DATA_COLUMN = /^(customData|eigene daten)$/i;
const COLUMNS = [NAME_COLUMN, ROOM_COLUMN, GROUP_COLUMN, CUSTOM_DATA_COLUMN];
/** For a file without a header. */
const NO_HEADER: Header = { name: 0, room: 1, group: -1, customData: -1, columns: 2, unknown: [] };

/** Reads a file of devices: RFC 4180 with semicolons or commas, with or without a header. */
export function parseDeviceCsv(text: string): DeviceCsv {
  const content = text.replace(/^\uFEFF/, '');
  const separator = separatorOf(content);
  const rows = [...rowsOf(content, separator)].filter(({ cells }) => cells.some(isFilled));
  const header = headerOf(rows[0]);
  const data = header === undefined ? rows : rows.slice(1);
  const columns = header ?? NO_HEADER;
  const seen = new Set<string>();
  const lines = data.slice(0, MAX_LINES).map((row): DeviceLine => {
    const values = valuesOf(row, columns);
    const key = JSON.stringify([values.name, values.room]);
    const isRepeated = seen.has(key);
    seen.add(key);
    return {
      line: row.line,
      ...values,
      faults: faultsOf(row, values, columns.columns),
      isRepeated,
    };
  });
  const isTooLong = data.length > MAX_LINES;
  return { lines, separator, isTooLong, unknownColumns: columns.unknown };
}

type Values = Pick<DeviceLine, 'name' | 'room' | 'group' | 'customData'>;

function valuesOf({ cells }: Row, { name, room, group, customData }: Header): Values {
  return {
    name: trimmed(cells[name]),
    room: trimmed(cells[room]),
    group: trimmed(cells[group]),
    customData: trimmed(cells[customData]),
  };
}

function faultsOf(row: Row, values: Values, columns: number): readonly CsvFault[] {
  if (!row.isClosed) return ['unclosed-quote'];
  const faults: CsvFault[] = [];
  if (row.cells.slice(columns).some(isFilled)) faults.push('too-many-columns');
  if (values.name === '') faults.push('name-missing');
  for (const column of ['name', 'room', 'group'] as const) {
    if ([...values[column]].length > MAX_NAME_LENGTH) faults.push(`${column}-too-long`);
    if (isUnusable(values[column])) faults.push(`${column}-invalid`);
  }
  if (values.group !== '' && values.room === '') faults.push('group-without-room');
  const fault = values.customData === '' ? undefined : customDataFault(values.customData);
  if (fault !== undefined) {
    faults.push(fault.type === 'too-large' ? 'custom-data-too-large' : 'custom-data-invalid');
  }
  return faults;
}

/** Whether the gateway refuses the name: it has what turns the text around, or has nothing to see (`domain/names.ts`). */
function isUnusable(name: string): boolean {
  const isInvisible = name !== '' && /^[\s\p{Default_Ignorable_Code_Point}\u2800]*$/u.test(name);
  return isInvisible || /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u.test(name);
}

interface Header {
  readonly name: number;
  /** -1 if the file has no such column, as for the others. */
  readonly room: number;
  readonly group: number;
  readonly customData: number;
  readonly columns: number;
  readonly unknown: readonly string[];
}

function headerOf(first: Row | undefined): Header | undefined {
  const cells = first?.cells.map(trimmed) ?? [];
  const [name = -1, room = -1, group = -1, customData = -1] = COLUMNS.map((column) =>
    cells.findIndex((cell) => column.test(cell)),
  );
  if (name === -1) return undefined;
  const known = [name, room, group, customData];
  const unknown = cells.filter((cell, index) => cell !== '' && !known.includes(index));
  return { name, room, group, customData, columns: cells.length, unknown };
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

/** Reads a file's bytes: UTF-8 or, failing that, Windows-1252, in which Excel saves a plain CSV. */
export function decodeCsv(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
