/**
 * The OpenAPI 3.1 document of the routes.
 *
 * What follows from a route is added here: the problems, the headers of requests and answers, and whether a credential is
 * needed. Schemas are named by their `id`, and stand in `components`.
 */

import { z } from 'zod';
import { JSON_MEDIA_TYPE } from '../../src/http/body.js';
import { PROBLEM_MEDIA_TYPE, Problem } from '../../src/http/problem.js';
import { isIdName } from '../../src/http/rights.js';
import type { Route, Routes } from '../../src/http/route.js';

type Direction = 'input' | 'output';
type Schemas = Record<string, object>;

const DESCRIPTION = `Management of care homes, their rooms, groups and devices, and the history of
their alarms. The MQTT side is described by \`/asyncapi.json\`.

Ids are UUIDs. Bodies are JSON in UTF-8; unknown fields and query parameters of a request are refused.
Every failure is a problem document (RFC 9457) with a stable \`code\`, and every response carries
\`X-Request-Id\`, which is also in the gateway's log (that of a GET only at the level \`debug\`).

Permission is checked before existence: without a grant on a location the answer is 403 whether or
not it exists. A path that is not listed here is answered with 404, a method that is not listed with
405 and \`Allow\`, \`OPTIONS\` with 204 and \`Allow\`; every \`GET\` may be asked as \`HEAD\`. What cannot be
read as an HTTP request is 400, too large a head 431, one that does not arrive in time 408.`;

const TAGS = [
  { name: 'Locations', description: 'A location is a care home.' },
  { name: 'Groups', description: 'A group holds rooms of one location: a ward, a floor.' },
  { name: 'Rooms', description: 'A room is in at most one group.' },
  { name: 'Devices', description: 'A device is in one location, and in at most one of its rooms.' },
  { name: 'Custom data', description: 'Added to every message forwarded for a device.' },
  { name: 'Alarms', description: 'The history: an alarm belongs to where it happened.' },
  { name: 'Drills', description: 'Test alarms, to see whether alarms arrive everywhere.' },
  { name: 'Events', description: 'Forwarded messages as they come, for clients without MQTT.' },
  { name: 'Footage', description: 'Recordings of alarms: cameras upload them, by signed URLs.' },
  { name: 'Access tokens', description: 'Who may do what. For administrators.' },
  { name: 'Audit trail', description: 'Who did what, when and from where. For administrators.' },
  { name: 'Bridges', description: 'Connections to other brokers. For administrators.' },
  { name: 'Outputs', description: 'Webhooks. For administrators.' },
  { name: 'Connections', description: 'Who is connected over MQTT. For administrators.' },
  { name: 'Operation', description: 'For the operator. Mostly open to everybody.' },
];

/** The headers that responses refer to. */
const HEADERS = {
  RequestId: {
    description: 'The id that the gateway has given the request.',
    required: true,
    schema: { type: 'string' },
  },
  Challenge: {
    description: 'The scheme to authenticate with (RFC 9110, 11.6.1).',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer',
  },
  RetryAfter: {
    description: 'Seconds to wait before a retry.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  Location: {
    description: 'Where it is.',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
  },
  ETag: {
    description: 'For `If-Match` and `If-None-Match`.',
    schema: { type: 'string' },
  },
} as const;

const SECURITY = {
  none: [],
  signature: [],
  token: undefined,
  device: [{ device: [] }],
  'optional token': [{}, { bearer: [] }],
} as const satisfies Record<Route['credential'], unknown>;

/** Makes the document. */
export function openApiDocument(routes: Routes, version: string) {
  const schemas: Schemas = {};
  const paths: Record<string, Record<string, object>> = {};
  for (const [operationId, route] of Object.entries(routes)) {
    if (route.isHidden === true) continue;
    paths[route.path] = {
      ...paths[route.path],
      [route.method]: { operationId, ...operationOf(route, schemas) },
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Care-home gateway',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    // Relative to this document, and so right behind any proxy.
    servers: [{ url: './', description: 'This gateway.' }],
    tags: TAGS,
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas,
      headers: HEADERS,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token, or the admin token.',
        },
        device: { type: 'http', scheme: 'basic', description: "A device's id and secret." },
      },
    },
  };
}

function operationOf(route: Route, schemas: Schemas): object {
  const { tag, summary, description, credential } = route;
  const security = SECURITY[credential];
  const parameters = parametersOf(route, schemas);
  const requestBody = requestBodyOf(route, schemas);
  return {
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(security !== undefined && { security }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody !== undefined && { requestBody }),
    responses: responsesOf(route, schemas),
  };
}

