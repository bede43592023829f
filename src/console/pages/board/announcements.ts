import { type ReadonlySignal, signal } from '@preact/signals';
import type { OpenAlarm } from './open-alarm.js';

/** A screen reader that is constantly interrupted says nothing. */
const PAUSE_MS = 2_000;
/** This many are announced one by one; of more, only the number. */
const MAX_SAID = 3;

/** New alarms to announce together. */
interface Announcement {
  /** Distinguishes two announcements with the same text. */
  readonly number: number;
  readonly alarms: readonly OpenAlarm[];
  readonly more: number;
}

/** Gathers new alarms for the screen reader: the first immediately, those of a burst together. */
export class Announcements {
  readonly #current = signal<Announcement | undefined>(undefined);
  readonly current: ReadonlySignal<Announcement | undefined> = this.#current;
  #waiting: OpenAlarm[] = [];
  #more = 0;
  #number = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  add(alarm: OpenAlarm): void {
    if (this.#waiting.length < MAX_SAID) this.#waiting.push(alarm);
    else this.#more += 1;
    if (this.#timer === undefined) this.#say();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #say(): void {
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    this.#number += 1;
    this.#current.value = { number: this.#number, alarms: this.#waiting, more: this.#more };
    this.#waiting = [];
    this.#more = 0;
    this.#timer = setTimeout(() => this.#say(), PAUSE_MS);
  }
}
