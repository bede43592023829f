import type { Room } from '../../../api.js';
import type { Home } from '../home-data.js';
import type { CsvFault, DeviceCsv, DeviceLine } from './device-csv.js';

export type LineFault = CsvFault | 'room-ambiguous' | 'group-ambiguous' | 'room-in-other-group';

/** A line of the file, compared with the home that it is for. */
export interface PlannedLine extends Omit<DeviceLine, 'faults'> {
  readonly faults: readonly LineFault[];
  readonly isRoomNew: boolean;
  readonly isGroupNew: boolean;
  /** Whether the home has the room, in no group, and the import puts it into the line's group. */
  readonly isRoomGrouped: boolean;
  /** Whether the home has a device of this name in this room: the file may already be imported. */
  readonly isExisting: boolean;
}

export interface ImportPlan {
  readonly lines: readonly PlannedLine[];
  readonly newRooms: readonly string[];
  readonly newGroups: readonly string[];
  readonly unknownColumns: readonly string[];
  readonly faultCount: number;
}

/** What an import would create, before it creates anything. */
export function importPlan(csv: DeviceCsv, home: Home): ImportPlan {
  const roomsByName = new Map<string, Room[]>();
  for (const room of home.rooms) {
    roomsByName.set(room.name, [...(roomsByName.get(room.name) ?? []), room]);
  }
  const groupNames = new Map(home.groups.map(({ id, name }) => [id, name]));
  const groupOfRoom = new Map(
    home.rooms.map(({ name, groupId }) => [name, groupNames.get(groupId ?? '')]),
  );
  const existing = new Set(home.devices.map(({ name, roomId }) => JSON.stringify([name, roomId])));
  const lines = csv.lines.map((line): PlannedLine => {
    const rooms = roomsByName.get(line.room) ?? [];
    const groups = home.groups.filter(({ name }) => name === line.group);
    const isRoomNew = line.room !== '' && rooms.length === 0;
    const faults: LineFault[] = [...line.faults];
    if (rooms.length > 1) faults.push('room-ambiguous');
    if (groups.length > 1) faults.push('group-ambiguous');
    if (line.group !== '') {
      const known = groupOfRoom.get(line.room) ?? line.group;
      if (known !== line.group) faults.push('room-in-other-group');
      groupOfRoom.set(line.room, known);
    }
    return {
      ...line,
      faults,
      isRoomNew,
      isGroupNew: line.group !== '' && groups.length === 0,
      isRoomGrouped: line.group !== '' && rooms[0]?.groupId === null,
      isExisting: !isRoomNew && existing.has(JSON.stringify([line.name, rooms[0]?.id ?? null])),
    };
  });
  const newRooms = lines.filter(({ isRoomNew }) => isRoomNew).map(({ room }) => room);
  const newGroups = lines.filter(({ isGroupNew }) => isGroupNew).map(({ group }) => group);
  return {
    lines,
    newRooms: [...new Set(newRooms)],
    newGroups: [...new Set(newGroups)],
    unknownColumns: csv.unknownColumns,
    faultCount: lines.filter(({ faults }) => faults.length > 0).length,
  };
}
