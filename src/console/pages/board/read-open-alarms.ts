import { type Location, listLocationAlarms, listLocations } from '../../api.js';
import { URGENT_KINDS } from './alarm-order.js';
import { alarmOfHistory } from './open-alarm.js';
import type { OpenAlarms, Reading } from './open-alarms.js';

const PAGE_SIZE = 100;
const MAX_PAGES = 10;
/** Requests at a time: a browser opens at most six connections, and one of them is the live feed. */
const MAX_AT_ONCE = 3;

/** The open alarms read for each location. */
interface OpenHistory {
  readonly locations: readonly Location[];
  readonly readings: readonly Reading[];
}

interface ReadOptions {
  readonly alarms: OpenAlarms;
  readonly location: Location;
  readonly signal: AbortSignal;
}

/**
 * Reads the open alarms of every location that the token may see into `alarms`, however old they are.
 *
 * @throws what the functions of `api.ts` throw
 */
export async function readOpenAlarms(
  alarms: OpenAlarms,
  signal: AbortSignal,
): Promise<OpenHistory> {
  const locations = await listLocations({ signal });
  const waiting = [...locations];
  const readings: Reading[] = [];
  const work = async () => {
    for (;;) {
      const location = waiting.shift();
      if (location === undefined) return;
      readings.push(await readLocation({ alarms, location, signal }));
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  return { locations, readings };
}

async function readLocation(options: ReadOptions): Promise<Reading> {
  const keys = new Set<string>();
  // Falls and help calls first: a thousand open alarms of other kinds must not hide one.
  const urgentFromMs = await readKinds(options, [...URGENT_KINDS], keys);
  const allFromMs = await readKinds(options, undefined, keys);
  const fromMs = Math.max(urgentFromMs, allFromMs);
  return { locationId: options.location.id, keys, fromMs, isCut: Number.isFinite(fromMs) };
}

/** @returns the time of detection after which all alarms were read */
async function readKinds(
  { alarms, location, signal }: ReadOptions,
  kinds: (typeof URGENT_KINDS)[number][] | undefined,
  keys: Set<string>,
): Promise<number> {
  let cursor: string | undefined;
  let oldestMs = Number.POSITIVE_INFINITY;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { events, nextCursor } = await listLocationAlarms(
      { locationId: location.id },
      {
        footage: 'list',
        state: ['raised', 'acknowledged'],
        order: 'desc',
        limit: PAGE_SIZE,
        kinds,
        cursor,
      },
      { signal },
    );
    for (const event of events) {
      const alarm = alarmOfHistory(event, location);
      oldestMs = alarm.detectedAtMs;
      if (!keys.has(alarm.key)) alarms.add(alarm);
      keys.add(alarm.key);
    }
    if (nextCursor === null) return Number.NEGATIVE_INFINITY;
    cursor = nextCursor;
  }
  return oldestMs;
}
