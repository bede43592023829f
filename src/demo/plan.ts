import { ALARM_KINDS, type AlarmKind } from '../domain/alarms.js';

/** A source of numbers from 0 up to, but not including, 1. */
export type Random = () => number;

/** The next alarm in the home. */
export interface PlannedAlarm<D> {
  readonly kind: AlarmKind;
  readonly device: D;
}

/** An absence of the nurse-call system: its first alarm, and the number of alarms. */
export interface Absence {
  readonly from: number;
  readonly count: number;
}

const MIN_PAUSE_MS = 800;
const MAX_PAUSE_MS = 2000;
/** An absence would be most of a shorter run. */
const MIN_ALARMS_FOR_ABSENCE = 10;
const MISSED_ALARMS = 4;
const LATEST_ABSENCE = 8;

/** Plans endless alarms: each eight have every kind once, on a device that detects it. */
export function* planAlarms<D extends { readonly kinds: readonly AlarmKind[] }>(
  devices: readonly D[],
  random: Random,
): Generator<PlannedAlarm<D>, never> {
  for (;;) {
    for (const kind of shuffled(ALARM_KINDS, random)) {
      const device = pick(
        devices.filter(({ kinds }) => kinds.includes(kind)),
        random,
      );
      if (device !== undefined) yield { kind, device };
    }
  }
}

/** Plans an absence for the middle of a long enough run, and early in a very long one. */
export function planAbsence(alarms: number): Absence | undefined {
  if (alarms <= MIN_ALARMS_FOR_ABSENCE) return undefined;
  const middle = Math.floor((alarms - MISSED_ALARMS) / 2);
  return { from: Math.min(middle, LATEST_ABSENCE), count: MISSED_ALARMS };
}

/** The time between two alarms. */
export function pauseMs(random: Random): number {
  return between(MIN_PAUSE_MS, MAX_PAUSE_MS, random);
}

/** A number in the range. */
export function between(low: number, high: number, random: Random): number {
  return low + random() * (high - low);
}

/** One of the items; undefined when there is none. */
export function pick<T>(items: readonly T[], random: Random): T | undefined {
  return items[Math.floor(random() * items.length)];
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
