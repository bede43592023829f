/** What has become of an alarm: who acknowledged and resolved it, and which destination had it when. */

import { z } from 'zod';
import type { GivenState } from '../../domain/alarm-state.js';
import { permittedGroups } from '../../domain/grants.js';
import { formatTime } from '../../domain/time.js';
import { GatewayError } from '../../errors.js';
import { type Caller, noGrant } from '../caller.js';
import { note, time } from '../fields.js';
import type { Ids, Rights } from '../rights.js';
import { get, json, post, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';
import { AlarmStates, statesView } from './alarm-views.js';
import { device, scopeOf } from './alarms.js';
import { Destination } from './drills.js';

const ALARM = '/care-homes/{locationId}/alarms/{alarmId}';

export const AlarmStateChange = z.strictObject({ note }).meta({ id: 'AlarmStateChange' });

export const AlarmDeliveries = z
  .object({
    deliveries: z.array(
      z.object({
        destination: Destination,
        state: z.enum(['queued', 'delivered', 'expired', 'dropped']),
        at: time.meta({
          description: 'When it was acknowledged, expired or dropped; of a queued one, received.',
        }),
      }),
    ),
  })
  .meta({ id: 'AlarmDeliveries' });

export function alarmStateRoutes(services: HttpServices, rights: Rights): Routes {
  const { alarmStates, history } = services;
  const give = async (
    { locationId, alarmId }: Ids<'locationId' | 'alarmId'>,
    deviceId: string | undefined,
    caller: Caller,
    state: GivenState,
    text: string | null | undefined,
  ) => {
    const { id: tokenId, grants } = caller.token;
    const groupIds = permittedGroups(grants, 'responder', locationId);
    const change = {
      locationId,
      alarmId,
      deviceId,
      state,
      note: text ?? undefined,
      tokenId,
      groupIds,
    };
    try {
      const record = await alarmStates.change({ ...change, actor: caller.actor });
      return { id: alarmId, ...statesView(record) };
    } catch (error) {
      // With a grant on a group, an alarm elsewhere and an unknown alarm look the same.
      const isUnknown = error instanceof GatewayError && error.code === 'alarm-not-found';
      throw isUnknown && groupIds !== undefined ? noGrant() : error;
    }
  };
  return {
    acknowledgeAlarm: post(`${ALARM}/acknowledge`, {
      tag: 'Alarms',
      summary: 'Acknowledge an alarm',
      description:
        'Needs a responder. Says who looks after the alarm, from when on; it is delivered all the same. Repeated, it changes nothing and has the same answer. An alarm that has been resolved cannot be acknowledged: 409.',
      right: rights.partOf('responder'),
      query: z.strictObject({ device }),
      body: AlarmStateChange,
      isBodyOptional: true,
      answer: json('The states of the alarm.', AlarmStates),
      problems: { 409: 'The alarm has been resolved.' },
      handle: ({ path, query, body, caller }) =>
        give(path, query.device, caller, 'acknowledged', body.note),
    }),
    resolveAlarm: post(`${ALARM}/resolve`, {
      tag: 'Alarms',
      summary: 'Resolve an alarm, acknowledged or not',
      description:
        'Needs a responder. Says who has dealt with the alarm, and when. Repeated, it changes nothing and has the same answer.',
      right: rights.partOf('responder'),
      query: z.strictObject({ device }),
      body: AlarmStateChange,
      isBodyOptional: true,
      answer: json('The states of the alarm.', AlarmStates),
      handle: ({ path, query, body, caller }) =>
        give(path, query.device, caller, 'resolved', body.note),
    }),
    listAlarmDeliveries: get(`${ALARM}/deliveries`, {
      tag: 'Alarms',
      summary: 'Prove which destination had an alarm when',
      description:
        'Of persistent sessions, bridges and webhooks, for as long as the alarm is in the history. What a destination has acknowledged is `delivered`.',
      right: rights.partOf('viewer'),
      query: z.strictObject({ device }),
      answer: json('What became of the alarm.', AlarmDeliveries),
      handle: async ({ path: { locationId, alarmId }, query, caller }) => {
        const alarm = { locationId, alarmId, deviceId: query.device };
        const { groupIds } = scopeOf(caller, locationId);
        if (groupIds !== undefined) {
          const record = await history.find(alarm);
          if (!groupIds.includes(record?.group?.id ?? '')) throw noGrant();
        }
        const found = await history.deliveries(alarm);
        if (found === undefined) {
          throw new GatewayError('alarm-not-found', 'The location has no such alarm.');
        }
        return {
          deliveries: found.map(({ destination, state, atMs }) => ({
            destination: services.accessTokens.destinationOf(destination),
            state,
            at: formatTime(atMs),
          })),
        };
      },
    }),
  };
}
