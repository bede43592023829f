import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Group } from '../../domain/site.js';
import type { GroupKey } from '../../site/site-store.js';
import { actorOf } from '../actor.js';
import { conditionalActor, entityTag, notModifiedIfKnown, tagged } from '../conditional.js';
import type { RouteServices } from '../dependencies.js';
import { problems } from '../documents/openapi.js';
import { createdRoute, itemRoutes, listRoute } from '../documents/resource-routes.js';
import type { HttpApp, HttpEnv } from '../http-env.js';
import {
  groupPathSchema,
  idSchema,
  locationPathSchema,
  nameBodySchema,
} from '../schemas/common.js';
import { createdHeaders } from '../server/public-url.js';

const groupSchema = z
  .object({
    id: idSchema,
    name: z.string().openapi({ example: 'Ground floor' }),
    rooms: z.array(idSchema).openapi({ description: 'Ids of the rooms in the group.' }),
  })
  .openapi('Group');

/** A group in a response. */
function groupView(group: Group, roomIds: readonly string[] = []): z.infer<typeof groupSchema> {
  return { id: group.id, name: group.name, rooms: [...roomIds] };
}

const collection = '/care-homes/{locationId}/groups';
const list = listRoute(collection, locationPathSchema, 'Group', groupSchema);
const create = createdRoute(collection, locationPathSchema, 'Group', groupSchema, nameBodySchema);
const { get, change, remove } = itemRoutes({
  path: `${collection}/{groupId}`,
  params: groupPathSchema,
  name: 'Group',
  view: groupSchema,
  change: nameBodySchema,
  summaries: { change: 'Rename a group', remove: 'Delete a group that has no rooms' },
  removing: problems.conflict,
});

/** The groups of a location. */
export function registerGroups(app: HttpApp, services: RouteServices): void {
  const { groups, model, access, readsJson, publicUrl } = services;

  app.openapi({ ...list, middleware: [access.partOfLocation('viewer')] }, (c) => {
    const { locationId } = c.req.valid('param');
    const roomIds = model.roomIdsByGroup(locationId);
    const covered = access.groupsOf(c, locationId);
    const views = covered.map((group) => groupView(group, roomIds.get(group.id)));
    return c.json(views, 200);
  });

  app.openapi({ ...create, middleware: [access.location('manager'), readsJson] }, async (c) => {
    const { locationId } = c.req.valid('param');
    const group = await groups.create(actorOf(c), locationId, c.req.valid('json').name);
    return c.json(groupView(group), 201, createdHeaders(c, group.id, publicUrl));
  });

  const viewOf = (group: Group) =>
    groupView(group, model.roomIdsByGroup(group.locationId).get(group.id));
  const actorFor = (c: Context<HttpEnv>, key: GroupKey) =>
    conditionalActor(c, () => entityTag(viewOf(model.requireGroup(key))));

  app.openapi({ ...get, middleware: [access.group('viewer'), notModifiedIfKnown] }, (c) =>
    c.json(tagged(c, viewOf(model.requireGroup(c.req.valid('param')))), 200),
  );

  app.openapi({ ...change, middleware: [access.group('manager'), readsJson] }, async (c) => {
    const key = c.req.valid('param');
    const group = await groups.rename(actorFor(c, key), key, c.req.valid('json').name);
    return c.json(tagged(c, viewOf(group)), 200);
  });

  app.openapi({ ...remove, middleware: [access.group('manager')] }, async (c) => {
    const key = c.req.valid('param');
    await groups.delete(actorFor(c, key), key);
    return c.body(null, 204);
  });
}
