import { compareAlarms } from './alarm-order.js';
import type { MadeEscalation, OpenAlarm, StateChange } from './open-alarm.js';

/** A board that stays open for months must not grow: beyond this, the last in order are only counted. */
const MAX_HELD = 1_000;
/** How many more may come before the last ones are dropped: finding them takes a while. */
const SLACK = 100;
/** An alarm may come after its states: from an older page of the history, or again from the log. */
const MAX_CHANGES = 2_000;

/** The result of reading a location's history. */
export interface Reading {
  readonly locationId: string;
  readonly keys: ReadonlySet<string>;
  /** All alarms detected after this were read. */
  readonly fromMs: number;
  /** Whether older ones exist that should have been read, too. */
  readonly isCut: boolean;
}

/** The unresolved alarms held in memory. */
export class OpenAlarms {
  readonly #alarms = new Map<string, OpenAlarm>();
  /** The newest change of each alarm. */
  readonly #changes = new Map<string, StateChange>();
  /** How many known open alarms are not held. */
  #notHeld = 0;
  #isHistoryCut = false;

  get notHeld(): number {
    return this.#notHeld;
  }

  /** Whether there may be more open alarms than are held and counted: the history was not read to its end. */
  get isHistoryCut(): boolean {
    return this.#isHistoryCut;
  }

  /** All held alarms, the most urgent first, and among equals the newest. */
  inOrder(): OpenAlarm[] {
    return [...this.#alarms.values()].sort(compareAlarms);
  }

  newestReceivedAtMs(): number {
    let newest = Number.NEGATIVE_INFINITY;
    for (const { receivedAtMs } of this.#alarms.values()) newest = Math.max(newest, receivedAtMs);
    return newest;
  }

  /** @returns whether it is new */
  add(alarm: OpenAlarm): boolean {
    const change = this.#changes.get(alarm.key);
    if (change?.state === 'resolved') return false;
    const held = this.#alarms.get(alarm.key);
    const known = change === undefined ? alarm : acknowledged(alarm, change);
    // The live copy and the stored alarm are the same, and an acknowledged alarm stays acknowledged.
    this.#alarms.set(alarm.key, held === undefined ? known : merged(held, known));
    if (this.#alarms.size > MAX_HELD + SLACK) this.#dropLast();
    return held === undefined;
  }

  /** Treats an alarm from the history as if it had just arrived. */
  missed(alarm: OpenAlarm, nowMs: number): void {
    this.#alarms.set(alarm.key, { ...alarm, knownAtMs: Math.max(nowMs, alarm.receivedAtMs) });
  }

  /** @returns whether that changes what is shown */
  change(change: StateChange): boolean {
    const { key, state } = change;
    // It arrives twice: in the answer to the change, and from the stream.
    if (this.#changes.get(key)?.state === 'resolved') return false;
    const held = this.#alarms.get(key);
    this.#remember(change);
    if (state === 'resolved') {
      if (held === undefined) this.#notHeld = Math.max(0, this.#notHeld - 1);
      return this.#alarms.delete(key);
    }
    if (held === undefined || held.acknowledged !== undefined) return false;
    this.#alarms.set(key, acknowledged(held, change));
    return true;
  }

  /** @returns whether that changes what is shown */
  escalated({ key, name }: MadeEscalation): boolean {
    const held = this.#alarms.get(key);
    if (held === undefined || held.escalations.includes(name)) return false;
    this.#alarms.set(key, { ...held, escalations: [...held.escalations, name] });
    return true;
  }

  keys(): ReadonlySet<string> {
    return new Set(this.#alarms.keys());
  }

  /** Restarts the count of alarms that are not held; `endReading` follows. */
  beginReading(): void {
    this.#notHeld = 0;
  }

  /**
   * Drops alarms that are no longer open in the history, and those in locations that were not read.
   *
   * Keeps alarms that are not recorded yet: they are in no history.
   *
   * @param before the keys held when the reading began: later alarms may be missing from it
   */
  endReading(before: ReadonlySet<string>, readings: readonly Reading[]): void {
    const byLocation = new Map(readings.map((reading) => [reading.locationId, reading]));
    for (const [key, { location, detectedAtMs, isRecorded }] of this.#alarms) {
      if (!before.has(key) || !isRecorded) continue;
      const reading = byLocation.get(location.id);
      const wasCovered = reading === undefined || detectedAtMs > reading.fromMs;
      if (wasCovered && reading?.keys.has(key) !== true) this.#alarms.delete(key);
    }
    this.#isHistoryCut = readings.some(({ isCut }) => isCut);
  }

  #dropLast(): void {
    for (const { key } of this.inOrder().slice(MAX_HELD)) {
      this.#alarms.delete(key);
      this.#notHeld += 1;
    }
  }

  #remember(change: StateChange): void {
    // Moves it behind those of other alarms: it is the newest.
    this.#changes.delete(change.key);
    this.#changes.set(change.key, change);
    if (this.#changes.size <= MAX_CHANGES) return;
    const [oldest] = this.#changes.keys();
    if (oldest !== undefined) this.#changes.delete(oldest);
  }
}

function acknowledged(alarm: OpenAlarm, { by, at, note }: StateChange): OpenAlarm {
  return { ...alarm, state: 'acknowledged', acknowledged: { by, at }, note: note ?? alarm.note };
}

function merged(held: OpenAlarm, again: OpenAlarm): OpenAlarm {
  const isLive = held.isLive || again.isLive;
  const isLate = held.isLate || again.isLate;
  const isRecorded = held.isRecorded || again.isRecorded;
  const { state, acknowledged, note } = held.state === 'acknowledged' ? held : again;
  const { knownAtMs } = held;
  const escalations = [...new Set([...held.escalations, ...again.escalations])];
  const kept = { isLive, isLate, isRecorded, knownAtMs, escalations };
  return { ...again, ...kept, state, acknowledged, note };
}