function parametersOf(route: Route, schemas: Schemas): object[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', ...(isUuid(route, name) && { format: 'uuid' }) },
  }));
  const conditional = [
    ...(route.takesIfMatch
      ? [headerParameter('if-match', 'Entity tags; any other state is not changed.')]
      : []),
    ...(route.takesIfMatch
      ? [headerParameter('if-none-match', 'Entity tags; a state with one of them is not changed.')]
      : []),
    ...(route.hasEntityTag && !route.takesIfMatch
      ? [headerParameter('if-none-match', 'Entity tags that the caller has.')]
      : []),
  ];
  return [
    ...inPath,
    ...described(route.query, 'query', schemas),
    ...(route.headers === undefined ? [] : described(route.headers, 'header', schemas)),
    ...conditional,
  ];
}

/** A recording in a path is asked for byte by byte. */
function isUuid({ credential }: Route, name: string): boolean {
  return isIdName(name) && credential !== 'signature';
}

function headerParameter(name: string, description: string): object {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } };
}

const parameterSchema = z.looseObject({
  description: z.string().optional(),
  examples: z.array(z.unknown()).optional(),
  param: z.looseObject({}).optional(),
});

function described(shape: z.ZodObject, place: string, schemas: Schemas): object[] {
  return Object.entries(shape.shape).map(([name, schema]) => {
    const json = parameterSchema.parse(jsonSchemaOf(schema, 'input', schemas));
    const { description, examples, param, ...rest } = json;
    const required = !schema.safeParse(undefined).success;
    return {
      name,
      in: place,
      required,
      ...param,
      ...(description !== undefined && { description }),
      ...(examples !== undefined && { example: examples[0] }),
      schema: rest,
    };
  });
}

function requestBodyOf({ body, isBodyOptional, ownBody }: Route, schemas: Schemas) {
  const content = ownBody ?? (body && { [JSON_MEDIA_TYPE]: body });
  if (content === undefined) return undefined;
  return { required: isBodyOptional !== true, content: contentOf(content, 'input', schemas) };
}

function responsesOf(route: Route, schemas: Schemas): Record<string, object> {
  const { answer, alsoAnswers = {}, failure, hasEntityTag } = route;
  const hasJson = !(answer.schema instanceof z.ZodVoid);
  const media = { ...(hasJson && { [JSON_MEDIA_TYPE]: answer.schema }), ...answer.others };
  const content = contentOf(media, 'output', schemas);
  const tag = hasEntityTag ? { ETag: header('ETag') } : {};
  const successes: Record<number, object> = {
    [answer.status]: {
      description: answer.description,
      headers: { ...tag, ...(answer.status === 201 && { Location: header('Location') }) },
      ...(Object.keys(content).length > 0 && { content }),
    },
    ...(hasEntityTag &&
      !route.takesIfMatch && { 304: { description: 'The client has it already.', headers: tag } }),
  };
  for (const [status, description] of Object.entries(alsoAnswers)) {
    successes[Number(status)] = { description, ...(status !== '304' && { content }) };
  }
  const problems = { ...derivedProblems(route), ...route.problems };
  const failures = Object.entries(problems).map(([status, description]) => [
    status,
    problem(status, description, Problem, schemas),
  ]);
  const responses: Record<string, object> = { ...successes, ...Object.fromEntries(failures) };
  if (failure !== undefined) {
    const { status, description, schema } = failure;
    responses[status] = problem(String(status), description, schema, schemas);
  }
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [status, withRequestId(response)]),
  );
}

function withRequestId(response: object): object {
  const headers = 'headers' in response ? Object(response.headers) : {};
  return { ...response, headers: { 'X-Request-Id': header('RequestId'), ...headers } };
}

