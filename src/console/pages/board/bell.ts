import type { AlarmSound } from './alarm-sound.js';

/** While an alarm waits for somebody, or the gateway is not reached. */
const REPEAT_MS = 20_000;
/** A burst of alarms is heard as one; an alarm that ends an outage is not taken for a part of its sound. */
const PAUSE_MS = 2_500;

/** The sound for the worst condition at present. */
type Ringing = 'alarm' | 'lost' | 'nothing';

/** Sounds at once for what is new, and again for as long as it lasts. */
export class Bell {
  readonly #sound: AlarmSound;
  #ringing: Ringing = 'nothing';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #alarmRangAtMs = Number.NEGATIVE_INFINITY;

  constructor(sound: AlarmSound) {
    this.#sound = sound;
  }

  /** Says what there is to hear from now on. */
  set(ringing: Ringing): void {
    if (ringing === this.#ringing) return;
    const begins = ringing === 'lost' || this.#ringing === 'nothing';
    this.#ringing = ringing;
    if (begins && ringing !== 'nothing') this.#ring();
  }

  /** Sounds for a new alarm. */
  newAlarm(): void {
    this.#ringing = 'alarm';
    if (performance.now() - this.#alarmRangAtMs >= PAUSE_MS) this.#ring();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#ringing = 'nothing';
  }

  #ring(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ring(), REPEAT_MS);
    if (this.#ringing === 'lost') {
      this.#sound.lost();
    } else if (this.#ringing === 'alarm') {
      this.#alarmRangAtMs = performance.now();
      this.#sound.alarm();
    }
  }
}
