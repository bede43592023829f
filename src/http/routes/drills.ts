/** Drills: marked test alarms that show whether alarms arrive at every destination (contract 3). */

import { z } from 'zod';
import { formatTime } from '../../domain/time.js';
import { DESTINATION_TYPES } from '../../site/tokens.js';
import type { DrillReport } from '../../watch/drills.js';
import { EXAMPLE_ID, id, time, uuid } from '../fields.js';
import type { Rights } from '../rights.js';
import { accepted, get, json, post, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';

/** Where alarms go. */
export const Destination = z
  .object({
    type: z.enum(DESTINATION_TYPES),
    id: z.string().meta({
      description: 'Of a session its client id, of a bridge or webhook its name.',
      examples: ['station-1'],
    }),
    name: z.string().meta({
      description: 'Of a session the name of its access token.',
      examples: ['Nurse call'],
    }),
  })
  .meta({ id: 'Destination' });

const NewDrill = z
  .strictObject({
    deviceId: uuid
      .optional()
      .meta({ description: 'The device whose alarm it is; left out: the first of the location.' }),
  })
  .meta({ id: 'NewDrill', examples: [{}] });

/** A thing whose id may be `admin`. */
const named = z.object({
  id: z.string().meta({ examples: [EXAMPLE_ID] }),
  name: z.string().meta({ examples: ['Bed 2'] }),
});

export const Drill = z
  .object({
    id,
    at: time,
    by: named.nullable().meta({
      description: 'The access token that asked for it; null: the schedule.',
      examples: [{ id: 'admin', name: 'admin' }],
    }),
    state: z.enum(['running', 'passed', 'failed']).meta({
      description:
        'Destinations have 60 s. `passed` once all have acknowledged, `failed` if one of them has not by then, or there is none.',
    }),
    alarmId: id,
    device: named,
    destinations: z.array(
      z.object({
        destination: Destination,
        acknowledgedAfterMs: z
          .int()
          .nullable()
          .meta({ description: 'Null: not within 60 s, or not yet.', examples: [42] }),
      }),
    ),
    silent: z.array(named).meta({ description: 'The devices that were silent.' }),
  })
  .meta({ id: 'Drill' });

const PATH = '/care-homes/{locationId}/drills';

export function drillRoutes({ drills, accessTokens }: HttpServices, rights: Rights): Routes {
  return {
    beginDrill: post(PATH, {
      tag: 'Drills',
      summary: 'Try whether alarms arrive at every destination',
      description:
        'Raises a `helpCall` with `"test": true` on the way of every alarm. Answered once it is stored; who has acknowledged it is in the list.',
      right: rights.location('manager'),
      body: NewDrill,
      isBodyOptional: true,
      answer: accepted('The drill.', Drill),
      problems: { 409: 'The location has no device.' },
      handle: async ({ path: { locationId }, body: { deviceId }, caller }) => {
        const tokenId = caller.token.id;
        const by = { id: tokenId, name: accessTokens.nameOf(tokenId) };
        return view(await drills.begin({ locationId, deviceId, actor: caller.actor, by }));
      },
    }),
    listDrills: get(PATH, {
      tag: 'Drills',
      summary: 'List the newest 100 drills of a location, the newest first',
      right: rights.location('viewer'),
      answer: json('The drills.', Drill.array()),
      handle: async ({ path }) => (await drills.list(path.locationId)).map(view),
    }),
  };
}

function view(report: DrillReport): z.infer<typeof Drill> {
  const { id, atMs, by, alarmId, device, isOver, results, silent } = report;
  const hasPassed =
    results.length > 0 &&
    results.every(({ acknowledgedAfterMs }) => acknowledgedAfterMs !== undefined);
  const outcome = hasPassed ? 'passed' : 'failed';
  return {
    id,
    at: formatTime(atMs),
    by,
    state: isOver ? outcome : 'running',
    alarmId,
    device,
    destinations: results.map(({ destination, acknowledgedAfterMs = null }) => ({
      destination,
      acknowledgedAfterMs,
    })),
    silent: [...silent],
  };
}
