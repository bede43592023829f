/**
 * The unresolved alarms of all homes that the token may see, while it is signed in: from the history once the live feed
 * is open, then from the live feed. The board and the line above the other pages show them.
 */

import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import { type Location, listAlarms, listLocations } from '../api.js';
import type { Kind } from '../kinds.js';
import { type LiveMessage, live } from '../live.js';
import { type Failure, failureOf, recordOf } from '../request.js';
import {
  alarmOfHistory,
  alarmOfMessage,
  compareAlarms,
  keyOf,
  merged,
  type OpenAlarm,
  type Step,
  sortOf,
  stepOfMessage,
  URGENT_KINDS,
  withStep,
} from './alarm.js';

/** A board that stays open for months must not grow: beyond this, alarms are dropped. */
const MAX_HELD = 1_000;
/** Of equal alarms of one device, these stay before those of others go. */
const KEPT_OF_EQUAL = 20;
/** How many more may come before the last ones are dropped: finding them takes a while. */
const SLACK = 100;
/** An alarm may come after its steps: from an older page of the history, or again from the log. */
const MAX_STEPS = 2_000;
const PAGE_SIZE = 100;
const MAX_PAGES = 10;
const READ_AGAIN_MS = 3_000;
/** No message reports that a home was renamed or deleted. */
const READ_HOMES_MS = 5 * 60_000;
/** A timer instead of frames: a hidden tab has none, but its title still counts. */
const DRAW_EVERY_MS = 200;
/** The next drawing waits this many times as long as the last one took, so that a slow tablet stays usable. */
const PAUSE_FACTOR = 4;

type Timer = ReturnType<typeof setTimeout> | undefined;

export class OpenAlarms {
  /** The most urgent first, drawn a few times a second at most. */
  readonly shown = signal<readonly OpenAlarm[]>([]);
  readonly homes = signal<readonly Location[]>([]);
  /** Whether more are open than are held. */
  readonly isCut = signal(false);
  /** Whether the history has been read since alarms were last missed: before that, no alarms means nothing. */
  readonly isRead = signal(false);
  readonly failure = signal<Failure | undefined>(undefined);
  readonly #alarms = new Map<string, OpenAlarm>();
  /** The newest step of each alarm. */
  readonly #steps = new Map<string, Step>();
  /** Homes of alarms that were missing from the list of homes and have been read for. */
  readonly #unknownHomes = new Set<string>();
  readonly #onNew = new Set<(alarm: OpenAlarm) => void>();
  #mustRead = true;
  /** Receipt of the newest alarm held when the history had to be read: newer ones in the history were missed. */
  #newestMs = Number.POSITIVE_INFINITY;
  #reading: AbortController | undefined;
  #homesReading: Promise<Location[] | undefined> | undefined;
  #readTimer: Timer;
  #drawTimer: Timer;
  #drawnAtMs = 0;
  #drawingTookMs = 0;

