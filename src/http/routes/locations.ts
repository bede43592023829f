import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { touchesLocation } from '../../domain/grants.js';
import type { Location } from '../../domain/site.js';
import { actorOf } from '../actor.js';
import { conditionalActor, entityTag, notModifiedIfKnown, tagged } from '../conditional.js';
import type { RouteServices } from '../dependencies.js';
import { createdResponse, jsonRequestBody, jsonResponse, problems } from '../documents/openapi.js';
import { itemRoutes } from '../documents/resource-routes.js';
import { callerOf, type HttpApp, type HttpEnv } from '../http-env.js';
import { idSchema, locationPathSchema, nameBodySchema } from '../schemas/common.js';
import { createdHeaders } from '../server/public-url.js';

const locationSchema = z
  .object({
    id: idSchema,
    name: z.string().openapi({ example: 'Haus Birke' }),
    devices: z.array(idSchema).openapi({
      description: 'Ids of the assigned devices that the access token covers.',
    }),
  })
  .openapi('Location');

/** A location in a response. */
function locationView(
  location: Location,
  deviceIds: readonly string[],
): z.infer<typeof locationSchema> {
  return { id: location.id, name: location.name, devices: [...deviceIds] };
}

const tags = ['Locations'];
const collection = '/care-homes';

const list = createRoute({
  method: 'get',
  path: collection,
  operationId: 'listLocations',
  summary: 'List the locations that the access token covers',
  tags,
  responses: { 200: jsonResponse('Locations.', z.array(locationSchema)) },
});

const create = createRoute({
  method: 'post',
  path: collection,
  operationId: 'createLocation',
  summary: 'Create a location',
  tags,
  request: { body: jsonRequestBody(nameBodySchema) },
  responses: {
    201: createdResponse('The location.', locationSchema),
    ...problems.granted,
  },
});

const { get, change, remove } = itemRoutes({
  path: `${collection}/{locationId}`,
  params: locationPathSchema,
  name: 'Location',
  view: locationSchema,
  change: nameBodySchema,
  summaries: {
    change: 'Rename a location',
    remove: 'Delete a location that has no devices, with its rooms and groups',
  },
  removing: problems.conflict,
});

/** Locations. */
export function registerLocations(app: HttpApp, services: RouteServices): void {
  const { locations, model, access, readsJson, publicUrl } = services;
  const viewOf = (c: Context<HttpEnv>, location: Location) => {
    const ids = access.devicesOf(c, location.id).map(({ id }) => id);
    return locationView(location, ids);
  };

  app.openapi(list, (c) => {
    const { grants } = callerOf(c);
    const deviceIds = access.deviceIdsByLocation(c);
    const visible = model.locations().filter(({ id }) => touchesLocation(grants, id));
    const views = visible.map((location) =>
      locationView(location, deviceIds.get(location.id) ?? []),
    );
    return c.json(views, 200);
  });

  app.openapi({ ...create, middleware: [access.admin(), readsJson] }, async (c) => {
    const location = await locations.create(actorOf(c), c.req.valid('json').name);
    return c.json(locationView(location, []), 201, createdHeaders(c, location.id, publicUrl));
  });

  const actorFor = (c: Context<HttpEnv>, locationId: string) =>
    conditionalActor(c, () => entityTag(viewOf(c, model.requireLocation(locationId))));

  const reads = [access.partOfLocation('viewer'), notModifiedIfKnown];
  app.openapi({ ...get, middleware: reads }, (c) => {
    const location = model.requireLocation(c.req.valid('param').locationId);
    return c.json(tagged(c, viewOf(c, location)), 200);
  });

  app.openapi({ ...change, middleware: [access.location('manager'), readsJson] }, async (c) => {
    const { locationId } = c.req.valid('param');
    const { name } = c.req.valid('json');
    const location = await locations.rename(actorFor(c, locationId), locationId, name);
    return c.json(tagged(c, viewOf(c, location)), 200);
  });

  app.openapi({ ...remove, middleware: [access.adminOfLocation()] }, async (c) => {
    const { locationId } = c.req.valid('param');
    await locations.delete(actorFor(c, locationId), locationId);
    return c.body(null, 204);
  });
}
