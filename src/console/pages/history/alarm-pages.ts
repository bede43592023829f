import { type LocationAlarm, listLocationAlarms } from '../../api/generated.js';
import { type AlarmSearch, timeWithOffset } from './history-search.js';

/** An alarm with when it was read: the URLs of its recordings end ten minutes later. */
export interface ReadAlarm {
  readonly alarm: LocationAlarm;
  readonly readAtMs: number;
}

/** One answer of the gateway, of which a search for a room keeps some. */
interface SearchedPage {
  readonly found: readonly ReadAlarm[];
  /** How many alarms the answer had. */
  readonly readCount: number;
  /** Detection of the oldest of them. */
  readonly oldestMs: number | undefined;
  readonly nextCursor: string | null;
}

/** The parameters of the gateway for a search; it has none for a room. */
export function searchParameters({ deviceId, kinds, states, fromMs, toMs }: AlarmSearch) {
  return {
    ...(deviceId !== '' && { device: deviceId }),
    ...(kinds.length > 0 && { kinds: [...kinds] }),
    ...(states.length > 0 && { state: [...states] }),
    // The gateway's bounds do not count themselves.
    ...(fromMs !== undefined && { after: timeWithOffset(fromMs - 1) }),
    ...(toMs !== undefined && { before: timeWithOffset(toMs) }),
  };
}

/** Reads page after page, the newest alarms first, for as long as there are any. */
export async function* readPages(
  search: AlarmSearch,
  cursor: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<SearchedPage> {
  const { locationId, roomId } = search;
  const parameters = searchParameters(search);
  for (let next = cursor; ; ) {
    const page = { ...parameters, locationId, ...(next !== undefined && { cursor: next }) };
    const { events, nextCursor } = await listLocationAlarms(page, { signal });
    // What is read of an answer that has arrived is not broken off.
    signal.throwIfAborted();
    const readAtMs = Date.now();
    const found = events
      .filter((alarm) => roomId === '' || alarm.roomId === roomId)
      .map((alarm) => ({ alarm, readAtMs }));
    const oldest = events.at(-1)?.detectedAt;
    const oldestMs = oldest === undefined ? undefined : Date.parse(oldest);
    yield { found, readCount: events.length, oldestMs, nextCursor };
    if (nextCursor === null) return;
    next = nextCursor;
  }
}

/** Reads one alarm again, for new URLs of its recordings; undefined when it is gone. */
export async function readAgain(
  locationId: string,
  { id, detectedAt, deviceId, kind }: LocationAlarm,
): Promise<LocationAlarm | undefined> {
  const atMs = Date.parse(detectedAt);
  const pages = readPages(
    {
      locationId,
      deviceId,
      kinds: [kind],
      states: [],
      roomId: '',
      fromMs: atMs,
      toMs: atMs + 1,
    },
    undefined,
    new AbortController().signal,
  );
  for await (const { found } of pages) {
    const same = found.find(({ alarm }) => alarm.id === id);
    if (same !== undefined) return same.alarm;
  }
  return undefined;
}
