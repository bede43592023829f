/**
 * Many devices at once: reads a table of them, compares it with the home, and creates what is not made yet.
 *
 * It stops where the gateway fails and resumes there: a device whose answer was lost is not created twice.
 */

import { type ReadonlySignal, signal } from '@preact/signals';
import {
  createGroup,
  createRoom,
  listGroups,
  listRooms,
  type Room,
  setCustomData,
  updateRoom,
} from '../api.js';
import { ANY_TAG, type Failure, failureOf } from '../request.js';
import { customDataFault } from './custom-data.js';
import type { Home } from './home.js';
import { type IssuedDevice, issueDevice, newDeviceId } from './issue.js';

/** Specification 8. */
const MAX_NAME_LENGTH = 120;
/** More than any home has; a longer table is the wrong one. */
export const MAX_ROWS = 2_000;

/** What keeps a row from being created. */
export type RowFault =
  | 'unclosed-quote'
  | 'too-many-cells'
  | 'name-missing'
  | 'too-long'
  | 'invalid'
  | 'room-ambiguous'
  | 'group-ambiguous'
  | 'group-without-room'
  | 'room-in-other-group'
  | 'custom-data-invalid'
  | 'custom-data-too-large';

/**
 * What to know before it is created: an earlier row is the same, the home has such a device, or what is created or
 * changed besides it.
 */
export type RowNote = 'repeated' | 'existing' | 'room-new' | 'group-new' | 'room-grouped';

export interface ImportRow {
  /** Counted from 1, as editors do. */
  readonly line: number;
  readonly name: string;
  /** Empty: in no room. */
  readonly room: string;
  /** The group of the room; empty if not named. */
  readonly group: string;
  /** A JSON object; empty: none. */
  readonly customData: string;
  readonly faults: readonly RowFault[];
  readonly notes: readonly RowNote[];
  readonly state: 'fault' | 'new' | 'made' | 'failed';
  /** Once it is made. */
  readonly issued?: IssuedDevice;
  /** Why it could not be made. */
  readonly failure?: Failure;
}

// Reading

interface Table {
  readonly rows: readonly ImportRow[];
  readonly separator: string;
  readonly isTooLong: boolean;
  /** Columns of the header that mean nothing here. */
  readonly unknownColumns: readonly string[];
}

/** Names of the columns, in the languages of the console. */
const COLUMNS = {
  name: /^(name|device|gerät|geraet|bezeichnung)$/i,
  room: /^(room|raum|zimmer)$/i,
  group: /^(group|gruppe|station|wohnbereich)$/i,
  customData: /^(customData|eigene daten)$/i,
} as const;

/** Reads a table: cells pasted from a spreadsheet, or a CSV with semicolons or commas, with or without a header. */
export function parseDevices(text: string): Table {
  const texts = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  const separator = separatorOf(texts.find(isFilled) ?? '');
  const lines = texts
    .map((one, index) => ({ line: index + 1, ...cellsOf(one, separator) }))
    .filter(({ cells }) => cells.some(isFilled));
  const columns = columnsOf(lines[0]?.cells ?? []);
  const data = columns.hasHead ? lines.slice(1) : lines;
  const seen = new Set<string>();
  return {
    rows: data.slice(0, MAX_ROWS).map((line) => rowOf(line, columns, seen)),
    separator,
    isTooLong: data.length > MAX_ROWS,
    unknownColumns: columns.unknown,
  };
}

type Columns = ReturnType<typeof columnsOf>;

/** Which cell is what; -1 if the table has no such column. */
function columnsOf(head: readonly string[]) {
  const indexOf = (column: RegExp) => head.findIndex((cell) => column.test(cell));
  const name = indexOf(COLUMNS.name);
  if (name === -1) {
    const at = { name: 0, room: 1, group: -1, customData: -1 };
    return { hasHead: false, at, count: 2, unknown: [] };
  }
  const [room, group] = [indexOf(COLUMNS.room), indexOf(COLUMNS.group)];
  const at = { name, room, group, customData: indexOf(COLUMNS.customData) };
  const known = new Set(Object.values(at));
  const unknown = head.filter((cell, index) => cell !== '' && !known.has(index));
  return { hasHead: true, at, count: head.length, unknown };
}

