/** What the law asks for about one device's data: all of it in one document, and its erasure (GDPR 15, 17 and 20). */

import { z } from 'zod';
import { ALARM_KINDS, FOOTAGE_TYPES } from '../../domain/alarm.js';
import { formatTime } from '../../domain/time.js';
import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { AlarmRecord } from '../../store/history/alarm-history.js';
import { JSON_MEDIA_TYPE } from '../body.js';
import { count, id, instant } from '../fields.js';
import { streamed } from '../listing.js';
import type { Ids, Rights } from '../rights.js';
import { del, get, json, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';
import { placedAlarmText } from './alarm-views.js';
import { auditView } from './audit.js';
import { deviceView } from './devices.js';

const ITEM = '/care-homes/{locationId}/devices/{deviceId}';
type DeviceIds = Ids<'locationId' | 'deviceId'>;

const EVERYTHING = { beforeMs: undefined, afterMs: undefined, order: 'asc', limit: 100 } as const;

const ErasedAlarms = z
  .object({ deleted: count.meta({ description: 'How many alarms.' }) })
  .meta({ id: 'ErasedAlarms' });

const DeviceExport = z
  .object({
    exportedAt: z.string(),
    device: z.looseObject({ id }),
    customData: z.looseObject({}),
    alarms: z
      .array(z.looseObject({ id }))
      .meta({ description: 'As in the listing of the location, each with its `deliveries`.' }),
    audit: z
      .array(z.looseObject({ id: z.string() }))
      .meta({ description: 'What the audit trail has about the device.' }),
  })
  .meta({ id: 'DeviceExport' });

export function erasingRoutes(services: HttpServices, rights: Rights): Routes {
  const { audit, erasure, log, model, now, removeRecording } = services;
  return {
    eraseAlarms: del(`${ITEM}/alarms`, {
      tag: 'Alarms',
      summary:
        'Erase the alarms of a device that were detected before a time, with their recordings',
      description:
        'For good: alarms, their states and what the gateway has noted of the device before that time. Alarms that a destination still waits for stay: ask again when they are delivered, or given up after `sessions.maxQueuedHours`. Copies that subscribers have are theirs.',
      right: rights.device('manager'),
      query: z.strictObject({ before: instant('up') }),
      answer: json('How many alarms were erased.', ErasedAlarms),
      handle: async ({ path: { locationId, deviceId }, query: { before }, caller }) => {
        const { actor } = caller;
        actor.precondition?.();
        // First: what was erased is never without a record.
        const details = { before: formatTime(before) };
        const entry = { action: 'alarms.erased', actor, atMs: now(), details } as const;
        await audit.record([{ ...entry, locationId, resourceId: deviceId }]);
        const { deleted, footage } = await erasure.erase(locationId, deviceId, before);
        for (const key of footage) await removeRecording(key);
        return { deleted };
      },
    }),
    exportDevice: get(`${ITEM}/export`, {
      tag: 'Devices',
      summary: 'Export everything that is kept about a device at a location',
      description:
        'One document, streamed: the device, its custom data, its alarms with states and deliveries, and its records in the audit trail.',
      right: rights.device('manager'),
      answer: json('The document.', DeviceExport),
      handle: async ({ c, path }) => {
        model.requireDevice(path);
        // Before the status is out: a store that does not answer is a problem, not a cut connection.
        const alarms = alarmTexts(services, path);
        const first = await alarms.next();
        c.header('Content-Disposition', `attachment; filename="device-${path.deviceId}.json"`);
        const body = streamed(c, exported(services, path, first, alarms), log);
        return c.body(body, 200, { 'Content-Type': JSON_MEDIA_TYPE });
      },
    }),
  };
}

async function* exported(
  services: HttpServices,
  path: DeviceIds,
  first: IteratorResult<string, void>,
  alarms: AsyncGenerator<string, void>,
): AsyncGenerator<Uint8Array> {
  const { model, now } = services;
  const device = model.requireDevice(path);
  const head = { exportedAt: formatTime(now()), device: deviceView(services, device) };
  const text = JSON.stringify(head).slice(0, -1);
  yield Buffer.from(`${text},"customData":${device.customData},"alarms":[`);
  if (first.done !== true) yield Buffer.from(first.value);
  for await (const alarm of alarms) yield Buffer.from(`,${alarm}`);
  yield Buffer.from('],"audit":[');
  let comma = '';
  for await (const record of auditTexts(services, path.deviceId)) {
    yield Buffer.from(comma + record);
    comma = ',';
  }
  yield Buffer.from(']}');
}

async function* alarmTexts(
  { accessTokens, history }: HttpServices,
  { locationId, deviceId }: DeviceIds,
): AsyncGenerator<string, void> {
  const query = {
    ...EVERYTHING,
    scopes: [{ locationId, groupIds: undefined }],
    deviceIds: [deviceId],
    kinds: ALARM_KINDS,
    roomIds: undefined,
  };
  for (let from: Partial<Awaited<ReturnType<typeof history.page>>> | undefined = {}; from; ) {
    const page = await history.page({
      ...query,
      position: from.next,
      upToSequence: from.upToSequence,
    });
    for (const record of page.alarms) {
      const alarm = { locationId, alarmId: record.id, deviceId };
      const deliveries = ((await history.deliveries(alarm)) ?? []).map(
        ({ destination, state, atMs }) => {
          return {
            destination: accessTokens.destinationOf(destination),
            state,
            at: formatTime(atMs),
          };
        },
      );
      const text = placedAlarmText({ record, footage: footageOf(record) });
      yield `${text.slice(0, -1)},"deliveries":${JSON.stringify(deliveries)}}`;
    }
    from = page.next === undefined ? undefined : page;
  }
}

function footageOf({ footage }: AlarmRecord) {
  return FOOTAGE_TYPES.filter((type) => footage[type] !== undefined);
}

async function* auditTexts(services: HttpServices, deviceId: string): AsyncGenerator<string> {
  const query = {
    ...EVERYTHING,
    actions: AUDIT_ACTIONS,
    locationId: undefined,
    actorId: undefined,
    resourceId: deviceId,
  };
  for (
    let from: Partial<Awaited<ReturnType<typeof services.audit.page>>> | undefined = {};
    from;
  ) {
    const page = await services.audit.page({
      ...query,
      position: from.next,
      upToSequence: from.upToSequence,
    });
    for (const record of page.records) yield JSON.stringify(auditView(record, services));
    from = page.next === undefined ? undefined : page;
  }
}
