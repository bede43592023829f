import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { ALARM_STATES } from '../../domain/alarm-states.js';
import { permittedGroups } from '../../domain/grants.js';
import type { AlarmRecord } from '../../site/alarms/alarm-history.js';
import type { FootageUrls } from '../../site/footage.js';
import type { RouteServices } from '../dependencies.js';
import { jsonResponse, preparedJson, problems } from '../documents/openapi.js';
import { callerOf, checkAgain, type HttpApp, type HttpEnv } from '../http-env.js';
import { JSON_MEDIA_TYPE } from '../json-body.js';
import {
  alarmQuerySchema,
  alarmView,
  deviceAlarmPageSchema,
  locationAlarmPageSchema,
  locationAlarmQuerySchema,
  placedAlarmText,
  placedAlarmView,
} from '../schemas/alarm.js';
import { devicePathSchema, locationPathSchema } from '../schemas/common.js';
import { bodyStream } from '../server/body-stream.js';
import { connectionOf } from '../server/http-connection.js';
import { urlReceiver } from '../server/public-url.js';

type Parameters = z.infer<typeof alarmQuerySchema>;

interface Scope {
  readonly locationId: string;
  readonly deviceId: string | undefined;
}

const tags = ['Alarms'];
const NO_FOOTAGE: FootageUrls = { video: null, audio: null };

const CSV_MEDIA_TYPE = 'text/csv';
const CSV_CONTENT_TYPE = `${CSV_MEDIA_TYPE}; charset=utf-8; header=present`;

const COLUMNS = [
  ...['id', 'kind', 'detectedAt', 'receivedAt', 'deviceId', 'deviceName', 'roomId', 'roomName'],
  ...['groupId', 'groupName', 'data', 'customData', 'video', 'audio'],
  ...['state', 'acknowledgedById', 'acknowledgedByName', 'acknowledgedAt'],
  ...['resolvedById', 'resolvedByName', 'resolvedAt', 'note'],
];
const LINE_END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]/;

const CSV_HEADER = line(COLUMNS);
const csvSchema = z.string().openapi({ example: CSV_HEADER });

/** Adds CSV to the media types of a response. */
function withCsv({ description, content }: ReturnType<typeof preparedJson>) {
  return { description, content: { ...content, [CSV_MEDIA_TYPE]: { schema: csvSchema } } };
}

const ofDevice = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/devices/{deviceId}/alarms',
  operationId: 'listDeviceAlarms',
  summary: 'List the alarms of a device',
  description:
    'The alarms that happened in this location. Following `nextCursor` yields every alarm that existed when the first page was read exactly once.',
  tags,
  request: { params: devicePathSchema, query: alarmQuerySchema },
  responses: {
    200: jsonResponse('A page of alarms.', deviceAlarmPageSchema),
    ...problems.resource,
    ...problems.store,
  },
});

/** Lists the alarms of deleted and moved devices, too (docs/contract.md, 2). */
const ofLocation = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/alarms',
  operationId: 'listLocationAlarms',
  summary: 'List the alarms of a location',
  description:
    'Includes devices that have been deleted or have moved away since. Following `nextCursor` yields every alarm that existed when the first page was read exactly once. As `text/csv` (RFC 4180, with a header line) all alarms come at once: `limit` has no effect.',
  tags,
  request: { params: locationPathSchema, query: locationAlarmQuerySchema },
  responses: {
    200: withCsv(preparedJson('A page of alarms.', locationAlarmPageSchema)),
    ...problems.resource,
    ...problems.store,
  },
});

