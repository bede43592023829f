import { validate } from '@readme/openapi-parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { ALARM_KINDS } from '../../../src/domain/alarms.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { BASE64 } from '../../harness/described/described-http.js';
import { startGateway, useGateway } from '../harness.js';
import {
  DEVICE_PATHS,
  OPEN_PATHS,
  type Route,
  routesOf,
  SIGNED_PATHS,
  takesJson,
} from '../routes.js';

const redis = useRedis();

const operationSchema = z.looseObject({
  operationId: z.string().regex(/^[a-z]+([A-Z][a-z]+)+$/),
  summary: z.string().regex(/^[A-Z][^.]*[^.]$/),
  tags: z.tuple([z.string()]),
  security: z.array(z.unknown()).optional(),
  requestBody: z.looseObject({ content: z.record(z.string(), z.unknown()) }).optional(),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.string() })).optional(),
  responses: z.record(
    z.string(),
    z.looseObject({
      description: z.string().min(1),
      headers: z.record(z.string(), z.unknown()),
      content: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});
const documentSchema = z.looseObject({
  openapi: z.literal('3.1.0'),
  info: z.looseObject({ version: z.literal('1.2.3') }),
  security: z.tuple([z.strictObject({ bearer: z.tuple([]) })]),
  tags: z.array(z.strictObject({ name: z.string(), description: z.string() })),
  components: z.looseObject({
    securitySchemes: z.looseObject({
      bearer: z.looseObject({ type: z.literal('http'), scheme: z.literal('bearer') }),
    }),
    schemas: z.record(z.string(), z.unknown()),
  }),
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
});

const running = useGateway(redis);

async function read() {
  const answer = await running().call('GET', '/openapi.json');
  return { answer, document: documentSchema.parse(answer.json) };
}

it('is valid OpenAPI 3.1', async () => {
  const { document } = await read();
  expect(await validate(JSON.parse(JSON.stringify(document)))).toEqual({
    valid: true,
    warnings: [],
    specification: 'OpenAPI',
  });
});

/** Every whole schema under a `schema` or among the components. */
function schemasIn(part: unknown): unknown[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) => {
    if (key === 'schema') return [value];
    return key === 'schemas' ? Object.values(value) : schemasIn(value);
  });
}

it('has only valid schemas', async () => {
  const { document } = await read();
  const schemas = schemasIn(document);
  expect(schemas.length).toBeGreaterThan(200);
  const ajv = new Ajv2020({ strict: false });
  for (const schema of schemas) {
    const isValid = ajv.validateSchema(z.record(z.string(), z.unknown()).parse(schema));
    expect([schema, isValid, ajv.errors]).toEqual([schema, true, null]);
  }
});

it('gives every operation a unique name, and a described tag', async () => {
  const { document } = await read();
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  const names = operations.map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(names.length);
  const tags = new Set(operations.flatMap((operation) => operation.tags));
  expect(document.tags.map(({ name }) => name).toSorted()).toEqual([...tags].toSorted());
});

it('describes the headers of each answer', async () => {
  const { document } = await read();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const { responses } of Object.values(item)) {
      for (const [status, { headers, content = {} }] of Object.entries(responses)) {
        const isProblem = 'application/problem+json' in content;
        const more = status === '401' ? ['WWW-Authenticate'] : ['Retry-After'];
        const expected = isProblem && ['401', '429', '503'].includes(status) ? more : [];
        expect([path, status, Object.keys(headers)]).toEqual([
          path,
          status,
          expect.arrayContaining(['X-Request-Id', ...expected]),
        ]);
      }
    }
  }
});

it('describes where null may be sent', async () => {
  const { document } = await read();
  const nullable = { type: ['string', 'null'] };
  expect(document.components.schemas).toMatchObject({
    NewRoom: { properties: { groupId: nullable } },
    RoomChange: { properties: { groupId: nullable } },
    DeviceMove: { properties: { targetRoomId: nullable } },
    NewAccessToken: { properties: { expiresAt: nullable } },
  });
});

it('has a success response for every operation', async () => {
  const { document } = await read();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const { responses } of Object.values(item)) {
      expect([path, ...Object.keys(responses)]).toContainEqual(expect.stringMatching(/^2\d\d$/));
    }
  }
});

/** The routes that the document lists; MQTT over WebSocket is not part of the HTTP interface. */
function describedRoutesOf(): Route[] {
  return routesOf().filter(({ path }) => path !== '/mqtt');
}

it('lists every HTTP route, and nothing else', async () => {
  const { document } = await read();
  const listed = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const routes = describedRoutesOf().map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  expect(listed.sort()).toEqual(routes.sort());
});

