import { type ReadonlySignal, signal } from '@preact/signals';
import {
  createGroup,
  createRoom,
  listGroups,
  listRooms,
  type Room,
  setCustomData,
  updateRoom,
} from '../../../api.js';
import { ANY_TAG, type Failure, failureOf } from '../../../request.js';
import { type IssuedDevice, issueDevice, newDeviceId } from '../issued/issue-device.js';

interface ImportedLine {
  readonly name: string;
  /** Empty: in no room. */
  readonly room: string;
  /** The group of the room; empty if not named. */
  readonly group: string;
  /** A JSON object; empty: none. */
  readonly customData: string;
}

interface PendingLine extends ImportedLine {
  readonly id: string;
}

export interface ImportState {
  readonly isRunning: boolean;
  readonly issued: readonly IssuedDevice[];
  /** Lines that are not created yet. */
  readonly rest: readonly ImportedLine[];
  readonly roomsMade: readonly string[];
  /** Why it stopped, if the gateway refused something. */
  readonly failure: Failure | undefined;
}

/** The rooms and the ids of the groups of the home, by name. */
interface Places {
  readonly rooms: Map<string, Room>;
  readonly groups: Map<string, string>;
}

/**
 * Creates devices one after another, with the groups and rooms that they need.
 *
 * It stops at the first failure and can resume there: a device whose answer was lost is not created twice.
 */
export class ImportRun {
  readonly #locationId: string;
  readonly #groupId: string | null;
  readonly #state = signal<ImportState>({
    isRunning: false,
    issued: [],
    rest: [],
    roomsMade: [],
    failure: undefined,
  });
  readonly state: ReadonlySignal<ImportState> = this.#state;
  #pending: readonly PendingLine[];
  #isStopping = false;

  /** @param groupId for new rooms whose line names no group; null: in none */
  constructor(locationId: string, groupId: string | null, lines: readonly ImportedLine[]) {
    this.#locationId = locationId;
    this.#groupId = groupId;
    this.#pending = lines.map((line) => ({ ...line, id: newDeviceId() }));
    this.#show({ rest: this.#pending });
  }

  /** Creates what is not created yet. */
  async run(): Promise<void> {
    if (this.#state.peek().isRunning) return;
    this.#isStopping = false;
    this.#show({ isRunning: true, failure: undefined });
    try {
      await this.#makeAll();
    } catch (error) {
      this.#show({ failure: failureOf(error) });
    }
    this.#show({ isRunning: false });
  }

  /** Stops before the next device. */
  stop(): void {
    this.#isStopping = true;
  }

  async #makeAll(): Promise<void> {
    const locationId = this.#locationId;
    // Read again each time: an earlier run or someone else may have created some.
    const places = {
      rooms: new Map((await listRooms({ locationId })).map((room) => [room.name, room])),
      groups: new Map((await listGroups({ locationId })).map(({ name, id }) => [name, id])),
    };
    while (!this.#isStopping) {
      const [next] = this.#pending;
      if (next === undefined) return;
      const { id, name, customData } = next;
      const room = await this.#roomOf(next, places);
      const device = await issueDevice(locationId, { id, name, room });
      if (customData !== '') {
        await setCustomData({ locationId, deviceId: id }, customData, ANY_TAG);
      }
      this.#pending = this.#pending.slice(1);
      this.#show({ issued: [...this.#state.peek().issued, device], rest: this.#pending });
    }
  }

  /** Finds the line's room in its group, and creates what is missing. */
  async #roomOf({ room: name, group }: ImportedLine, places: Places): Promise<Room | undefined> {
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
    if (known === undefined) this.#show({ roomsMade: [...this.#state.peek().roomsMade, name] });
    return room;
  }

  #show(change: Partial<ImportState>): void {
    this.#state.value = { ...this.#state.peek(), ...change };
  }
}