/** The alarm history of a device (specification 4) and of a location (docs/contract.md, 2). */
export function registerAlarms(app: HttpApp, services: RouteServices): void {
  const { access } = services;

  app.openapi({ ...ofDevice, middleware: [access.device('viewer')] }, async (c) => {
    const [scope, query] = [c.req.valid('param'), c.req.valid('query')];
    const { nextCursor, alarms } = await readPage(services, c, scope, query);
    const events = alarms.map(({ record, urls }) => alarmView(record, urls));
    return c.json({ nextCursor, events }, 200);
  });

  app.openapi({ ...ofLocation, middleware: [access.partOfLocation('viewer')] }, async (c) => {
    const { device: deviceId, ...query } = c.req.valid('query');
    const scope = { ...c.req.valid('param'), deviceId };
    const page = await readPage(services, c, scope, query);
    c.header('Vary', 'Accept');
    const supports = [JSON_MEDIA_TYPE, CSV_MEDIA_TYPE];
    const mediaType = accepts(c, { header: 'Accept', supports, default: JSON_MEDIA_TYPE });
    if (mediaType === JSON_MEDIA_TYPE) {
      return c.body(pageText(page), 200, { 'Content-Type': JSON_MEDIA_TYPE });
    }
    const following = (cursor: string) => {
      // The client decides how long a download takes, and each page has newly signed URLs.
      checkAgain(c);
      return readPage(services, c, scope, { ...query, cursor });
    };
    const body = bodyStream(c, csvLines(page, following), services.log, () =>
      connectionOf(c.env.incoming)?.turn(),
    );
    return c.body(body, 200, { 'Content-Type': CSV_CONTENT_TYPE });
  });
}

interface Page {
  readonly nextCursor: string | null;
  readonly alarms: readonly { readonly record: AlarmRecord; readonly urls: FootageUrls }[];
}

function pageText({ nextCursor, alarms }: Page): string {
  const events = alarms.map(({ record, urls }) => placedAlarmText(record, urls));
  return `{"nextCursor":${JSON.stringify(nextCursor)},"events":[${events.join(',')}]}`;
}

/** The lines from this page on; the page is read before the status goes out. */
async function* csvLines(
  first: Page,
  following: (cursor: string) => Promise<Page>,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(CSV_HEADER);
  for (let page = first; ; page = await following(page.nextCursor)) {
    yield Buffer.from(page.alarms.map(({ record, urls }) => csvLine(record, urls)).join(''));
    if (page.nextCursor === null) return;
  }
}

/**
 * Reads a page of the alarms whose group, as of the alarm, the caller's grants cover.
 */
async function readPage(
  { history, cursors, footage, publicUrl }: RouteServices,
  c: Context<HttpEnv>,
  { locationId, deviceId }: Scope,
  parameters: Parameters,
): Promise<Page> {
  const { grants } = callerOf(c);
  const { cursor, limit, order, kinds, state, before: beforeMs, after: afterMs } = parameters;
  // All of them select like none: the scope is the one that cursors had before there were states.
  const states = state.length === ALARM_STATES.length ? undefined : state;
  const scope = { locationId, deviceId, kinds, states, beforeMs, afterMs, order };
  const start = cursor === undefined ? undefined : cursors.decode(cursor, scope);
  const { alarms, next, upToSequence } = await history.page({
    ...scope,
    groupIds: permittedGroups(grants, 'viewer', locationId),
    limit,
    upToSequence: start?.upToSequence,
    position: start && { detectedAtMs: start.timeMs, sequence: start.sequence },
    isAwaited: () => !c.env.outgoing.closed,
  });
  const urls = await footage.links(alarms, locationId, urlReceiver(c, publicUrl));
  const position = next && { timeMs: next.detectedAtMs, sequence: next.sequence, upToSequence };
  return {
    nextCursor: position === undefined ? null : cursors.encode(position, scope),
    alarms: alarms.map((record, index) => ({ record, urls: urls[index] ?? NO_FOOTAGE })),
  };
}

/** The line of an alarm, in the order of the columns; missing values are empty. */
function csvLine(record: AlarmRecord, urls: FootageUrls): string {
  const { id, kind, detectedAt, receivedAt, footage, ...view } = placedAlarmView(record, urls);
  const { state, acknowledgedBy, acknowledgedAt, resolvedBy, resolvedAt, note } = view;
  const { device, room, group, data, customData } = record;
  return line([
    ...[id, kind, detectedAt, receivedAt, device.id, device.name, room?.id, room?.name],
    ...[group?.id, group?.name, data, customData, footage.video, footage.audio],
    ...[state, acknowledgedBy?.id, acknowledgedBy?.name, acknowledgedAt],
    ...[resolvedBy?.id, resolvedBy?.name, resolvedAt, note],
  ]);
}

function line(fields: readonly (string | null | undefined)[]): string {
  return fields.map((field) => quoted(field ?? '')).join(',') + LINE_END;
}

function quoted(field: string): string {
  return NEEDS_QUOTES.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
