import { type Alarm, getAlarm, listAlarms, listLocationAlarms, type Named } from '../../api.js';
import { ALL_HOMES, type AlarmSearch, timeWithOffset } from './history-search.js';

/** An alarm as listed; of all homes, with its own. */
export type HistoryAlarm = Alarm & { readonly location?: Named };

/** One answer of the gateway. */
interface SearchedPage {
  readonly alarms: readonly HistoryAlarm[];
  readonly nextCursor: string | null;
}

/** The parameters of the gateway for a search. */
export function searchParameters(search: AlarmSearch) {
  const { roomId, deviceId, kinds, states, isWithoutTests, fromMs, toMs } = search;
  return {
    footage: 'list' as const,
    ...(roomId !== '' && { room: [roomId] }),
    ...(deviceId !== '' && { device: [deviceId] }),
    ...(kinds.length > 0 && { kinds: [...kinds] }),
    ...(states.length > 0 && { state: [...states] }),
    ...(isWithoutTests && { test: 'false' as const }),
    // The gateway's bounds are exclusive.
    ...(fromMs !== undefined && { after: timeWithOffset(fromMs - 1) }),
    ...(toMs !== undefined && { before: timeWithOffset(toMs) }),
  };
}

/** Reads one page. Addresses of recordings are created only when someone plays one. */
export async function readPage(
  search: AlarmSearch,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<SearchedPage> {
  const { locationId } = search;
  const parameters = { ...searchParameters(search), cursor };
  const { events, nextCursor } = await (locationId === ALL_HOMES
    ? listAlarms(parameters, { signal })
    : listLocationAlarms({ locationId }, parameters, { signal }));
  // An answer that has already arrived is parsed despite an abort.
  signal.throwIfAborted();
  return { alarms: events, nextCursor };
}

/** Creates addresses for the recordings of an alarm; they expire ten minutes later. */
export async function recordingUrls(
  locationId: string,
  alarm: { readonly id: string; readonly device: { readonly id: string } },
): Promise<Partial<Record<'video' | 'audio', string | null>>> {
  const { footage } = await getAlarm(
    { locationId, alarmId: alarm.id },
    { device: alarm.device.id },
  );
  return Array.isArray(footage) ? {} : footage;
}
