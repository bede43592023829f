import { createRoute } from '@hono/zod-openapi';
import type { RouteServices } from '../dependencies.js';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, problems } from '../openapi.js';
import { auditPageSchema, auditQuerySchema, auditView } from '../schemas/audit.js';

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
      ...{ ...rest, beforeMs: before, afterMs: after },
      ...{ locationId: location, actorId: actor, resourceId: resource },
    };
    const start = cursor === undefined ? undefined : cursors.decode(cursor, scope);
    const { records, next, upToSequence } = await audit.page({
      ...{ ...scope, limit },
      upToSequence: start?.upToSequence,
      position: start && { atMs: start.timeMs, sequence: start.sequence },
    });
    const position = next && { timeMs: next.atMs, sequence: next.sequence, upToSequence };
    const nextCursor = position === undefined ? null : cursors.encode(position, scope);
    return c.json({ nextCursor, events: records.map(auditView) }, 200);
  });
}
