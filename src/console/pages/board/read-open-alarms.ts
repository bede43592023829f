import { type Location, listLocationAlarms, listLocations } from '../../api/generated.js';
import { alarmOfHistory } from './open-alarm.js';
import type { OpenAlarms, Reading } from './open-alarms.js';

const PAGE_SIZE = 100;
const MAX_PAGES = 10;
/** Requests at a time: a browser opens six connections at most, and one of them is the live feed. */
const MAX_AT_ONCE = 3;

/** The open alarms read for each location. */
interface OpenHistory {
  readonly locations: readonly Location[];
  readonly readings: readonly Reading[];
}

/**
 * Reads the open alarms of every location that the token may see into `alarms`, the newest first.
 *
 * @param fromMs of alarms detected after that
 * @throws what the API's client throws
 */
export async function readOpenAlarms(
  alarms: OpenAlarms,
  fromMs: number,
  signal: AbortSignal,
): Promise<OpenHistory> {
  const locations = await listLocations({ signal });
  const waiting = [...locations];
  const readings: Reading[] = [];
  const work = async () => {
    for (;;) {
      const location = waiting.shift();
      if (location === undefined) return;
      readings.push(await readLocation(alarms, location, fromMs, signal));
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  return { locations, readings };
}

async function readLocation(
  alarms: OpenAlarms,
  location: Location,
  fromMs: number,
  signal: AbortSignal,
): Promise<Reading> {
  const after = Number.isFinite(fromMs) ? new Date(fromMs).toISOString() : undefined;
  const keys = new Set<string>();
  let cursor: string | undefined;
  let oldestMs = Number.POSITIVE_INFINITY;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { events, nextCursor } = await listLocationAlarms(
      {
        ...{ locationId: location.id, state: ['raised', 'acknowledged'], order: 'desc' },
        ...{ limit: PAGE_SIZE, after, cursor },
      },
      { signal },
    );
    for (const event of events) {
      const alarm = alarmOfHistory(event, location);
      keys.add(alarm.key);
      oldestMs = alarm.detectedAtMs;
      alarms.add(alarm);
    }
    if (nextCursor === null) return { locationId: location.id, keys, fromMs, isCut: false };
    // What is older than all that can be held would only be read to be dropped.
    if (alarms.isFull && oldestMs <= alarms.oldestDetectedAtMs()) break;
    cursor = nextCursor;
  }
  return { locationId: location.id, keys, fromMs: oldestMs, isCut: true };
}
