import type { AlarmSound } from './alarm-sound.js';

/** While an alarm waits for someone, or the gateway is not connected. */
const REPEAT_MS = 20_000;
/** While someone may be lying on the floor. */
const REPEAT_URGENT_MS = 10_000;
/** A burst of alarms sounds once; an alarm at the end of an outage must not seem part of the outage's sound. */
const PAUSE_MS = 2_500;

/** The sound for the worst current condition. */
export type Ringing = 'urgent' | 'raised' | 'lost' | 'nothing';

/** Sounds immediately for a new condition, and repeats while it lasts. */
export class Bell {
  readonly #sound: AlarmSound;
  #ringing: Ringing = 'nothing';
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #rangAtMs = { urgent: Number.NEGATIVE_INFINITY, raised: Number.NEGATIVE_INFINITY };

  constructor(sound: AlarmSound) {
    this.#sound = sound;
  }

  /** Sets the condition to sound for from now on. */
  set(ringing: Ringing): void {
    if (ringing === this.#ringing) return;
    const begins = ringing === 'lost' || this.#ringing === 'nothing';
    this.#ringing = ringing;
    if (begins && ringing !== 'nothing') this.#ring();
  }

  /** Sounds for a new alarm; for a fall immediately, even if another alarm has just sounded. */
  newAlarm(urgency: 'urgent' | 'raised' | 'test'): void {
    if (urgency === 'test') {
      if (this.#ringing === 'nothing') this.#sound.testAlarm();
      return;
    }
    if (this.#ringing !== 'urgent') this.#ringing = urgency;
    const { urgent, raised } = this.#rangAtMs;
    const rangAtMs = urgency === 'urgent' ? urgent : Math.max(urgent, raised);
    if (performance.now() - rangAtMs >= PAUSE_MS) this.#ring();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#ringing = 'nothing';
  }

  #ring(): void {
    clearTimeout(this.#timer);
    const ringing = this.#ringing;
    const repeatMs = ringing === 'urgent' ? REPEAT_URGENT_MS : REPEAT_MS;
    this.#timer = setTimeout(() => this.#ring(), repeatMs);
    if (ringing === 'lost') this.#sound.lost();
    if (ringing === 'urgent') this.#sound.urgentAlarm();
    if (ringing === 'raised') this.#sound.alarm();
    if (ringing === 'urgent' || ringing === 'raised') this.#rangAtMs[ringing] = performance.now();
  }
}
