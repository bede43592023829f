/** The audit trail: who did what, when and from where; for the administrator. */

import { z } from 'zod';
import { formatTime } from '../../domain/time.js';
import { ACTOR_TYPES, AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { AuditRecord } from '../../store/audit.js';
import { PageCursors } from '../cursors.js';
import {
  after,
  before,
  choice,
  csvForm,
  cursor,
  EXAMPLE_ID,
  id,
  limit,
  nextCursor,
  order,
  parameter,
  presentName,
  time,
  uuid,
} from '../fields.js';
import { type Columns, csvContent, csvResponse, type Page, wantsCsv } from '../listing.js';
import { admin } from '../rights.js';
import { get, json, type Routes } from '../route.js';
import { type HttpServices, presentNameOf } from '../services.js';
import { Grant } from './tokens.js';

/** A parameter with a UUID or `admin`, in either case (RFC 9562, 4). */
function anyId(description: string) {
  return parameter
    .regex(/^[\dA-Za-z-]{1,64}$/, 'must be an id')
    .transform((text) => text.toLowerCase())
    .optional()
    .meta({ type: 'string', description });
}

export const Query = z.strictObject({
  before: before('Only records before this time.'),
  after: after('Only records after this time.'),
  order,
  limit,
  actions: choice(AUDIT_ACTIONS, ['device.created', 'device.deleted']),
  location: parameter.pipe(uuid).optional().meta({
    type: 'string',
    format: 'uuid',
    description: 'Only records that concern this location.',
  }),
  actor: anyId('Only actions of this access token or device; `admin` is one.'),
  resource: anyId('Only actions on the resource with this id.'),
  cursor,
  ...csvForm,
});

const ActorView = z
  .object({
    type: z.enum(ACTOR_TYPES),
    id: z
      .string()
      .nullable()
      .meta({
        description:
          'Id of the access token or device; null for the gateway and for unknown clients.',
        examples: [EXAMPLE_ID],
      }),
    address: z
      .string()
      .nullable()
      .meta({ examples: ['192.0.2.7'] }),
    name: z
      .string()
      .nullable()
      .meta({
        description: 'The name that it has now; null where there is none any more.',
        examples: ['Nurse call'],
      }),
    requestId: z
      .string()
      .nullable()
      .meta({
        description: '`X-Request-Id` of the request.',
        examples: [EXAMPLE_ID],
      }),
  })
  .meta({ id: 'Actor' });

/** Details that a record holds as JSON text, and a response as a list. */
const grantList = z.array(Grant);
const keyList = z.array(z.string());

const AuditEvent = z
  .object({
    id: z.string().meta({
      description: 'Rises with each record, which is the order of the list.',
      examples: ['4711'],
    }),
    at: time,
    action: z.enum(AUDIT_ACTIONS),
    actor: ActorView,
    locationId: id.nullable(),
    locationName: presentName,
    resourceId: z
      .string()
      .nullable()
      .meta({ examples: [EXAMPLE_ID] }),
    resourceName: presentName,
    details: z.record(z.string(), z.union([z.string().nullable(), grantList, keyList])).meta({
      description: 'Texts, except `grants` and `keys`, which are lists.',
      examples: [{ name: 'Haus Birke' }],
    }),
  })
  .meta({ id: 'AuditEvent' });
type AuditEvent = z.infer<typeof AuditEvent>;

export const AuditPage = z
  .object({ nextCursor, events: z.array(AuditEvent) })
  .meta({ id: 'AuditPage' });

const COLUMNS: Columns<AuditEvent> = [
  ['id', ({ id }) => id],
  ['at', ({ at }) => at, 'time'],
  ['action', ({ action }) => action],
  ['actorType', ({ actor }) => actor.type],
  ['actorId', ({ actor }) => actor.id],
  ['actorName', ({ actor }) => actor.name],
  ['address', ({ actor }) => actor.address],
  ['requestId', ({ actor }) => actor.requestId],
  ['locationId', ({ locationId }) => locationId],
  ['locationName', ({ locationName }) => locationName],
  ['resourceId', ({ resourceId }) => resourceId],
  ['resourceName', ({ resourceName }) => resourceName],
  ['details', ({ details }) => JSON.stringify(details)],
];

export function auditRoutes(services: HttpServices): Routes {
  const { audit, cursorKey, log } = services;
  const cursors = new PageCursors(cursorKey);
  const readPage = async (query: z.output<typeof Query>): Promise<Page<AuditEvent>> => {
    const { actions, order } = query;
    const scope = {
      actions,
      order,
      beforeMs: query.before,
      afterMs: query.after,
      locationId: query.location,
      actorId: query.actor,
      resourceId: query.resource,
    };
    const start = query.cursor === undefined ? undefined : cursors.decode(query.cursor, scope);
    const { records, next, upToSequence } = await audit.page({
      ...scope,
      limit: query.limit,
      upToSequence: start?.upToSequence,
      position: start?.sequence,
    });
    // Records are in the order of their numbers, so a position needs no time.
    const position = next === undefined ? undefined : { timeMs: 0, sequence: next, upToSequence };
    return {
      nextCursor: position === undefined ? null : cursors.encode(position, scope),
      entries: records.map((record) => auditView(record, services)),
    };
  };
  return {
    listAuditRecords: get('/audit', {
      tag: 'Audit trail',
      summary: 'List who did what, when and from where',
      description:
        'As `text/csv` (RFC 4180, with a header line) all records come at once: `limit` has no effect.',
      right: admin,
      query: Query,
      answer: { ...json('A page of records.', AuditPage), others: csvContent(COLUMNS) },
      handle: async ({ c, query, caller }) => {
        const first = await readPage(query);
        if (!wantsCsv(c)) return { nextCursor: first.nextCursor, events: [...first.entries] };
        const following = (cursor: string) => readPage({ ...query, cursor });
        return csvResponse(c, caller, log, COLUMNS, query, first, following);
      },
    }),
  };
}

/** A record of the audit trail as it is shown. */
export function auditView(record: AuditRecord, services: HttpServices): AuditEvent {
  const { sequence, atMs, action, actor, locationId, resourceId, details } = record;
  const { grants, keys, ...texts } = details;
  return {
    id: String(sequence),
    at: formatTime(atMs),
    action,
    actor: { ...actor, name: presentNameOf(actor.id, services) },
    locationId,
    locationName: presentNameOf(locationId, services),
    resourceId,
    resourceName: presentNameOf(resourceId, services),
    details: {
      ...texts,
      ...(typeof grants === 'string' && { grants: grantList.parse(JSON.parse(grants)) }),
      ...(typeof keys === 'string' && { keys: keyList.parse(JSON.parse(keys)) }),
    },
  };
}