/** @param seen the names and rooms of earlier rows */
function rowOf(
  { line, cells, isClosed }: Line,
  { at, count }: Columns,
  seen: Set<string>,
): ImportRow {
  const values = {
    name: cells[at.name] ?? '',
    room: cells[at.room] ?? '',
    group: cells[at.group] ?? '',
    customData: cells[at.customData] ?? '',
  };
  const key = JSON.stringify([values.name, values.room]);
  const notes: readonly RowNote[] = seen.has(key) ? ['repeated'] : [];
  seen.add(key);
  const faults = isClosed ? faultsOf(values) : [];
  if (!isClosed) faults.push('unclosed-quote');
  if (isClosed && cells.slice(count).some(isFilled)) faults.push('too-many-cells');
  return { line, ...values, faults, notes, state: stateOf(faults) };
}

function separatorOf(line: string): string {
  const unquoted = line.replace(/"[^"]*"/g, '');
  return ['\t', ';'].find((one) => unquoted.includes(one)) ?? ',';
}

interface Line {
  readonly line: number;
  readonly cells: readonly string[];
  /** Whether each quotation mark is closed at the end of its cell. */
  readonly isClosed: boolean;
}

/** The trimmed cells of a line (RFC 4180). */
function cellsOf(line: string, separator: string): Omit<Line, 'line'> {
  const cell = new RegExp(` *(?:"((?:[^"]|"")*)" *|([^${separator}]*))(${separator}|$)`, 'y');
  const cells: string[] = [];
  let isClosed = true;
  for (let end = separator; end === separator; ) {
    const [, quoted, plain = '', found = ''] = cell.exec(line) ?? [];
    if (plain.startsWith('"')) isClosed = false;
    cells.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    end = found;
  }
  return { cells, isClosed };
}

type Values = Pick<ImportRow, 'name' | 'room' | 'group' | 'customData'>;

function faultsOf(values: Values): RowFault[] {
  const faults: RowFault[] = [];
  if (values.name === '') faults.push('name-missing');
  const names = [values.name, values.room, values.group];
  if (names.some((name) => [...name].length > MAX_NAME_LENGTH)) faults.push('too-long');
  if (names.some(isUnusable)) faults.push('invalid');
  if (values.group !== '' && values.room === '') faults.push('group-without-room');
  const fault = values.customData === '' ? undefined : customDataFault(values.customData);
  if (fault?.type === 'too-large') faults.push('custom-data-too-large');
  else if (fault !== undefined) faults.push('custom-data-invalid');
  return faults;
}

/** Whether the gateway refuses the name: it has what turns the text around, or has nothing to see (`domain/names.ts`). */
function isUnusable(name: string): boolean {
  const isInvisible = name !== '' && /^[\s\p{Default_Ignorable_Code_Point}\u2800]*$/u.test(name);
  return isInvisible || /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u.test(name);
}

function stateOf(faults: readonly RowFault[]): ImportRow['state'] {
  return faults.length > 0 ? 'fault' : 'new';
}

function isFilled(text: string): boolean {
  return text.trim() !== '';
}

