import type { Context } from 'hono';
import { FOOTAGE_TYPES } from '../../domain/alarm.js';
import { ALARM_STATES } from '../../domain/alarm-state.js';
import { permittedGroups } from '../../domain/grants.js';
import type { AlarmFilter, AlarmRecord, AlarmScope } from '../../site/alarms/alarm-history.js';
import type { FootageUrls } from '../../site/footage.js';
import type { RouteServices } from '../dependencies.js';
import { callerOf, type HttpEnv } from '../http-env.js';
import type {
  AlarmFilterParameters,
  AlarmQueryParameters,
  ShownFootage,
} from '../schemas/alarm.js';
import { urlReceiver } from '../server/public-url.js';

/** An alarm with its recordings. */
export interface ShownAlarm<Shown = ShownFootage> {
  readonly record: AlarmRecord;
  readonly footage: Shown;
}

export interface AlarmPage<Shown = ShownFootage> {
  readonly nextCursor: string | null;
  readonly alarms: readonly ShownAlarm<Shown>[];
}

/** The alarms of one device, of one location, or of all locations. */
export type AlarmListing = 'device' | 'location' | 'all';

/** Adds to each alarm what to show of its recordings. */
export type ShowFootage<Shown> = (alarms: readonly AlarmRecord[]) => Promise<ShownAlarm<Shown>[]>;

const NO_FOOTAGE: FootageUrls = { video: null, audio: null };

/**
 * Reads a page of the alarms that the caller's grants cover, by the group at the time of the alarm.
 *
 * @param locationIds the locations of the listing
 * @param listing whose cursors work for it alone
 */
export async function readAlarmPage<Shown>(
  { history, cursors }: Pick<RouteServices, 'history' | 'cursors'>,
  c: Context<HttpEnv>,
  locationIds: readonly string[],
  parameters: AlarmQueryParameters,
  show: ShowFootage<Shown>,
  listing: AlarmListing,
): Promise<AlarmPage<Shown>> {
  const { cursor, limit, order, before: beforeMs, after: afterMs, group: groupIds } = parameters;
  const filter = alarmFilter(c, locationIds, parameters);
  const { deviceIds, roomIds, kinds, states } = filter;
  const bounds = { beforeMs, afterMs, order };
  const locationId = listing === 'all' ? undefined : locationIds[0];
  const { test } = parameters;
  const filters = { deviceIds, roomIds, test, kinds, states, ...bounds };
  const scope = { ...filters, listing, locationId, groupIds };
  const start = cursor === undefined ? undefined : cursors.decode(cursor, scope);
  const { alarms, next, upToSequence } = await history.page({
    ...filter,
    ...bounds,
    limit,
    upToSequence: start?.upToSequence,
    position: start && { detectedAtMs: start.timeMs, sequence: start.sequence },
  });
  const position = next && { timeMs: next.detectedAtMs, sequence: next.sequence, upToSequence };
  return {
    nextCursor: position === undefined ? null : cursors.encode(position, scope),
    alarms: await show(alarms),
  };
}

/** Selects the alarms that match the parameters of a request and that its caller may see. */
export function alarmFilter(
  c: Context<HttpEnv>,
  locationIds: readonly string[],
  parameters: AlarmFilterParameters,
): AlarmFilter {
  const { kinds, state, device: deviceIds, room: roomIds, group: groupIds, test } = parameters;
  return {
    scopes: locationIds.map((id) => scopeOf(c, id, groupIds)),
    kinds,
    deviceIds,
    roomIds,
    states: state.length === ALARM_STATES.length ? undefined : state,
    isTest: test === undefined ? undefined : test === 'true',
    isAwaited: () => !c.env.outgoing.closed,
  };
}

/** Shows signed URLs, after the audit trail has recorded them. */
export function signedFootage(
  { footage, publicUrl }: Pick<RouteServices, 'footage' | 'publicUrl'>,
  c: Context<HttpEnv>,
): ShowFootage<FootageUrls> {
  return async (alarms) => {
    const urls = await footage.links(alarms, urlReceiver(c, publicUrl));
    return alarms.map((record, index) => ({ record, footage: urls[index] ?? NO_FOOTAGE }));
  };
}

/** Shows which recordings exist if `footage=list` asks for that; otherwise signed URLs. */
export function footageAsAsked(
  services: Pick<RouteServices, 'footage' | 'publicUrl'>,
  c: Context<HttpEnv>,
  asked: 'list' | undefined,
): ShowFootage<ShownFootage> {
  if (asked === undefined) return signedFootage(services, c);
  return async (alarms) =>
    alarms.map((record) => ({
      record,
      footage: FOOTAGE_TYPES.filter((type) => record.footage[type] !== undefined),
    }));
}

/** The part of the location that the caller asks for and may see. */
export function scopeOf(
  c: Context<HttpEnv>,
  locationId: string,
  wanted: readonly string[] | undefined = undefined,
): AlarmScope {
  const permitted = permittedGroups(callerOf(c).grants, 'viewer', locationId);
  if (permitted === undefined) return { locationId, groupIds: wanted };
  return { locationId, groupIds: permitted.filter((id) => wanted?.includes(id) !== false) };
}
