/** The alarm history: listings of a device, of a location and of all, one alarm, and numbers of alarms. */

import { z } from 'zod';
import { ALARM_KINDS, FOOTAGE_TYPES } from '../../domain/alarm.js';
import { ALARM_STATES } from '../../domain/alarm-state.js';
import { CALENDAR_UNITS, calendarBounds } from '../../domain/calendar.js';
import { permittedGroups, touchesLocation } from '../../domain/grants.js';
import { formatTime } from '../../domain/time.js';
import { GatewayError } from '../../errors.js';
import type { FootageUrls } from '../../site/footage.js';
import type { AlarmFilter, AlarmRecord, AlarmScope } from '../../store/history/alarm-history.js';
import { JSON_MEDIA_TYPE } from '../body.js';
import { type Caller, noGrant } from '../caller.js';
import { PageCursors } from '../cursors.js';
import {
  after,
  before,
  choice,
  csvForm,
  cursor,
  ids,
  limit,
  oneOf,
  order,
  parameter,
  time,
  timeZone,
  uuid,
} from '../fields.js';
import type { HttpContext } from '../frame.js';
import { csvContent, csvResponse, type Page, wantsCsv } from '../listing.js';
import { invalidRequest } from '../problem.js';
import { anyToken, type Rights } from '../rights.js';
import { get, json, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';
import {
  ALARM_COLUMNS,
  AlarmPage,
  AlarmsPage,
  alarmView,
  LocationAlarm,
  LocationAlarmPage,
  PLACED_ALARM_COLUMNS,
  placedAlarmText,
  type ShownAlarm,
  type ShownFootage,
} from './alarm-views.js';

const selection = {
  kinds: choice(ALARM_KINDS, ['fall', 'helpCall']),
  state: choice(ALARM_STATES, ['raised', 'acknowledged']),
};

const places = {
  device: ids(
    'Only alarms of these devices, which may have been deleted or have moved away since.',
  ),
  room: ids('Only alarms that happened in one of these rooms.'),
  group: ids('Only alarms that happened in one of these groups.'),
  test: oneOf(['true', 'false'])
    .optional()
    .meta({ description: 'Only tests and drills, or none of them.' }),
};

const footage = oneOf(['list']).optional().meta({
  description:
    'With `list`, `footage` is the list of what exists. Nothing is signed, and nothing is written into the audit trail.',
});

/** The parameter of everything about one alarm. */
export const device = parameter.pipe(uuid).optional().meta({
  type: 'string',
  format: 'uuid',
  description: 'The device of the alarm, should several use the id.',
});

export const DeviceQuery = z.strictObject({
  before: before('Only alarms detected before this time.'),
  after: after('Only alarms detected after this time.'),
  order,
  limit,
  ...selection,
  cursor,
});
export const PlacedQuery = DeviceQuery.extend({ ...csvForm, ...places, footage });

const MAX_BUCKETS = 1000;
const HOUR_MS = 3_600_000;
const DEFAULT_SPAN_MS = { hour: 24 * HOUR_MS, day: 30 * 24 * HOUR_MS };

export const CountsQuery = z.strictObject({
  by: oneOf(CALENDAR_UNITS).default('day').meta({ default: 'day' }),
  timeZone: timeZone
    .prefault('UTC')
    .meta({ type: 'string', default: 'UTC', examples: ['Europe/Berlin'] }),
  before: before('Only alarms detected before this time. Without it, up to now.'),
  after: after(
    'Only alarms detected after this time. Without it, 30 days or 24 hours before the end.',
  ),
  ...places,
  ...selection,
});

const Counts = z.partialRecord(z.enum(ALARM_KINDS), z.int().min(1)).meta({
  description: 'By kind; kinds without alarms are left out.',
  examples: [{ fall: 2, helpCall: 5 }],
});
export const AlarmCounts = z
  .object({
    buckets: z.array(z.object({ start: time, counts: Counts })).meta({
      description: `Hours or days without alarms are in it, too. ${MAX_BUCKETS} at most.`,
    }),
  })
  .meta({ id: 'AlarmCounts' });

/** What selects alarms, but for the time. */
type Selection = Pick<z.output<typeof DeviceQuery>, 'kinds' | 'state'> &
  Partial<Pick<z.output<typeof PlacedQuery>, 'device' | 'room' | 'group' | 'test'>>;
/** A listing without places has only some of it. */
type Query = z.output<typeof DeviceQuery> & Partial<z.output<typeof PlacedQuery>>;

/** The listing in which a cursor works. */
type Listing = 'device' | 'location' | 'all';

const EXACTLY_ONCE =
  'Following `nextCursor` yields every alarm that existed when the first page was read exactly once.';
const CSV_IS_WHOLE =
  'As `text/csv` (RFC 4180, with a header line) all alarms come at once: `limit` has no effect. `separator=;` and `timeZone` make a file that Excel opens as a table of local times.';

export function alarmRoutes(services: HttpServices, rights: Rights): Routes {
  const { history, model, now } = services;
  const listings = new Listings(services);
  return {
    listDeviceAlarms: get('/care-homes/{locationId}/devices/{deviceId}/alarms', {
      tag: 'Alarms',
      summary: 'List the alarms of a device',
      description: `The alarms that happened in this location. ${EXACTLY_ONCE}`,
      right: rights.device('viewer'),
      query: DeviceQuery,
      answer: json('A page of alarms.', AlarmPage),
      handle: async ({ c, path, query, caller }) => {
        const asked = { ...query, device: [path.deviceId] };
        const show = listings.urls(c, caller);
        const page = await listings.page(c, caller, 'device', [path.locationId], asked, show);
        return { nextCursor: page.nextCursor, events: page.entries.map(alarmView) };
      },
    }),
    listLocationAlarms: get('/care-homes/{locationId}/alarms', {
      tag: 'Alarms',
      summary: 'List the alarms of a location',
      description: `Includes devices that have been deleted or have moved away since. ${EXACTLY_ONCE} ${CSV_IS_WHOLE}`,
      right: rights.partOf('viewer'),
      query: PlacedQuery,
      answer: {
        ...json('A page of alarms.', LocationAlarmPage),
        others: csvContent(ALARM_COLUMNS),
      },
      handle: ({ c, path, query, caller }) =>
        listings.respond(c, caller, 'location', [path.locationId], query),
    }),
    listAlarms: get('/alarms', {
      tag: 'Alarms',
      summary: 'List the alarms of all locations that the access token covers',
      description: `As the listing of a location; each event has its location. ${CSV_IS_WHOLE}`,
      right: anyToken,
      query: PlacedQuery,
      answer: {
        ...json('A page of alarms.', AlarmsPage),
        others: csvContent(PLACED_ALARM_COLUMNS),
      },
      handle: ({ c, query, caller }) => {
        const covered = model.locations().filter(({ id }) => touchesLocation(caller.grants, id));
        return listings.respond(
          c,
          caller,
          'all',
          covered.map(({ id }) => id),
          query,
        );
      },
    }),
    getAlarm: get('/care-homes/{locationId}/alarms/{alarmId}', {
      tag: 'Alarms',
      summary: 'Get an alarm of a location',
      description: 'The newest one, should several devices use the id.',
      right: rights.partOf('viewer'),
      query: z.strictObject({ footage, device }),
      answer: json('The alarm.', LocationAlarm),
      handle: async ({ c, path: { locationId, alarmId }, query, caller }) => {
        const { groupIds } = scopeOf(caller, locationId);
        const record = await history.find({ locationId, alarmId, deviceId: query.device });
        // With a grant on a group, an alarm elsewhere and an unknown alarm look the same.
        if (groupIds?.includes(record?.group?.id ?? '') === false) throw noGrant();
        if (record === undefined) {
          throw new GatewayError('alarm-not-found', 'The location has no such alarm.');
        }
        const show = listings.footageAsAsked(c, caller, query.footage);
        const text = (await show([record])).map((alarm) => placedAlarmText(alarm)).join('');
        return c.body(text, 200, { 'Content-Type': JSON_MEDIA_TYPE });
      },
    }),
    countAlarms: get('/care-homes/{locationId}/alarm-counts', {
      tag: 'Alarms',
      summary: 'Count the alarms of a location by hour or day',
      description:
        'By the clocks of a time zone: the day on which they change has 23 or 25 hours. `start` is the beginning of the hour or day; the first and the last one have only what lies between `after` and `before`.',
      right: rights.partOf('viewer'),
      query: CountsQuery,
      answer: json('The numbers of alarms.', AlarmCounts),
      handle: async ({ c, path, query, caller }) => {
        const toMs = query.before ?? now();
        // `after` is exclusive, and times have whole milliseconds.
        const fromMs =
          query.after === undefined ? toMs - DEFAULT_SPAN_MS[query.by] : query.after + 1;
        const starts = calendarBounds(query.timeZone, query.by, fromMs, toMs, MAX_BUCKETS);
        if (starts === undefined) {
          const message = `must be at most ${MAX_BUCKETS} of \`by\` before the end`;
          throw invalidRequest([{ path: 'after', message }]);
        }
        if (starts.length < 2) return { buckets: [] };
        const bounds = [fromMs, ...starts.slice(1, -1), toMs];
        const counted = await history.counts(filterOf(c, caller, [path.locationId], query), bounds);
        return {
          buckets: counted.map((counts, at) => ({ start: formatTime(starts[at] ?? 0), counts })),
        };
      },
    }),
  };
}

/** Adds to each alarm what to show of its recordings. */
type ShowFootage<Footage extends ShownFootage> = (
  alarms: readonly AlarmRecord[],
) => Promise<ShownAlarm<Footage>[]>;

const NO_FOOTAGE: FootageUrls = { video: null, audio: null };

/** Reads pages of the history, and answers with them. */
class Listings {
  readonly #services: HttpServices;
  readonly #cursors: PageCursors;

  constructor(services: HttpServices) {
    this.#services = services;
    this.#cursors = new PageCursors(services.cursorKey);
  }

  /** Answers with a page of alarms with their places, or with all pages as CSV. */
  async respond(
    c: HttpContext,
    caller: Caller,
    listing: Listing,
    locationIds: readonly string[],
    query: Query,
  ): Promise<Response> {
    const isOfAll = listing === 'all';
    const show = this.footageAsAsked(c, caller, query.footage);
    const following = (cursor: string | undefined) =>
      this.page(c, caller, listing, locationIds, { ...query, cursor }, show);
    const first = await following(query.cursor);
    if (wantsCsv(c)) {
      const columns = isOfAll ? PLACED_ALARM_COLUMNS : ALARM_COLUMNS;
      return csvResponse(c, caller, this.#services.log, columns, query, first, following);
    }
    const events = first.entries.map((alarm) => placedAlarmText(alarm, isOfAll)).join(',');
    const text = `{"nextCursor":${JSON.stringify(first.nextCursor)},"events":[${events}]}`;
    return c.body(text, 200, { 'Content-Type': JSON_MEDIA_TYPE });
  }

  /** Reads a page of the alarms that the caller's grants cover, by the group at the time of the alarm. */
  async page<Footage extends ShownFootage>(
    c: HttpContext,
    caller: Caller,
    listing: Listing,
    locationIds: readonly string[],
    query: Query,
    show: ShowFootage<Footage>,
  ): Promise<Page<ShownAlarm<Footage>>> {
    const { cursor, limit, order, before: beforeMs, after: afterMs, group: groupIds, test } = query;
    const filter = filterOf(c, caller, locationIds, query);
    const { deviceIds, roomIds, kinds, states } = filter;
    const bounds = { beforeMs, afterMs, order };
    const locationId = listing === 'all' ? undefined : locationIds[0];
    const place = { listing, locationId, groupIds, roomIds, deviceIds };
    const scope = { ...place, ...bounds, test, kinds, states };
    const start = cursor === undefined ? undefined : this.#cursors.decode(cursor, scope);
    const { alarms, next, upToSequence } = await this.#services.history.page({
      ...filter,
      ...bounds,
      limit,
      upToSequence: start?.upToSequence,
      position: start && { detectedAtMs: start.timeMs, sequence: start.sequence },
    });
    const position = next && { timeMs: next.detectedAtMs, sequence: next.sequence, upToSequence };
    return {
      nextCursor: position === undefined ? null : this.#cursors.encode(position, scope),
      entries: await show(alarms),
    };
  }

  /** Shows which recordings exist if `footage=list` asks for that; otherwise signed URLs. */
  footageAsAsked(
    c: HttpContext,
    caller: Caller,
    asked: 'list' | undefined,
  ): ShowFootage<ShownFootage> {
    if (asked === undefined) return this.urls(c, caller);
    return async (alarms) =>
      alarms.map((record) => ({
        record,
        footage: FOOTAGE_TYPES.filter((type) => record.footage[type] !== undefined),
      }));
  }

  /** Shows signed URLs, after the audit trail has recorded them. */
  urls(c: HttpContext, caller: Caller): ShowFootage<FootageUrls> {
    return async (alarms) => {
      const urls = await this.#services.footage.links(alarms, {
        actor: caller.actor,
        gatewayUrl: gatewayUrlOf(c, this.#services),
      });
      return alarms.map((record, index) => ({ record, footage: urls[index] ?? NO_FOOTAGE }));
    };
  }
}

