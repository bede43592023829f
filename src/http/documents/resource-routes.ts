import { createRoute, type z } from '@hono/zod-openapi';
import {
  createdResponse,
  ifMatchHeaders,
  ifNoneMatchHeaders,
  jsonRequestBody,
  jsonResponse,
  noContent,
  notModified,
  type problems,
  taggedResponse,
} from './openapi.js';

/** A resource with an entity tag, for the description of its routes. */
interface Resource<Path extends string, Params, View, Change, Removing> {
  readonly path: Path;
  readonly params: Params;
  /** In the singular, as in operation ids: `Room`. */
  readonly name: string;
  readonly view: View;
  readonly change: Change;
  /** Summaries of changing and of deleting it. */
  readonly summaries: { readonly change: string; readonly remove: string };
  /** Why deleting it may be refused. */
  readonly removing: Removing;
}

/** The routes that read, change and delete one resource, each conditional (docs/reference/contract.md, 2). */
export function itemRoutes<
  Path extends string,
  Params extends z.ZodObject,
  View extends z.ZodType,
  Change extends z.ZodType,
  Removing extends Partial<typeof problems.conflict>,
>(resource: Resource<Path, Params, View, Change, Removing>) {
  const { path, params, name, view, change, summaries, removing } = resource;
  const noun = name.toLowerCase();
  const common = { path, tags: [`${name}s`] };
  const answer = taggedResponse(`The ${noun}.`, view);
  return {
    get: createRoute({
      ...common,
      method: 'get',
      operationId: `get${name}`,
      summary: `Get a ${noun}`,
      request: { params, headers: ifNoneMatchHeaders },
      responses: { 200: answer, ...notModified },
    }),
    change: createRoute({
      ...common,
      method: 'patch',
      operationId: `update${name}`,
      summary: summaries.change,
      request: { params, headers: ifMatchHeaders, body: jsonRequestBody(change) },
      responses: { 200: answer },
    }),
    remove: createRoute({
      ...common,
      method: 'delete',
      operationId: `delete${name}`,
      summary: summaries.remove,
      request: { params, headers: ifMatchHeaders },
      responses: {
        204: noContent,
        ...removing,
      },
    }),
  };
}

/** The route that lists the resources of a location that the caller's grants cover. */
export function listRoute<Path extends string, Params extends z.ZodObject, View extends z.ZodType>(
  path: Path,
  params: Params,
  name: string,
  view: View,
) {
  const nouns = `${name.toLowerCase()}s`;
  return createRoute({
    method: 'get',
    path,
    operationId: `list${name}s`,
    summary: `List the ${nouns} that the access token covers`,
    tags: [`${name}s`],
    request: { params },
    responses: { 200: jsonResponse(`${name}s.`, view.array()) },
  });
}

/** The route that creates a resource in a location. */
export function createdRoute<
  Path extends string,
  Params extends z.ZodObject,
  View extends z.ZodType,
  New extends z.ZodType,
>(path: Path, params: Params, name: string, view: View, body: New) {
  const noun = name.toLowerCase();
  return createRoute({
    method: 'post',
    path,
    operationId: `create${name}`,
    summary: `Create a ${noun}`,
    tags: [`${name}s`],
    request: { params, body: jsonRequestBody(body) },
    responses: { 201: createdResponse(`The ${noun}.`, view) },
  });
}
