/**
 * Routes as data, and what happens to a request of each: who asks and may, the query, the body, once more who asks and
 * may, the handler, the answer.
 *
 * Everything that follows from a route is not written down: which problems it has, the headers of conditional requests,
 * `Location`, 405 with `Allow`. The description of the interface is made from the same data.
 */

import { z } from 'zod';
import { fieldFaults } from '../domain/field-faults.js';
import { GatewayError } from '../errors.js';
import { JSON_MEDIA_TYPE, readJson } from './body.js';
import { Caller, type Callers } from './caller.js';
import { isKnown, requireMatch } from './conditional.js';
import type { HttpApp, HttpContext } from './frame.js';
import { invalidRequest } from './problem.js';
import { claim, type Ids, isIdName, type Right } from './rights.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
export type Method = (typeof METHODS)[number];

/** The names in a path: `/care-homes/{locationId}` has `locationId`. */
export type IdsIn<Path extends string> = Path extends `${string}{${infer Id}}${infer Rest}`
  ? Id | IdsIn<Rest>
  : never;

/** A successful answer. */
export interface Answer<Schema extends z.ZodType = z.ZodType> {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Of JSON; `z.void()` if there is none. */
  readonly schema: Schema;
  /** Of other media types, by their names. */
  readonly others?: Readonly<Record<string, z.ZodType>>;
}

/** An answer with JSON. */
export function json<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { status: 200, description, schema } as const satisfies Answer;
}

/** The answer to a request that creates something: its `id` is the last level of `Location`. */
export function created<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { status: 201, description, schema } as const satisfies Answer;
}

/** The answer to a request whose work goes on. */
export function accepted<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { status: 202, description, schema } as const satisfies Answer;
}

/** An answer without JSON. */
export const done = { status: 204, description: 'Done.', schema: z.void() } as const;

/** What a handler gets. */
export interface Call<Id extends string, Query = unknown, Body = unknown> {
  readonly c: HttpContext;
  /** Ids and names in the path; ids are in lower case. */
  readonly path: Ids<Id>;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
}

/** What a route says about itself. */
interface Description {
  /** The heading under which it is described. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Header fields that the handler reads. */
  readonly headers?: z.ZodObject;
  /** Whether the body may be left out, which stands for `{}`. */
  readonly isBodyOptional?: boolean;
  /** A body that the handler reads itself: schemas by media type. */
  readonly ownBody?: Readonly<Record<string, z.ZodType>>;
  /** What it refuses beyond what follows from the rest: descriptions by status. */
  readonly problems?: Readonly<Record<number, string>>;
  /** Other statuses of a success: descriptions by status. */
  readonly alsoAnswers?: Readonly<Record<number, string>>;
  /** A failure with content of its own. */
  readonly failure?: {
    readonly status: number;
    readonly description: string;
    readonly schema: z.ZodType;
  };
  /** Whether the description leaves it out. */
  readonly isHidden?: boolean;
}

interface Options<
  Id extends string,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Schema extends z.ZodType,
> extends Description {
  readonly right: Right<Id>;
  /** A strict object: an unknown parameter is a typo, and an ignored filter would return everything. */
  readonly query?: Query;
  readonly body?: Body;
  readonly answer: Answer<Schema>;
  /** The entity tag of what it changes, at the moment of the change: the route takes `If-Match`. */
  readonly tagNow?: (path: Ids<Id>, caller: Caller) => string;
  /** The entity tag of the answer. */
  readonly tagOf?: (content: z.output<Schema>) => string;
  /** Returns the content of the answer, or an answer that is no JSON. */
  readonly handle: (
    call: Call<Id, z.output<Query>, z.output<Body>>,
  ) => z.output<Schema> | Response | Promise<z.output<Schema> | Response>;
}

/** What answering needs besides the route. */
export interface Answering {
  readonly callers: Callers;
  readonly maxBodyBytes: number;
  readonly publicUrl: string | undefined;
}

/** A route, whatever it takes and answers. */
export interface Route extends Description {
  readonly method: Method;
  readonly path: string;
  readonly credential: Right['credential'];
  /** Whether not everyone with the credential may. */
  readonly needsPermission: boolean;
  readonly query: z.ZodObject;
  readonly body: z.ZodType | undefined;
  readonly answer: Answer;
  readonly takesIfMatch: boolean;
  readonly hasEntityTag: boolean;
  /** @throws GatewayError why it is refused */
  readonly respond: (c: HttpContext, answering: Answering) => Promise<Response>;
}

/** Routes by their operation ids. */
export type Routes = Readonly<Record<string, Route>>;

const NO_PARAMETERS = z.strictObject({});

export const get = method('get');
export const post = method('post');
export const put = method('put');
export const patch = method('patch');
export const del = method('delete');

/** The function that makes routes of a method; the names in the path are those that its right and its handler get. */
function method(name: Method) {
  return <
    const Path extends string,
    Schema extends z.ZodType,
    Query extends z.ZodObject = z.ZodObject,
    Body extends z.ZodType = z.ZodUndefined,
  >(
    path: Path,
    options: Options<IdsIn<Path>, Query, Body, Schema>,
  ): Route => route(name, path, options);
}

