import type { Room } from '../../api/generated.js';
import type { CsvFault, DeviceCsv, DeviceLine } from './device-csv.js';
import type { Home } from './home-data.js';

/** A line of the file, against the home that it is for. */
export interface PlannedLine extends Omit<DeviceLine, 'faults'> {
  readonly faults: readonly (CsvFault | 'room-ambiguous')[];
  readonly isRoomNew: boolean;
  /** Whether the home has a device of this name in this room: the file may be imported already. */
  readonly isExisting: boolean;
}

export interface ImportPlan {
  readonly lines: readonly PlannedLine[];
  readonly newRooms: readonly string[];
  readonly faultCount: number;
}

/** What an import would make, before anything is made. */
export function importPlan(csv: DeviceCsv, home: Home): ImportPlan {
  const roomsByName = new Map<string, Room[]>();
  for (const room of home.rooms) {
    roomsByName.set(room.name, [...(roomsByName.get(room.name) ?? []), room]);
  }
  const existing = new Set(home.devices.map(({ name, roomId }) => JSON.stringify([name, roomId])));
  const lines = csv.lines.map((line): PlannedLine => {
    const rooms = roomsByName.get(line.room) ?? [];
    const isAmbiguous = rooms.length > 1;
    const isRoomNew = line.room !== '' && rooms.length === 0;
    return {
      ...line,
      faults: isAmbiguous ? [...line.faults, 'room-ambiguous'] : line.faults,
      isRoomNew,
      isExisting: !isRoomNew && existing.has(JSON.stringify([line.name, rooms[0]?.id ?? null])),
    };
  });
  const newRooms = lines.filter(({ isRoomNew }) => isRoomNew).map(({ room }) => room);
  const faultCount = lines.filter(({ faults }) => faults.length > 0).length;
  return { lines, newRooms: [...new Set(newRooms)], faultCount };
}