it('describes for each route its input, its answers and whether it is open', async () => {
  const { document } = await read();
  for (const route of describedRoutesOf()) {
    const template = route.path.replaceAll(/:(\w+)/g, '{$1}');
    const operation = document.paths[template]?.[route.method.toLowerCase()];
    const name = `${route.method} ${template}`;
    const isOpen = [...OPEN_PATHS, ...SIGNED_PATHS].includes(route.path);
    // `/metrics` is open only to loopback.
    const open = ['/metrics', '/readyz'].includes(route.path) ? [{}, { bearer: [] }] : [];
    const security = DEVICE_PATHS.includes(route.path) ? [{ device: [] }] : undefined;
    expect([name, operation?.security]).toEqual([name, isOpen ? open : security]);
    const statuses = Object.keys(operation?.responses ?? {});
    const pathParameters = [...route.path.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter);
    expect(
      operation?.parameters?.filter((one) => one.in === 'path').map((one) => one.name) ?? [],
    ).toEqual(pathParameters);
    const expected = [
      ...(isOpen ? [] : ['401', '429', '500']),
      ...(pathParameters.length > 0 && !isOpen ? ['400', '403'] : []),
      // A device learns nothing about others.
      ...(pathParameters.length > 0 && !DEVICE_PATHS.includes(route.path) ? ['404'] : []),
      ...(takesJson(route) ? ['400', '413', '415'] : []),
    ];
    expect([name, statuses]).toEqual([name, expect.arrayContaining(expected)]);
    expect([name, operation?.requestBody !== undefined]).toEqual([
      name,
      takesJson(route) ||
        route.method === 'PUT' ||
        (route.method === 'PATCH' && route.path.endsWith('/custom-data')),
    ]);
    for (const [status, { content }] of Object.entries(operation?.responses ?? {})) {
      if (Number(status) < 400) continue;
      expect(Object.keys(content ?? {})).toEqual(['application/problem+json']);
    }
  }
});

it('describes the query of the alarm listings', async () => {
  const { document } = await read();
  const listing = document.paths['/care-homes/{locationId}/devices/{deviceId}/alarms']?.['get'];
  const query = listing?.parameters?.filter((one) => one.in === 'query') ?? [];
  expect(query.map(({ name, required }) => [name, required])).toEqual(
    ['before', 'after', 'order', 'limit', 'kinds', 'state', 'cursor'].map((name) => [name, false]),
  );
});

/** The example of a media type, inline or by reference. */
const mediaSchema = z.looseObject({
  schema: z.looseObject({}),
  example: z.unknown().optional(),
  examples: z.strictObject({ problem: z.strictObject({ $ref: z.string() }) }).optional(),
});
/** Bodies that are files, not texts of the interface. */
const FILES = ['text/html', 'text/css', 'text/javascript', 'video/*', 'audio/*'];

it('has an example of every body and every answer, which its schema accepts', async () => {
  const { document } = await read();
  const problems = z
    .record(z.string(), z.strictObject({ value: z.unknown() }))
    .parse(document.components['examples']);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addFormat('base64', BASE64);
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    ajv.addSchema(z.looseObject({}).parse(schema), `#/components/schemas/${name}`);
  }
  const faults: unknown[] = [];
  // Compiled once each: most answers have the schema of problems.
  const schemas = new Map<string, object>();
  let count = 0;
  for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
    const bodies = [operation.requestBody, ...Object.values(operation.responses)];
    for (const [type, media] of bodies.flatMap((body) => Object.entries(body?.content ?? {}))) {
      if (FILES.includes(type)) continue;
      const { schema, example, examples } = mediaSchema.parse(media);
      const shown = problems[examples?.problem.$ref.split('/').at(-1) ?? '']?.value ?? example;
      count++;
      const text = JSON.stringify(schema);
      schemas.set(text, schemas.get(text) ?? schema);
      if (!ajv.validate(schemas.get(text) ?? {}, shown)) {
        faults.push([operation.operationId, type, shown, ajv.errors]);
      }
    }
  }
  expect(faults).toEqual([]);
  expect(count).toBeGreaterThan(200);
});

it('states where the gateway is, and its licence', async () => {
  const { document } = await read();
  expect(document['servers']).toEqual([{ url: '/', description: 'This gateway.' }]);
  expect(document.info).toMatchObject({ license: { identifier: 'Apache-2.0' } });
  const proxied = await startGateway(redis, {
    environment: { GATEWAY_HTTP_PUBLIC_URL: 'https://gateway.test/care/' },
  });
  const { json } = await proxied.call('GET', '/openapi.json');
  expect(json).toMatchObject({ servers: [{ url: 'https://gateway.test/care' }] });
});

it('describes the kinds of alarms as an array, which clients join with commas', async () => {
  const { document } = await read();
  const { parameters = [] } = document.paths['/care-homes/{locationId}/alarms']?.['get'] ?? {};
  expect(parameters.find(({ name }) => name === 'kinds')).toMatchObject({
    style: 'form',
    explode: false,
    schema: {
      type: 'array',
      items: { type: 'string', enum: ALARM_KINDS },
      example: ['fall', 'helpCall'],
    },
  });
});

it('references nothing undefined, and no other host', async () => {
  const { answer, document } = await read();
  const references = [...answer.text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
  expect(references.length).toBeGreaterThan(20);
  for (const [, name = ''] of references) expect(document.components.schemas).toHaveProperty(name);
  expect(answer.text).not.toMatch(/https?:\/\/(?!localhost:8080\/)/);
});

it('is as strict as the routes: no pattern matches a value that is always refused', async () => {
  const { document } = await read();
  const patterned = z.looseObject({ pattern: z.string() });
  const refused = [
    ['AlarmStateChange', 'note', ''],
    ['AlarmStateChange', 'note', '  '],
    ['NewFootage', 'contentType', ''],
    ['NewDevice', 'name', '\u200b'],
    ['NewDevice', 'name', 'a\u202eb'],
  ] as const;
  for (const [schema, property, value] of refused) {
    const { properties } = z
      .looseObject({ properties: z.record(z.string(), z.unknown()) })
      .parse(document.components.schemas[schema]);
    const { pattern } = patterned.parse(properties[property]);
    expect(new RegExp(pattern, 'u').test(value), `${property} ${value}`).toBe(false);
  }
});
