import { type ReadonlySignal, signal } from '@preact/signals';
import { type Failure, failureOf } from '../../api/failure.js';
import { createRoom, listRooms } from '../../api/generated.js';
import { type IssuedDevice, issueDevice, newDeviceId } from './issue-device.js';

interface ImportedLine {
  readonly name: string;
  /** Empty: in no room. */
  readonly room: string;
}

interface PendingLine extends ImportedLine {
  readonly id: string;
}

export interface ImportState {
  readonly isRunning: boolean;
  readonly issued: readonly IssuedDevice[];
  /** What is not made yet. */
  readonly rest: readonly ImportedLine[];
  readonly roomsMade: readonly string[];
  /** Why it stopped, where the gateway refused something. */
  readonly failure: Failure | undefined;
}

/**
 * Makes devices one after another, and the rooms that they need.
 *
 * It stops at the first failure and can go on from there: a device whose answer was lost is not made twice.
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

  /** @param groupId of rooms that are made; null: in none */
  constructor(locationId: string, groupId: string | null, lines: readonly ImportedLine[]) {
    this.#locationId = locationId;
    this.#groupId = groupId;
    this.#pending = lines.map((line) => ({ ...line, id: newDeviceId() }));
    this.#show({ rest: this.#pending });
  }

  /** Makes what is not made yet. */
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
    // Read anew each time: an earlier run, or somebody else, may have made rooms.
    const rooms = new Map((await listRooms({ locationId })).map((room) => [room.name, room]));
    while (!this.#isStopping) {
      const [next] = this.#pending;
      if (next === undefined) return;
      const { id, name } = next;
      let room = rooms.get(next.room);
      if (room === undefined && next.room !== '') {
        const newRoom = { name: next.room, groupId: this.#groupId };
        room = await createRoom({ locationId, newRoom });
        rooms.set(next.room, room);
        this.#show({ roomsMade: [...this.#state.peek().roomsMade, room.name] });
      }
      const device = await issueDevice(locationId, { id, name, room });
      this.#pending = this.#pending.slice(1);
      this.#show({ issued: [...this.#state.peek().issued, device], rest: this.#pending });
    }
  }

  #show(change: Partial<ImportState>): void {
    this.#state.value = { ...this.#state.peek(), ...change };
  }
}
