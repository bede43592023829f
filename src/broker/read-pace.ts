import { type IntakeShare, memoryOf } from './intake.js';
import type { ReadGate } from './read-gate.js';

/** How often it is looked at what the store has stored meanwhile. */
const LOOK_INTERVAL_MS = 100;
/** When it has stored nothing so many times in a row it is silent. */
const LOOKS_IN_SILENCE = 2;
/**
 * What a store that gets on stores of everybody in that time, at least: some 300 small publishes. With
 * less, what one device sends at once would keep its alarm waiting for too long.
 */
const MIN_STORED_BYTES = 300 * memoryOf(0);

/** What the store does about the publishes of a client that has sent more than it has stored. */
type StorePace = 'getting-on' | 'slow' | 'silent';

/**
 * How far a client is read that has much on its way to the store. While the store gets on, what it
 * sends stays with the client. While the store is slow or silent it is read all the same, so that an
 * alarm behind hundreds of others, or thousands of values, comes through (CONTRACT 4.4). Behind a
 * silent one, what is no alarm finds no room in the end and is not kept.
 */
export class ReadPace {
  readonly #share: IntakeShare;
  readonly #onRoom: () => void;
  #storePace: StorePace = 'getting-on';
  #looksInSilence = 0;
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
    if (isAlarm) return this.#share.hasRoomForAlarm;
    return this.#share.hasRoomForMessage(this.#storePace === 'silent');
  }

  /**
   * Something has come in: reads no further for now if there is no room for more.
   *
   * @param isAlarm whether it was one: then what comes next may well be another
   */
  check(gate: ReadGate, isAlarm: boolean): void {
    if (this.#isHeld || this.#share.hasRoom) return;
    this.#callOff ??= this.#share.whenThereIsRoom(() => this.#roomCame(gate));
    this.#timer ??= this.#lookLater(gate);
    if (this.#readsOnAfter(isAlarm)) return;
    this.#isHeld = true;
    gate.close();
  }

  /** The connection is gone. */
  end(): void {
    clearTimeout(this.#timer);
    this.#callOff?.();
  }

  /** Beyond the room for alarms nothing opens the gate but room. */
  #readsOnAfter(isAlarm: boolean): boolean {
    if (this.#storePace === 'getting-on') return false;
    if (this.#storePace === 'silent' || isAlarm) return this.#share.hasRoomForAlarm;
    return this.#share.hasRoomForMessage(true);
  }

  /** Goes on until the client has caught up: room alone may be the next hundred of a long burst. */
  #lookLater(gate: ReadGate): NodeJS.Timeout {
    const { storedBytes } = this.#share.intake;
    return setTimeout(() => {
      const stored = this.#share.intake.storedBytes - storedBytes;
      const hasCaughtUp = !this.#isHeld && this.#share.hasRoom;
      this.#looksInSilence = stored > 0 || hasCaughtUp ? 0 : this.#looksInSilence + 1;
      this.#storePace = hasCaughtUp ? 'getting-on' : this.#paceAt(stored);
      this.#timer = hasCaughtUp ? undefined : this.#lookLater(gate);
      if (this.#isHeld && this.#readsOnAfter(false)) this.#open(gate);
    }, LOOK_INTERVAL_MS);
  }

  #paceAt(storedBytes: number): StorePace {
    if (this.#looksInSilence >= LOOKS_IN_SILENCE) return 'silent';
    return storedBytes < MIN_STORED_BYTES ? 'slow' : 'getting-on';
  }

  #roomCame(gate: ReadGate): void {
    this.#callOff = undefined;
    if (this.#storePace === 'silent') this.#storePace = 'slow';
    this.#onRoom();
    if (this.#isHeld) this.#open(gate);
  }

  #open(gate: ReadGate): void {
    this.#isHeld = false;
    gate.open();
  }
}