/** Reads a file's bytes: UTF-16 with a mark, UTF-8, or else Windows-1252, in which Excel saves a plain CSV. */
export function decodeTable(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

// Comparing

/** Adds what only the home shows: what exists, what is missing, and what contradicts it. */
export function comparedRows(rows: readonly ImportRow[], home: Home): readonly ImportRow[] {
  const groupNames = new Map(home.groups.map(({ id, name }) => [id, name]));
  const groupOfRoom = new Map(
    home.rooms.map(({ name, groupId }) => [name, groupNames.get(groupId ?? '')]),
  );
  const existing = new Set(home.devices.map(({ name, roomId }) => JSON.stringify([name, roomId])));
  return rows.map((row) => {
    const rooms = home.rooms.filter(({ name }) => name === row.room);
    const groups = home.groups.filter(({ name }) => name === row.group);
    const hasGroup = row.group !== '';
    const groupBefore = groupOfRoom.get(row.room) ?? row.group;
    if (hasGroup) groupOfRoom.set(row.room, groupBefore);
    const isRoomNew = row.room !== '' && rooms.length === 0;
    const isExisting = !isRoomNew && existing.has(JSON.stringify([row.name, rooms[0]?.id ?? null]));
    const faults: readonly (RowFault | false)[] = [
      rooms.length > 1 && 'room-ambiguous',
      groups.length > 1 && 'group-ambiguous',
      hasGroup && groupBefore !== row.group && 'room-in-other-group',
    ];
    const notes: readonly (RowNote | false)[] = [
      isExisting && 'existing',
      isRoomNew && 'room-new',
      hasGroup && groups.length === 0 && 'group-new',
      hasGroup && rooms[0]?.groupId === null && 'room-grouped',
    ];
    const all = [...row.faults, ...faults.filter((fault) => fault !== false)];
    const allNotes = [...row.notes, ...notes.filter((note) => note !== false)];
    return { ...row, faults: all, notes: allNotes, state: stateOf(all) };
  });
}

// Creating

/** The rooms and the ids of the groups of the home, by name. */
interface Places {
  readonly rooms: Map<string, Room>;
  readonly groups: Map<string, string>;
}

/** Creates devices one after another, with the groups and rooms that they need. */
export class Import {
  readonly #locationId: string;
  readonly #groupId: string | null;
  readonly #ids: ReadonlyMap<number, string>;
  readonly #rows = signal<readonly ImportRow[]>([]);
  readonly #isRunning = signal(false);
  readonly rows: ReadonlySignal<readonly ImportRow[]> = this.#rows;
  readonly isRunning: ReadonlySignal<boolean> = this.#isRunning;
  #isStopping = false;

  /** @param groupId for new rooms whose row names no group; null: in none */
  constructor(locationId: string, groupId: string | null, rows: readonly ImportRow[]) {
    this.#locationId = locationId;
    this.#groupId = groupId;
    this.#ids = new Map(rows.map(({ line }) => [line, newDeviceId()]));
    this.#rows.value = rows;
  }

  /** Stops before the next device. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Creates what is not made yet. */
  async create(): Promise<void> {
    if (this.#isRunning.peek()) return;
    this.#isStopping = false;
    this.#isRunning.value = true;
    let places: Places | undefined;
    for (const row of this.#rows.peek()) {
      if (this.#isStopping) break;
      if (row.state === 'made') continue;
      try {
        // Read each time: an earlier run or somebody else may have created some.
        places ??= await this.#readPlaces();
        const issued = await this.#make(row, places);
        this.#change({ ...row, state: 'made', issued, failure: undefined });
      } catch (error) {
        const failure = failureOf(error);
        this.#change({ ...row, state: 'failed', failure });
        // What is wrong with one row keeps no other back.
        if (failure.code !== 'invalid-request') break;
      }
    }
    this.#isRunning.value = false;
  }

  async #readPlaces(): Promise<Places> {
    const at = { locationId: this.#locationId };
    const [rooms, groups] = await Promise.all([listRooms(at), listGroups(at)]);
    return {
      rooms: new Map(rooms.map((room) => [room.name, room])),
      groups: new Map(groups.map(({ name, id }) => [name, id])),
    };
  }

  async #make(row: ImportRow, places: Places): Promise<IssuedDevice> {
    const locationId = this.#locationId;
    const { line, name, customData } = row;
    const id = this.#ids.get(line) ?? newDeviceId();
    const room = await this.#roomOf(row, places);
    const device = await issueDevice(locationId, { id, name, room });
    if (customData !== '') await setCustomData({ locationId, deviceId: id }, customData, ANY_TAG);
    return device;
  }

  /** Finds the row's room in its group, and creates what is missing. */
  async #roomOf({ room: name, group }: ImportRow, places: Places): Promise<Room | undefined> {
    if (name === '') return undefined;
    const locationId = this.#locationId;
    let groupId = group === '' ? this.#groupId : places.groups.get(group);
    if (groupId === undefined) {
      groupId = (await createGroup({ locationId }, { name: group })).id;
      places.groups.set(group, groupId);
    }
    const known = places.rooms.get(name);
    if (known !== undefined && (group === '' || known.groupId === groupId)) return known;
    const room =
      known === undefined
        ? await createRoom({ locationId }, { name, groupId })
        : await updateRoom({ locationId, roomId: known.id }, { groupId });
    places.rooms.set(name, room);
    return room;
  }

  #change(row: ImportRow): void {
    this.#rows.value = this.#rows.peek().map((one) => (one.line === row.line ? row : one));
  }
}