/** Makes a route of data. */
export function route<
  Id extends string,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Schema extends z.ZodType,
>(method: Method, path: string, options: Options<Id, Query, Body, Schema>): Route {
  const { right, query, body, tagNow, tagOf, handle: _, ...described } = options;
  return {
    ...described,
    method,
    path,
    credential: right.credential,
    needsPermission: right.permits !== undefined,
    query: query ?? NO_PARAMETERS,
    body,
    takesIfMatch: tagNow !== undefined,
    hasEntityTag: tagOf !== undefined,
    respond: (c, answering) => respond(c, options, answering),
  };
}

async function respond<
  Id extends string,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Schema extends z.ZodType,
>(
  c: HttpContext,
  options: Options<Id, Query, Body, Schema>,
  { callers, maxBodyBytes, publicUrl }: Answering,
): Promise<Response> {
  const { right, tagNow, tagOf, answer } = options;
  const path = idsOf<Id>(c);
  const caller = new Caller(c, right.identify(callers, c));
  claim(caller, right, path);
  const query = parsedQuery(c, options.query);
  const text = await bodyOf(c, options, maxBodyBytes);
  // The caller decides how long a body takes.
  if (text !== undefined) caller.checkAgain();
  const body = parsedBody(options.body, text);
  if (tagNow !== undefined) caller.mustAtChange(() => requireMatch(c, () => tagNow(path, caller)));
  const content = await options.handle({ c, path, query, body, caller });
  if (content instanceof Response) return content;
  if (tagOf !== undefined) {
    const tag = tagOf(content);
    c.header('ETag', tag);
    if (tagNow === undefined && isKnown(c, tag)) return c.body(null, 304);
  }
  if (answer.status === 204) return c.body(null, 204);
  if (answer.status === 201) {
    const { id } = withId.parse(content);
    c.header('Location', `${publicUrl ?? ''}${c.req.path}/${id}`);
  }
  return c.body(JSON.stringify(content), answer.status, { 'Content-Type': JSON_MEDIA_TYPE });
}

const withId = z.looseObject({ id: z.string() });

/** The ids (in lower case) and names in the path of the route. */
function idsOf<Id extends string>(c: HttpContext): Ids<Id> {
  const ids = Object.entries(c.req.param()).map(([name, value]) => [
    name,
    isIdName(name) ? value.toLowerCase() : value,
  ]);
  return z.custom<Ids<Id>>().parse(Object.fromEntries(ids));
}

/** @throws GatewayError `invalid-request` */
function parsedQuery<Query extends z.ZodObject>(
  c: HttpContext,
  schema: Query | undefined,
): z.output<Query> {
  const { searchParams } = new URL(c.req.url);
  const values = [...new Set(searchParams.keys())].map((name) => {
    const all = searchParams.getAll(name);
    return [name, all.length === 1 ? all[0] : all];
  });
  const query = parsed(schema ?? NO_PARAMETERS, Object.fromEntries(values), 'parameter');
  return z.custom<z.output<Query>>().parse(query);
}

/** The JSON text of the body; undefined if the route takes none. @throws GatewayError those of `readJson` */
async function bodyOf(
  c: HttpContext,
  { body, isBodyOptional }: { readonly body?: z.ZodType; readonly isBodyOptional?: boolean },
  maxBytes: number,
): Promise<string | undefined> {
  if (body === undefined) return undefined;
  return readJson(c, maxBytes, isBodyOptional === true ? '{}' : undefined);
}

/** @throws GatewayError `invalid-request` */
function parsedBody<Body extends z.ZodType>(
  schema: Body | undefined,
  text: string | undefined,
): z.output<Body> {
  if (schema === undefined || text === undefined) {
    return z.custom<z.output<Body>>().parse(undefined);
  }
  return parsed(schema, JSON.parse(text), 'field');
}

function parsed<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(fieldFaults(result.error, `is not a known ${what}`));
}

/** Has the app answer these routes, and every other method of their paths with 405 (RFC 9110, 15.5.6). */
export function mount(app: HttpApp, routes: Routes, answering: Answering): void {
  const all = Object.values(routes);
  // A path that is a route itself is no id in another route.
  const paths = [...new Set(all.map(({ path }) => path))].toSorted(
    (one, other) => one.split('{').length - other.split('{').length,
  );
  for (const path of paths) {
    const ofPath = all.filter((route) => route.path === path);
    const routePath = path.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const route of ofPath) {
      app.on(route.method.toUpperCase(), routePath, (c) => {
        c.set('route', routePath);
        return route.respond(c, answering);
      });
    }
    refuseOtherMethods(
      app,
      routePath,
      ofPath.map((route) => route.method),
    );
  }
}

/** Answers OPTIONS, and refuses the methods that a path does not take; call it after those that it takes. */
export function refuseOtherMethods(app: HttpApp, path: string, methods: readonly Method[]): void {
  const taken = METHODS.filter((one) => methods.includes(one)).map((one) => one.toUpperCase());
  const allowed = [...taken, ...(methods.includes('get') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  app.all(path, (c) => {
    c.header('Allow', allowed);
    if (c.req.method === 'OPTIONS') return c.body(null, 204);
    throw new GatewayError('method-not-allowed', 'This path does not take this method.');
  });
}
