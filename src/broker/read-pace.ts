import type { IntakeShare } from './intake.js';
import type { ReadGate } from './read-gate.js';

/** When the store has stored nothing of anybody for so long, it counts as silent. */
const SILENT_AFTER_MS = 200;

/**
 * How far a client is read that has much on its way to the store. While the store gets on, what it sends
 * stays with the client. While the store is silent it is read all the same, so that an alarm behind
 * thousands of values comes through (CONTRACT 4.4); what is no alarm then finds no room and is not kept.
 */
export class ReadPace {
  readonly #share: IntakeShare;
  readonly #onRoom: () => void;
  #isSilent = false;
  #isHeld = false;
  #timer: NodeJS.Timeout | undefined;
  #callOff: (() => void) | undefined;

  /** @param onRoom called when there is room again, after there was none */
  constructor(share: IntakeShare, onRoom: () => void) {
    this.#share = share;
    this.#onRoom = onRoom;
  }

  /** Whether one more publish can be kept until it is stored. */
  keeps(isAlarm: boolean): boolean {
    return isAlarm ? this.#share.hasRoomForAlarm : this.#share.hasRoomForMessage(this.#isSilent);
  }

  /** Something has come in: reads no further for now if there is no room for more. */
  check(gate: ReadGate): void {
    if (this.#isHeld || this.#share.hasRoom) return;
    this.#callOff ??= this.#share.whenThereIsRoom(() => this.#roomCame(gate));
    if (this.#isSilent && this.#share.hasRoomForAlarm) return;
    this.#isHeld = true;
    gate.close();
    this.#watch(gate);
  }

  /** The connection is gone. */
  end(): void {
    clearTimeout(this.#timer);
    this.#callOff?.();
  }

  /** Beyond the room for alarms nothing opens the gate but room. */
  #watch(gate: ReadGate): void {
    const { storedCount } = this.#share.intake;
    this.#timer = setTimeout(() => {
      this.#isSilent = this.#share.intake.storedCount === storedCount;
      if (this.#isSilent && this.#share.hasRoomForAlarm) this.#open(gate);
      else this.#watch(gate);
    }, SILENT_AFTER_MS);
  }

  #roomCame(gate: ReadGate): void {
    clearTimeout(this.#timer);
    this.#callOff = undefined;
    this.#isSilent = false;
    this.#onRoom();
    this.#open(gate);
  }

  #open(gate: ReadGate): void {
    this.#isHeld = false;
    gate.open();
  }
}
