import { createRoute, z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/time.js';
import { ADMIN_TOKEN_ID } from '../../site/access/access-tokens.js';
import { ACTOR_TYPES, AUDIT_ACTIONS, type AuditRecord } from '../../site/audit-trail.js';
import { type CsvForm, csvForm, csvLine, csvResponse, wantsCsv, withCsv } from '../csv.js';
import type { RouteServices } from '../dependencies.js';
import { preparedJson, problems } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';
import { JSON_MEDIA_TYPE } from '../json-body.js';
import { grantSchema } from '../schemas/access-token.js';
import { EXAMPLE_ID, idSchema, timestampSchema, uuidSchema } from '../schemas/common.js';
import {
  afterParameter,
  beforeParameter,
  choiceParameter,
  csvParameters,
  cursorParameter,
  limitParameter,
  nextCursorSchema,
  orderParameter,
  parameter,
} from '../schemas/listing.js';

const auditQuerySchema = z.object({
  before: beforeParameter('Only records before this time.'),
  after: afterParameter('Only records after this time.'),
  order: orderParameter,
  limit: limitParameter,
  actions: choiceParameter(AUDIT_ACTIONS, ['device.created', 'device.deleted']),
  location: parameter.pipe(uuidSchema).optional().openapi({
    type: 'string',
    format: 'uuid',
    description: 'Only records that concern this location.',
  }),
  actor: idParameter('Only actions of this access token or device; `admin` is one.'),
  resource: idParameter('Only actions on the resource with this id.'),
  cursor: cursorParameter,
  ...csvParameters,
});

/** A parameter with a UUID or `admin`, in either case (RFC 9562, 4). */
function idParameter(description: string) {
  return parameter
    .regex(/^[\dA-Za-z-]{1,64}$/, 'must be an id')
    .transform((id) => id.toLowerCase())
    .optional()
    .openapi({ type: 'string', description });
}

const actorSchema = z
  .object({
    type: z.enum(ACTOR_TYPES),
    id: z.string().nullable().openapi({
      description:
        'Id of the access token or device; null for the gateway and for unknown clients.',
      example: EXAMPLE_ID,
    }),
    address: z.string().nullable().openapi({ example: '192.0.2.7' }),
    name: z.string().nullable().openapi({
      description: 'The name that it has now; null where there is none any more.',
      example: 'Nurse call',
    }),
    requestId: z.string().nullable().openapi({
      description: '`X-Request-Id` of the request.',
      example: EXAMPLE_ID,
    }),
  })
  .openapi('Actor');

/** A detail that a record holds as JSON text, and a response as a list. */
const grantList = z.array(grantSchema);
const keyList = z.array(z.string());
const LISTS = [grantList, keyList] as const;

const presentName = z.string().nullable().openapi({
  description: 'The name that it has now; null where it is gone, or has none.',
  example: 'Haus Birke',
});

const auditEventSchema = z
  .object({
    id: z.string().openapi({
      description: 'Rises with each record, which is the order of the list.',
      example: '4711',
    }),
    at: timestampSchema,
    action: z.enum(AUDIT_ACTIONS),
    actor: actorSchema,
    locationId: idSchema.nullable(),
    locationName: presentName,
    resourceId: z.string().nullable().openapi({ example: EXAMPLE_ID }),
    resourceName: presentName,
    details: z.record(z.string(), z.union([z.string().nullable(), ...LISTS])).openapi({
      description: 'Texts, except `grants` and `keys`, which are lists.',
      example: { name: 'Haus Birke' },
    }),
  })
  .openapi('AuditEvent');

const auditPageSchema = z
  .object({ nextCursor: nextCursorSchema, events: z.array(auditEventSchema) })
  .openapi('AuditPage');

type AuditPage = z.infer<typeof auditPageSchema>;
type AuditQuery = z.output<typeof auditQuerySchema>;

type AuditEvent = z.infer<typeof auditEventSchema>;

function auditView(record: AuditRecord, nameOf: NameOf): AuditEvent {
  const { sequence, atMs, action, actor, locationId, resourceId, details } = record;
  const { grants, keys, ...texts } = details;
  const lists = {
    ...(typeof grants === 'string' && { grants: grantList.parse(JSON.parse(grants)) }),
    ...(typeof keys === 'string' && { keys: keyList.parse(JSON.parse(keys)) }),
  };
  return {
    id: String(sequence),
    at: formatTime(atMs),
    action,
    actor: { ...actor, name: nameOf(actor.id) },
    locationId,
    locationName: nameOf(locationId),
    resourceId,
    resourceName: nameOf(resourceId),
    details: { ...texts, ...lists },
  };
}

const COLUMNS = ['id', 'at', 'action', 'actorType', 'actorId', 'actorName', 'address', 'requestId'];
const CSV_COLUMNS = COLUMNS.concat([
  'locationId',
  'locationName',
  'resourceId',
  'resourceName',
  'details',
]);

function auditCsvLine(event: AuditEvent, { separator, timeText }: CsvForm): string {
  const { id, at, action, actor, locationId, locationName, resourceId, resourceName } = event;
  const cells: (string | null)[] = [id, timeText(at), action, actor.type, actor.id, actor.name];
  cells.push(actor.address, actor.requestId, locationId, locationName, resourceId, resourceName);
  return csvLine([...cells, JSON.stringify(event.details)], separator);
}

/** The present name for an id; null if it has none. */
type NameOf = (id: string | null) => string | null;

function namesOf({ model, accessTokens }: Pick<RouteServices, 'model' | 'accessTokens'>): NameOf {
  return (id) => {
    if (id === null) return null;
    if (id === ADMIN_TOKEN_ID) return accessTokens.nameOf(id);
    const record = model.location(id) ?? model.group(id) ?? model.room(id) ?? model.device(id);
    return record?.name ?? model.accessToken(id)?.name ?? null;
  };
}

const list = createRoute({
  method: 'get',
  path: '/audit',
  operationId: 'listAuditRecords',
  summary: 'List who did what, when and from where',
  description:
    'As `text/csv` (RFC 4180, with a header line) all records come at once: `limit` has no effect.',
  tags: ['Audit trail'],
  request: { query: auditQuerySchema },
  responses: {
    200: withCsv(preparedJson('A page of records.', auditPageSchema), CSV_COLUMNS),
    ...problems.granted,
  },
});

/** The audit trail, for the administrator. */
export function registerAudit(app: HttpApp, services: RouteServices): void {
  const { audit, cursors, access, log } = services;
  const nameOf = namesOf(services);
  const readPage = async ({ cursor, limit, before, after, ...filters }: AuditQuery) => {
    const { location, actor, resource, separator: _, timeZone: __, ...rest } = filters;
    const scope = {
      ...rest,
      beforeMs: before,
      afterMs: after,
      locationId: location,
      actorId: actor,
      resourceId: resource,
    };
    const start = cursor === undefined ? undefined : cursors.decode(cursor, scope);
    const { records, next, upToSequence } = await audit.page({
      ...scope,
      limit,
      upToSequence: start?.upToSequence,
      position: start?.sequence,
    });
    // Records are in the order of their numbers, so the position needs no time.
    const nextCursor =
      next === undefined
        ? null
        : cursors.encode({ timeMs: 0, sequence: next, upToSequence }, scope);
    return { nextCursor, events: records.map((record) => auditView(record, nameOf)) };
  };

  app.openapi({ ...list, middleware: [access.admin()] }, async (c) => {
    const query = c.req.valid('query');
    const following = (cursor: string | undefined) => readPage({ ...query, cursor });
    const first = await following(query.cursor);
    if (!wantsCsv(c)) {
      return c.body(JSON.stringify(first), 200, { 'Content-Type': JSON_MEDIA_TYPE });
    }
    const form = csvForm(query);
    const linesOf = ({ events }: AuditPage) =>
      events.map((event) => auditCsvLine(event, form)).join('');
    return csvResponse(c, log, { header: CSV_COLUMNS, form, linesOf, first, following });
  });
}