  /** Reads and follows until the function that it returns is called, which forgets all. */
  start(): () => void {
    const ends = [
      live.listen({
        message: (message) => this.received(message),
        missed: () => {
          this.isRead.value = false;
          this.readAgain();
        },
      }),
      // Only once the live feed is open: otherwise alarms in between would be in neither.
      effect(() => {
        if (live.state.value === 'connected' && this.#mustRead) void this.#read();
      }),
    ];
    const homesTimer = setInterval(() => void this.#readHomes(), READ_HOMES_MS);
    return () => {
      for (const end of ends) end();
      for (const timer of [homesTimer, this.#readTimer, this.#drawTimer]) clearTimeout(timer);
      this.#forget();
    };
  }

  /** Calls back at once for each new alarm, even in a hidden tab. @returns a function that ends this */
  onNew(listener: (alarm: OpenAlarm) => void): () => void {
    this.#onNew.add(listener);
    return () => this.#onNew.delete(listener);
  }

  /** Reads the history again as soon as the gateway is connected. */
  readAgain(): void {
    if (!this.#mustRead) {
      const received = [...this.#alarms.values()].map(({ receivedAtMs }) => receivedAtMs);
      this.#newestMs = Math.max(Number.NEGATIVE_INFINITY, ...received);
    }
    this.#mustRead = true;
    if (live.state.peek() === 'connected') void this.#read();
  }

  /** Takes a step of an alarm; it comes twice, in the answer to the request and from the stream. */
  step(step: Step): void {
    const { key, state } = step;
    if (this.#steps.get(key)?.state === 'resolved') return;
    // Moves it behind those of other alarms: it is the newest.
    this.#steps.delete(key);
    this.#steps.set(key, step);
    const [oldest = ''] = this.#steps.keys();
    if (this.#steps.size > MAX_STEPS) this.#steps.delete(oldest);
    const held = this.#alarms.get(key);
    if (held === undefined) return;
    if (state === 'acknowledged') this.#alarms.set(key, withStep(held, step));
    else {
      this.#alarms.delete(key);
      if (this.isCut.peek() && this.#alarms.size < MAX_HELD / 2) this.readAgain();
    }
    this.#draw();
  }

  #forget(): void {
    this.#reading?.abort();
    this.#drawTimer = undefined;
    this.#homesReading = undefined;
    this.#mustRead = true;
    this.#newestMs = Number.POSITIVE_INFINITY;
    for (const kept of [this.#alarms, this.#steps, this.#unknownHomes]) kept.clear();
    this.shown.value = [];
    this.homes.value = [];
    this.isCut.value = false;
    this.isRead.value = false;
    this.failure.value = undefined;
  }

  /** Takes a message of the live feed, if it is of an alarm. */
  received(message: LiveMessage): void {
    const alarm = alarmOfMessage(message, live.clock.now());
    if (alarm !== undefined) {
      this.#readUnknownHome(alarm.location.id);
      if (this.#add(alarm)) this.#tell(alarm);
      this.#draw();
    }
    const step = stepOfMessage(message);
    if (step !== undefined) this.step(step);
    if (sortOf(message.topic) === 'escalations') this.#escalated(message.payload);
  }

  #tell(alarm: OpenAlarm): void {
    for (const listener of this.#onNew) listener(alarm);
  }

  /** @returns whether it is new */
  #add(alarm: OpenAlarm): boolean {
    const step = this.#steps.get(alarm.key);
    if (step?.state === 'resolved') return false;
    const held = this.#alarms.get(alarm.key);
    const known = step === undefined ? alarm : withStep(alarm, step);
    this.#alarms.set(alarm.key, held === undefined ? known : merged(held, known));
    if (this.#alarms.size > MAX_HELD + SLACK) this.#dropLast();
    return held === undefined;
  }

  /** A chattering sensor loses its oldest alarms before another loses its only one. */
  #dropLast(): void {
    const counts = new Map<string, number>();
    const isOfMany = ({ device, kind, state }: OpenAlarm) => {
      const equal = `${device.id} ${kind} ${state}`;
      const count = (counts.get(equal) ?? 0) + 1;
      counts.set(equal, count);
      return count > KEPT_OF_EQUAL;
    };
    const ranked = this.#inOrder().map((alarm) => ({ alarm, rank: isOfMany(alarm) ? 1 : 0 }));
    ranked.sort((one, other) => one.rank - other.rank);
    for (const { alarm } of ranked.slice(MAX_HELD)) this.#alarms.delete(alarm.key);
    this.isCut.value = true;
  }

  #escalated(payload: LiveMessage['payload']): void {
    const key = keyOf(payload);
    const { name } = recordOf(payload['escalation']);
    const held = key === undefined ? undefined : this.#alarms.get(key);
    if (held === undefined || typeof name !== 'string') return;
    const escalations = [...new Set([...held.escalations, name])];
    this.#alarms.set(held.key, { ...held, escalations });
    this.#draw();
  }

  /** Reads again for a home created since the last time; only once, as it may not be among those read. */
  #readUnknownHome(locationId: string): void {
    const isKnown = this.homes.peek().some(({ id }) => id === locationId);
    if (isKnown || this.#mustRead || this.#unknownHomes.has(locationId)) return;
    this.#unknownHomes.add(locationId);
    this.readAgain();
  }

  /** Reads the homes again if the device is in none of them: it is new, or was moved. */
  readHomeOf(locationId: string, deviceId: string): void {
    const home = this.homes.peek().find(({ id }) => id === locationId);
    if (home !== undefined && !home.devices.includes(deviceId)) void this.#readHomes();
  }

  /** Reads the names of the homes; if one is gone, reads the alarms again to drop its own. */
  async #readHomes(): Promise<void> {
    if (this.#homesReading !== undefined) return;
    // The banner shows that the gateway does not answer; the timer tries again.
    const reading = listLocations().catch(() => undefined);
    this.#homesReading = reading;
    const homes = await reading;
    // Those of the token before.
    if (this.#homesReading !== reading) return;
    this.#homesReading = undefined;
    if (homes === undefined || this.#mustRead) return;
    const isThere = ({ id }: Location) => homes.some((one) => one.id === id);
    if (this.homes.peek().every(isThere)) this.homes.value = homes;
    else this.readAgain();
  }

  async #read(): Promise<void> {
    this.#reading?.abort();
    clearTimeout(this.#readTimer);
    const reading = new AbortController();
    this.#reading = reading;
    const { signal } = reading;
    const before = new Set(this.#alarms.keys());
    const read = new Set<string>();
    try {
      const homes = await listLocations({ signal });
      // Falls and help calls first: a thousand open alarms of other kinds must not hide one.
      const urgentFromMs = await this.#readKinds(URGENT_KINDS, read, signal);
      const allFromMs = await this.#readKinds(undefined, read, signal);
      signal.throwIfAborted();
      this.#mustRead = false;
      this.#dropClosed(homes, before, read, Math.max(urgentFromMs, allFromMs));
      this.#tellMissed();
      this.isCut.value = allFromMs > Number.NEGATIVE_INFINITY;
      this.homes.value = homes;
      this.failure.value = undefined;
      this.isRead.value = true;
      this.#show();
    } catch (error) {
      if (signal.aborted) return;
      this.failure.value = failureOf(error);
      this.#show();
      this.#readTimer = setTimeout(() => this.readAgain(), READ_AGAIN_MS);
    }
  }

  /** @returns the time of detection after which all alarms were read */
  async #readKinds(
    kinds: readonly Kind[] | undefined,
    read: Set<string>,
    signal: AbortSignal,
  ): Promise<number> {
    let cursor: string | undefined;
    let oldestMs = Number.POSITIVE_INFINITY;
    const open = { state: ['raised', 'acknowledged'], order: 'desc', footage: 'list' } as const;
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = { ...open, limit: PAGE_SIZE, kinds, cursor };
      const { events, nextCursor } = await listAlarms(query, { signal });
      for (const event of events) {
        const alarm = alarmOfHistory(event, event.location);
        oldestMs = alarm.detectedAtMs;
        if (!read.has(alarm.key)) this.#add(alarm);
        read.add(alarm.key);
      }
      if (nextCursor === null) return Number.NEGATIVE_INFINITY;
      cursor = nextCursor;
    }
    return oldestMs;
  }

  /**
   * Drops alarms that are no longer open in the history, and those of homes that are gone.
   *
   * Keeps alarms that are not recorded yet: they are in no history.
   *
   * @param before the keys held when the reading began: later alarms may be missing from it
   * @param fromMs all alarms detected after this were read
   */
  #dropClosed(
    homes: readonly Location[],
    before: ReadonlySet<string>,
    read: ReadonlySet<string>,
    fromMs: number,
  ): void {
    const there = new Set(homes.map(({ id }) => id));
    for (const [key, { location, detectedAtMs, isRecorded }] of this.#alarms) {
      if (!before.has(key) || !isRecorded) continue;
      const isClosed = detectedAtMs > fromMs && !read.has(key);
      if (isClosed || !there.has(location.id)) this.#alarms.delete(key);
    }
  }

  /** Announces alarms that arrived while no one was listening, as if they came now. */
  #tellMissed(): void {
    for (const alarm of this.#inOrder()) {
      if (alarm.receivedAtMs <= this.#newestMs || alarm.isLive) continue;
      const knownAtMs = Math.max(live.clock.now(), alarm.receivedAtMs);
      this.#alarms.set(alarm.key, { ...alarm, knownAtMs });
      this.#tell(alarm);
    }
  }

  #inOrder(): OpenAlarm[] {
    return [...this.#alarms.values()].sort(compareAlarms);
  }

  #draw(): void {
    if (this.#drawTimer !== undefined) return;
    const pauseMs = Math.max(DRAW_EVERY_MS, PAUSE_FACTOR * this.#drawingTookMs);
    const waitMs = Math.max(0, this.#drawnAtMs + pauseMs - performance.now());
    this.#drawTimer = setTimeout(() => this.#show(), waitMs);
  }

  #show(): void {
    clearTimeout(this.#drawTimer);
    this.#drawTimer = undefined;
    this.#drawnAtMs = performance.now();
    this.shown.value = this.#inOrder();
    // Runs after the drawing, which takes its own turn.
    setTimeout(() => {
      this.#drawingTookMs = performance.now() - this.#drawnAtMs;
    });
  }
}

export const openAlarms = new OpenAlarms();

const chosen = signal<string | undefined>(undefined);

/** The only home that the board shows; undefined: all, also once the chosen home is deleted. */
export const chosenHomeId: ReadonlySignal<string | undefined> = computed(
  () => openAlarms.homes.value.find(({ id }) => id === chosen.value)?.id,
);

export function chooseHome(homeId: string | undefined): void {
  chosen.value = homeId;
}
