import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { touchesLocation } from '../../../domain/grants.js';
import { GatewayError } from '../../../errors.js';
import { noGrant } from '../../access.js';
import {
  ALARM_CSV_COLUMNS,
  alarmCsvLines,
  PLACED_ALARM_CSV_COLUMNS,
} from '../../alarms/alarm-csv.js';
import {
  type AlarmPage,
  footageAsAsked,
  readAlarmPage,
  scopeOf,
  signedFootage,
} from '../../alarms/alarm-page.js';
import { csvForm, csvResponse, wantsCsv, withCsv } from '../../csv.js';
import type { RouteServices } from '../../dependencies.js';
import { jsonResponse, preparedJson } from '../../documents/openapi.js';
import { callerOf, type HttpApp, type HttpEnv } from '../../http-env.js';
import { JSON_MEDIA_TYPE } from '../../json-body.js';
import {
  type AlarmQueryParameters,
  alarmPageSchema,
  alarmQuerySchema,
  alarmView,
  deviceAlarmPageSchema,
  locationAlarmPageSchema,
  oneAlarmQuerySchema,
  placedAlarmQuerySchema,
  placedAlarmSchema,
  placedAlarmText,
} from '../../schemas/alarm.js';
import { alarmPathSchema } from '../../schemas/alarm-state.js';
import { devicePathSchema, locationPathSchema } from '../../schemas/common.js';

const tags = ['Alarms'];

const CSV_IS_WHOLE =
  'As `text/csv` (RFC 4180, with a header line) all alarms come at once: `limit` has no effect. `separator=;` and `timeZone` make a file that Excel opens as a table of local times.';

const ofDevice = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/devices/{deviceId}/alarms',
  operationId: 'listDeviceAlarms',
  summary: 'List the alarms of a device',
  description:
    'The alarms that happened in this location. Following `nextCursor` yields every alarm that existed when the first page was read exactly once.',
  tags,
  request: { params: devicePathSchema, query: alarmQuerySchema },
  responses: { 200: jsonResponse('A page of alarms.', deviceAlarmPageSchema) },
});

/** Lists the alarms of deleted and moved devices, too (docs/reference/contract.md, 2). */
const ofLocation = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/alarms',
  operationId: 'listLocationAlarms',
  summary: 'List the alarms of a location',
  description: `Includes devices that have been deleted or have moved away since. Following \`nextCursor\` yields every alarm that existed when the first page was read exactly once. ${CSV_IS_WHOLE}`,
  tags,
  request: { params: locationPathSchema, query: placedAlarmQuerySchema },
  responses: {
    200: withCsv(preparedJson('A page of alarms.', locationAlarmPageSchema), ALARM_CSV_COLUMNS),
  },
});

const ofAll = createRoute({
  method: 'get',
  path: '/alarms',
  operationId: 'listAlarms',
  summary: 'List the alarms of all locations that the access token covers',
  description: `As the listing of a location; each event has its location. ${CSV_IS_WHOLE}`,
  tags,
  request: { query: placedAlarmQuerySchema },
  responses: {
    200: withCsv(preparedJson('A page of alarms.', alarmPageSchema), PLACED_ALARM_CSV_COLUMNS),
  },
});

const one = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/alarms/{alarmId}',
  operationId: 'getAlarm',
  summary: 'Get an alarm of a location',
  description: 'The newest one, should several devices use the id.',
  tags,
  request: { params: alarmPathSchema, query: oneAlarmQuerySchema },
  responses: { 200: preparedJson('The alarm.', placedAlarmSchema) },
});

/** The alarm history of a device, of a location and of all. */
export function registerAlarms(app: HttpApp, services: RouteServices): void {
  const { access, history, model } = services;

  app.openapi({ ...ofDevice, middleware: [access.device('viewer')] }, async (c) => {
    const { locationId, deviceId } = c.req.valid('param');
    const query = { ...c.req.valid('query'), device: [deviceId] };
    const show = signedFootage(services, c);
    const { nextCursor, alarms } = await readAlarmPage(
      services,
      c,
      [locationId],
      query,
      show,
      'device',
    );
    const events = alarms.map(({ record, footage }) => alarmView(record, footage));
    return c.json({ nextCursor, events }, 200);
  });

  app.openapi({ ...ofLocation, middleware: [access.partOfLocation('viewer')] }, (c) =>
    answerListing(services, c, [c.req.valid('param').locationId], c.req.valid('query'), 'location'),
  );

  app.openapi(ofAll, (c) => {
    const { grants } = callerOf(c);
    const covered = model.locations().filter(({ id }) => touchesLocation(grants, id));
    const locationIds = covered.map(({ id }) => id);
    return answerListing(services, c, locationIds, c.req.valid('query'), 'all');
  });

  app.openapi({ ...one, middleware: [access.partOfLocation('viewer')] }, async (c) => {
    const { locationId, alarmId } = c.req.valid('param');
    const { groupIds } = scopeOf(c, locationId);
    const { device: deviceId, footage } = c.req.valid('query');
    const record = await history.find({ locationId, alarmId, deviceId });
    // With a grant on a group, an alarm elsewhere and an unknown alarm look the same.
    if (groupIds?.includes(record?.group?.id ?? '') === false) throw noGrant();
    if (record === undefined) {
      throw new GatewayError('alarm-not-found', 'The location has no such alarm.');
    }
    const shown = await footageAsAsked(services, c, footage)([record]);
    const text = shown.map((alarm) => placedAlarmText(alarm.record, alarm.footage)).join();
    return c.body(text, 200, { 'Content-Type': JSON_MEDIA_TYPE });
  });
}

/** Answers with a page, or with all pages as CSV. */
async function answerListing(
  services: RouteServices,
  c: Context<HttpEnv>,
  locationIds: readonly string[],
  query: AlarmQueryParameters,
  listing: 'location' | 'all',
): Promise<Response> {
  const isOfAll = listing === 'all';
  const form = csvForm(query);
  const show = footageAsAsked(services, c, query.footage);
  const following = (cursor: string | undefined) =>
    readAlarmPage(services, c, locationIds, { ...query, cursor }, show, listing);
  const first = await following(query.cursor);
  if (!wantsCsv(c)) {
    return c.body(pageText(first, isOfAll), 200, { 'Content-Type': JSON_MEDIA_TYPE });
  }
  return csvResponse(c, services.log, {
    header: isOfAll ? PLACED_ALARM_CSV_COLUMNS : ALARM_CSV_COLUMNS,
    form,
    linesOf: (page) => alarmCsvLines(page, isOfAll, form),
    first,
    following,
  });
}

function pageText({ nextCursor, alarms }: AlarmPage, isOfAll: boolean): string {
  const events = alarms.map(({ record, footage }) => placedAlarmText(record, footage, isOfAll));
  return `{"nextCursor":${JSON.stringify(nextCursor)},"events":[${events.join(',')}]}`;
}
