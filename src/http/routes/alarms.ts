import type { z } from '@hono/zod-openapi';
import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { permittedGroups } from '../../domain/grants.js';
import type { AlarmRecord } from '../../site/alarm-history.js';
import type { FootageUrls } from '../../site/footage.js';
import type { HttpApp, HttpEnv } from '../http-env.js';
import { callerOf } from '../http-env.js';
import { jsonResponse, problems } from '../openapi.js';
import {
  alarmQuerySchema,
  alarmView,
  deviceAlarmPageSchema,
  locationAlarmPageSchema,
  placedAlarmView,
} from '../schemas/alarm.js';
import { devicePathSchema, locationPathSchema } from '../schemas/common.js';
import { urlReceiver } from '../url-receiver.js';
import type { RouteServices } from './services.js';

type Parameters = z.infer<typeof alarmQuerySchema>;

interface Scope {
  readonly locationId: string;
  readonly deviceId: string | undefined;
}

const tags = ['Alarms'];
const NO_FOOTAGE: FootageUrls = { video: null, audio: null };

const ofDevice = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/devices/{deviceId}/alarms',
  operationId: 'listDeviceAlarms',
  summary: 'List the alarms of a device',
  description:
    'The alarms that happened in this location. Following `nextCursor` yields every one that was there when the first page was read exactly once.',
  tags,
  request: { params: devicePathSchema, query: alarmQuerySchema },
  responses: {
    200: jsonResponse('A page of alarms.', deviceAlarmPageSchema),
    ...problems.resource,
    ...problems.store,
  },
});

/** Also has the alarms of devices that have been deleted or have moved away (CONTRACT 2). */
const ofLocation = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/alarms',
  operationId: 'listLocationAlarms',
  summary: 'List the alarms of a location',
  description:
    'Also those of devices that have been deleted or have moved away since. Following `nextCursor` yields every one that was there when the first page was read exactly once.',
  tags,
  request: { params: locationPathSchema, query: alarmQuerySchema },
  responses: {
    200: jsonResponse('A page of alarms.', locationAlarmPageSchema),
    ...problems.resource,
    ...problems.store,
  },
});

/** The alarm history of a device (specification 4) and of a location (CONTRACT 2). */
export function registerAlarms(app: HttpApp, services: RouteServices): void {
  const { access } = services;

  app.openapi({ ...ofDevice, middleware: [access.device('viewer')] }, async (c) => {
    const [scope, query] = [c.req.valid('param'), c.req.valid('query')];
    return c.json(await readPage(services, c, scope, query, alarmView), 200);
  });

  app.openapi({ ...ofLocation, middleware: [access.partOfLocation('viewer')] }, async (c) => {
    const scope = { ...c.req.valid('param'), deviceId: undefined };
    const query = c.req.valid('query');
    return c.json(await readPage(services, c, scope, query, placedAlarmView), 200);
  });
}

/**
 * One page of the alarms that the caller may see: those whose group at the time his grants cover.
 */
async function readPage<View>(
  { history, cursors, footage, publicUrl }: RouteServices,
  c: Context<HttpEnv>,
  { locationId, deviceId }: Scope,
  parameters: Parameters,
  view: (record: AlarmRecord, urls: FootageUrls) => View,
): Promise<{ nextCursor: string | null; events: View[] }> {
  const { grants } = callerOf(c);
  const { cursor, limit, order, kinds, before: beforeMs, after: afterMs } = parameters;
  const scope = { locationId, deviceId, kinds, beforeMs, afterMs, order };
  const start = cursor === undefined ? undefined : cursors.decode(cursor, scope);
  const { alarms, next, upToSequence } = await history.page({
    ...scope,
    groupIds: permittedGroups(grants, 'viewer', locationId),
    limit,
    upToSequence: start?.upToSequence,
    position: start?.position,
  });
  const urls = await footage.links(alarms, locationId, urlReceiver(c, publicUrl));
  return {
    nextCursor: next === undefined ? null : cursors.encode({ position: next, upToSequence }, scope),
    events: alarms.map((record, index) => view(record, urls[index] ?? NO_FOOTAGE)),
  };
}
