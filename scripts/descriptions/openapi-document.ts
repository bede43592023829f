import { isDeepStrictEqual } from 'node:util';
import type { HttpApp } from '../../src/http/http-env.js';
import { exampleProblems, PROBLEM_MEDIA_TYPE } from '../../src/http/problem.js';
import { derivedProblems } from './derived-problems.js';
import { exampleOf } from './examples.js';

type OpenApi = ReturnType<HttpApp['getOpenAPI31Document']>;
type PathItem = NonNullable<OpenApi['paths']>[string];
type Operation = NonNullable<PathItem['get']>;

/** Creates an example of a schema. */
type Example = (schema: unknown) => unknown;

/** The part of a response that is completed here. */
interface Response {
  readonly description?: string;
  readonly content?: Readonly<Record<string, object>>;
  readonly headers?: Readonly<Record<string, object>>;
}

/** Has the member `identifier` of OpenAPI 3.1, which the library's types lack. */
const LICENSE = { name: 'Apache License 2.0', identifier: 'Apache-2.0' };

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

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

/** The headers that responses refer to, by their names in `components.headers`. */
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
} as const;

/** Additional headers of problems, by status. */
const HEADERS_OF_PROBLEMS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  401: { 'WWW-Authenticate': headerReference('Challenge') },
  429: { 'Retry-After': headerReference('RetryAfter') },
  503: { 'Retry-After': headerReference('RetryAfter') },
};

const PROBLEM_EXAMPLES = Object.fromEntries(
  exampleProblems().map((value) => [`Problem${value.status}`, { value }]),
);

const PROBLEM = { $ref: '#/components/schemas/Problem' };

/**
 * The OpenAPI 3.1 document of the app's routes.
 *
 * Adds a request id on every response, the problems that follow from an operation's security and input, and an example
 * of every body.
 * The gateway fills in its version and its address (`src/http/built-files.ts`).
 */
export function openApiDocument(app: HttpApp): OpenApi {
  const registry = app.openAPIRegistry;
  for (const [name, header] of Object.entries(HEADERS)) {
    registry.registerComponent('headers', name, header);
  }
  registry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token, or the admin token.',
  });
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Care-home gateway',
      version: '%VERSION%',
      description: DESCRIPTION,
      license: LICENSE,
    },
    servers: [{ url: '%SERVER_URL%', description: 'This gateway.' }],
    tags: TAGS,
    security: [{ bearer: [] }],
  });
  const schemas = document.components?.schemas ?? {};
  const paths = Object.entries(document.paths ?? {}).map(([path, item]) => [
    path,
    completed(path, item, (schema) => exampleOf(schema, schemas)),
  ]);
  const used = Object.entries(PROBLEM_EXAMPLES).filter(([name]) =>
    JSON.stringify(paths).includes(`/examples/${name}"`),
  );
  const components = { ...document.components, examples: Object.fromEntries(used) };
  const { webhooks: _, ...described } = document;
  return { ...described, components, paths: Object.fromEntries(paths) };
}

function completed(path: string, item: PathItem, example: Example): PathItem {
  const operations = METHODS.flatMap((method): [string, Operation][] => {
    const operation = item[method];
    return operation === undefined ? [] : [[method, completedOperation(path, operation, example)]];
  });
  return { ...item, ...Object.fromEntries(operations) };
}

function completedOperation(path: string, operation: Operation, example: Example): Operation {
  const { requestBody } = operation;
  const responses = Object.entries({ ...derivedProblems(path, operation), ...operation.responses });
  return {
    ...operation,
    ...(requestBody !== undefined && { requestBody: withExamples(requestBody, example) }),
    responses: Object.fromEntries(
      responses.map(([status, response]) => [
        status,
        withHeaders(status, withExamples(response, example, status)),
      ]),
    ),
  };
}

/** A body or response with an example for each textual media type. */
function withExamples<Whole extends object>(
  whole: Whole,
  example: Example,
  status?: string,
): Whole {
  if (!('content' in whole) || typeof whole.content !== 'object') return whole;
  const entries = Object.entries(whole.content ?? {}).map(([type, media]: [string, object]) => {
    const schema = 'schema' in media ? media.schema : {};
    if (isDeepStrictEqual(schema, PROBLEM)) {
      return [type, { ...media, examples: problemExample(status) }];
    }
    const made = example(schema);
    return [type, made === undefined ? media : { ...media, example: made }];
  });
  return { ...whole, content: Object.fromEntries(entries) };
}

function withHeaders(status: string, response: Response): Response {
  const isProblem = PROBLEM_MEDIA_TYPE in (response.content ?? {});
  return {
    ...response,
    headers: {
      'X-Request-Id': headerReference('RequestId'),
      ...(isProblem ? HEADERS_OF_PROBLEMS[status] : {}),
      ...response.headers,
    },
  };
}

/** The example for a status; all its responses refer to it. */
function problemExample(status = '') {
  return { problem: { $ref: `#/components/examples/Problem${status}` } };
}

function headerReference(name: keyof typeof HEADERS): { readonly $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}
