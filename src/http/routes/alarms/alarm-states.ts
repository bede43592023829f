import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { GivenState } from '../../../domain/alarm-state.js';
import { permittedGroups } from '../../../domain/grants.js';
import { GatewayError } from '../../../errors.js';
import { noGrant } from '../../access.js';
import { actorOf } from '../../actor.js';
import type { RouteServices } from '../../dependencies.js';
import { jsonResponse, optionalJsonRequestBody, problems } from '../../documents/openapi.js';
import { callerOf, type HttpApp, type HttpEnv } from '../../http-env.js';
import {
  alarmPathSchema,
  alarmStatesSchema,
  stateBodySchema,
  statesView,
} from '../../schemas/alarm-state.js';

const tags = ['Alarms'];
const request = { params: alarmPathSchema, body: optionalJsonRequestBody(stateBodySchema) };

const acknowledge = createRoute({
  method: 'post',
  path: '/care-homes/{locationId}/alarms/{alarmId}/acknowledge',
  operationId: 'acknowledgeAlarm',
  summary: 'Acknowledge an alarm',
  description:
    'Needs a responder. Says who looks after the alarm, from when on; it is delivered all the same. Repeated, it changes nothing and has the same answer. An alarm that has been resolved cannot be acknowledged: 409.',
  tags,
  request,
  responses: {
    200: jsonResponse('The states of the alarm.', alarmStatesSchema),
    ...problems.conflict,
  },
});

const resolve = createRoute({
  method: 'post',
  path: '/care-homes/{locationId}/alarms/{alarmId}/resolve',
  operationId: 'resolveAlarm',
  summary: 'Resolve an alarm, acknowledged or not',
  description:
    'Needs a responder. Says who has dealt with the alarm, and when. Repeated, it changes nothing and has the same answer.',
  tags,
  request,
  responses: { 200: jsonResponse('The states of the alarm.', alarmStatesSchema) },
});

/**
 * States of alarms (docs/reference/contract.md, 2, alarm state).
 *
 * A grant on a group covers the alarms that happened in the group. With such a grant, both an alarm elsewhere
 * and an unknown alarm give 403.
 */
export function registerAlarmStates(app: HttpApp, services: RouteServices): void {
  const { access, readsOptionalJson } = services;
  const middleware = [access.partOfLocation('responder'), readsOptionalJson];

  app.openapi({ ...acknowledge, middleware }, async (c) => {
    const [path, { note }] = [c.req.valid('param'), c.req.valid('json')];
    return c.json(await give(services, c, path, 'acknowledged', note), 200);
  });

  app.openapi({ ...resolve, middleware }, async (c) => {
    const [path, { note }] = [c.req.valid('param'), c.req.valid('json')];
    return c.json(await give(services, c, path, 'resolved', note), 200);
  });
}

async function give(
  { alarmStates }: RouteServices,
  c: Context<HttpEnv>,
  { locationId, alarmId }: { readonly locationId: string; readonly alarmId: string },
  state: GivenState,
  note: string | null | undefined,
) {
  const { id: tokenId, grants } = callerOf(c);
  const groupIds = permittedGroups(grants, 'responder', locationId);
  const change = { locationId, alarmId, state, note: note ?? undefined, tokenId, groupIds };
  try {
    const record = await alarmStates.change({ ...change, actor: actorOf(c) });
    return { id: alarmId, ...statesView(record) };
  } catch (error) {
    const isUnknown = error instanceof GatewayError && error.code === 'alarm-not-found';
    throw isUnknown && groupIds !== undefined ? noGrant() : error;
  }
}
