import { createRoute, z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/notation.js';
import { ACTOR_TYPES, AUDIT_ACTIONS, type AuditRecord } from '../../site/audit-trail.js';
import type { RouteServices } from '../dependencies.js';
import { jsonResponse, problems } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';
import { grantSchema } from '../schemas/access-token.js';
import { EXAMPLE_ID, idSchema, timestampSchema, uuidSchema } from '../schemas/common.js';
import {
  afterParameter,
  beforeParameter,
  choiceParameter,
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
    resourceId: z.string().nullable().openapi({ example: EXAMPLE_ID }),
    details: z.record(z.string(), z.union([z.string().nullable(), ...LISTS])).openapi({
      description: 'Texts, except `grants` and `keys`, which are lists.',
      example: { name: 'Haus Birke' },
    }),
  })
  .openapi('AuditEvent');

const auditPageSchema = z
  .object({ nextCursor: nextCursorSchema, events: z.array(auditEventSchema) })
  .openapi('AuditPage');

function auditView(record: AuditRecord): z.infer<typeof auditEventSchema> {
  const { sequence, atMs, action, actor, locationId, resourceId, details } = record;
  const { grants, keys, ...texts } = details;
  const lists = {
    ...(typeof grants === 'string' && { grants: grantList.parse(JSON.parse(grants)) }),
    ...(typeof keys === 'string' && { keys: keyList.parse(JSON.parse(keys)) }),
  };
  const shown = { action, actor, locationId, resourceId, details: { ...texts, ...lists } };
  return { id: String(sequence), at: formatTime(atMs), ...shown };
}

const list = createRoute({
  method: 'get',
  path: '/audit',
  operationId: 'listAuditRecords',
  summary: 'List who did what, when and from where',
  tags: ['Audit trail'],
  request: { query: auditQuerySchema },
  responses: {
    200: jsonResponse('A page of records.', auditPageSchema),
    ...problems.granted,
    ...problems.invalid,
    ...problems.store,
  },
});

/** The audit trail, for the administrator. */
export function registerAudit(app: HttpApp, services: RouteServices): void {
  const { audit, cursors, access } = services;

  app.openapi({ ...list, middleware: [access.admin()] }, async (c) => {
    const { cursor, limit, before, after, location, actor, resource, ...rest } =
      c.req.valid('query');
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
    // The place in the order of numbers needs no time.
    const nextCursor =
      next === undefined
        ? null
        : cursors.encode({ timeMs: 0, sequence: next, upToSequence }, scope);
    return c.json({ nextCursor, events: records.map(auditView) }, 200);
  });
}
