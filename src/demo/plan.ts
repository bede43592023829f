import { ALARM_KINDS, type AlarmKind } from '../domain/alarms.js';

/** A source of numbers from 0 up to but not including 1. */
export type Random = () => number;

/** What happens next in the home. */
export interface PlannedAlarm<D> {
  readonly kind: AlarmKind;
  readonly device: D;
}

/** When the nurse-call system is away: from before which alarm, and for how many. */
export interface Absence {
  readonly from: number;
  readonly count: number;
}

const MIN_PAUSE_MS = 800;
const MAX_PAUSE_MS = 2000;
/** In a shorter run an absence would be most of it. */
const MIN_ALARMS_FOR_ABSENCE = 10;
const MISSED_ALARMS = 4;
const LATEST_ABSENCE = 8;

/** Alarms without end: in any eight each kind comes once, on one of the devices that detect it. */
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

/** In the middle of a run that is long enough, and soon enough to be seen in a very long one. */
export function planAbsence(alarms: number): Absence | undefined {
  if (alarms <= MIN_ALARMS_FOR_ABSENCE) return undefined;
  const middle = Math.floor((alarms - MISSED_ALARMS) / 2);
  return { from: Math.min(middle, LATEST_ABSENCE), count: MISSED_ALARMS };
}

/** How long nothing happens. */
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