/** The problems that follow from a route's credential and input. */
function derivedProblems(route: Route): Record<number, string> {
  const { credential, path, query, body, ownBody, takesIfMatch } = route;
  const isOfToken = credential === 'token';
  const isOfDevice = credential === 'device';
  const needsCredential = isOfToken || isOfDevice;
  const hasName = path.includes('{');
  const hasInput =
    hasName || Object.keys(query.shape).length > 0 || (body ?? ownBody) !== undefined;
  const isJson = body !== undefined || (ownBody !== undefined && JSON_MEDIA_TYPE in ownBody);
  return {
    400: hasInput ? 'The request is invalid; `errors` says where.' : 'The request is malformed.',
    ...(isOfToken && {
      401: 'There is no access token, or not a valid one.',
      429: 'Too many invalid access tokens came from this address.',
    }),
    ...(isOfDevice && {
      401: 'Id and secret of a device are missing, or not valid.',
      403: 'This is another device.',
      429: 'Too many invalid credentials came from this address.',
    }),
    ...(isOfToken && route.needsPermission && { 403: 'The access token has no grant for this.' }),
    ...(isOfToken && hasName && { 404: 'There is no such resource; `code` says which.' }),
    ...(takesIfMatch && {
      412: '`If-Match` names another state of it, or `If-None-Match` this one; nothing was changed.',
    }),
    // Too much custom data is 400 (contract 2).
    ...(body !== undefined && { 413: 'The body is too large.' }),
    ...(isJson && { 415: 'The content type is not supported.' }),
    ...((needsCredential || isJson) && {
      503: 'The store does not answer, or this gateway stands by.',
    }),
    500: 'The gateway failed.',
  };
}

function problem(status: string, description: string, schema: z.ZodType, schemas: Schemas): object {
  return {
    description,
    headers: {
      ...(status === '401' && { 'WWW-Authenticate': header('Challenge') }),
      ...((status === '429' || status === '503') && { 'Retry-After': header('RetryAfter') }),
    },
    content: contentOf({ [PROBLEM_MEDIA_TYPE]: schema }, 'output', schemas),
  };
}

function header(name: keyof typeof HEADERS): { readonly $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}

function contentOf(
  media: Readonly<Record<string, z.ZodType>>,
  direction: Direction,
  schemas: Schemas,
): Record<string, object> {
  const entries = Object.entries(media).map(([type, schema]) => [
    type,
    { schema: jsonSchemaOf(schema, direction, schemas) },
  ]);
  return Object.fromEntries(entries);
}

/** JSON Schema of a schema; the named ones in it go to `schemas`. */
function jsonSchemaOf(schema: z.ZodType, io: Direction, schemas: Schemas): object {
  const made = z.toJSONSchema(z.object({ schema }), {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { id: _, ...given } = z.globalRegistry.get(zodSchema) ?? {};
      // What is said of a schema replaces what a transform in it hides.
      if ('type' in given) delete jsonSchema.anyOf;
      Object.assign(jsonSchema, given);
      // Zod bounds whole numbers by what JavaScript can count, which says nothing.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // A record of an enum is an object with these fields.
      const names = jsonSchema.propertyNames;
      if (names !== undefined && typeof names === 'object') {
        delete jsonSchema.propertyNames;
        if (names.enum !== undefined) {
          const { additionalProperties: field = {} } = jsonSchema;
          jsonSchema.properties = Object.fromEntries(
            names.enum.map((name) => [String(name), field]),
          );
          delete jsonSchema.additionalProperties;
        }
      }
      // Many generators know no `const`.
      if (jsonSchema.const !== undefined) {
        jsonSchema.enum = [jsonSchema.const];
        delete jsonSchema.const;
      }
      // Clients must tolerate fields that later versions add.
      const isStrict = zodSchema instanceof z.ZodObject && zodSchema.def.catchall !== undefined;
      if (io === 'output' && !isStrict && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
    },
  });
  const text = JSON.stringify(made).replaceAll('#/$defs/', '#/components/schemas/');
  const { properties, $defs = {} } = madeSchema.parse(JSON.parse(text, withNullAsType));
  Object.assign(schemas, $defs);
  return properties.schema;
}

/** Says of a simple type that may be null that it has two types: many generators know no `anyOf` of them. */
function withNullAsType(_name: string, value: unknown): unknown {
  const { anyOf, ...said } = z.looseObject({}).safeParse(value).data ?? {};
  const { data } = nullable.safeParse(anyOf);
  if (data === undefined) return value;
  const [{ type, enum: values, ...simple }] = data;
  const orNull = values === undefined ? {} : { enum: [...values, null] };
  return { ...simple, ...said, type: [type, 'null'], ...orNull };
}

const nullable = z.tuple([
  z.looseObject({ type: z.string(), enum: z.array(z.unknown()).optional() }),
  z.strictObject({ type: z.literal('null') }),
]);

const madeSchema = z.looseObject({
  properties: z.looseObject({ schema: z.looseObject({}) }),
  $defs: z.record(z.string(), z.looseObject({})).optional(),
});