/**
 * Where the caller reaches the gateway: the configured URL, or scheme and Host of the request.
 *
 * A client that lies about Host misleads only itself, as no response is cached. `X-Forwarded-…` is ignored: any client may
 * send it.
 */
export function gatewayUrlOf(c: HttpContext, { publicUrl }: HttpServices): string {
  return publicUrl ?? new URL(c.req.url).origin;
}

/** Selects the alarms that a query asks for, and that its caller may see. */
function filterOf(
  c: HttpContext,
  caller: Caller,
  locationIds: readonly string[],
  { kinds, state, device: deviceIds, room: roomIds, group: groupIds, test }: Selection,
): AlarmFilter {
  return {
    scopes: locationIds.map((id) => scopeOf(caller, id, groupIds)),
    kinds,
    deviceIds,
    roomIds,
    states: state.length === ALARM_STATES.length ? undefined : state,
    isTest: test === undefined ? undefined : test === 'true',
    isAwaited: () => !c.env.outgoing.closed,
  };
}

/** The part of the location that the caller asks for and may see. */
export function scopeOf(
  { grants }: Caller,
  locationId: string,
  wanted?: readonly string[] | undefined,
): AlarmScope {
  const permitted = permittedGroups(grants, 'viewer', locationId);
  if (permitted === undefined) return { locationId, groupIds: wanted };
  return { locationId, groupIds: permitted.filter((id) => wanted?.includes(id) !== false) };
}
