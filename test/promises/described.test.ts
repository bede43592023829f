/**
 * The gateway describes itself (contract 2): OpenAPI and AsyncAPI documents that generators take, and pages for people
 * that load nothing from another host. Every answer and message of every test is checked against the documents.
 */
import { randomUUID } from 'node:crypto';
import { Parser } from '@asyncapi/parser';
import { validate } from '@readme/openapi-parser';
import { Ajv } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { chromium } from 'playwright-core';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { BASE64, DescribedHttp } from '../harness/described/described-http.js';
import { describedMqtt } from '../harness/described/described-mqtt.js';
import { expect, type Gateway, must, NO_LIMITS, testWith } from '../harness/index.js';
import {
  DEVICE_PATHS,
  describedRoutes,
  OPEN_PATHS,
  OPTIONAL_PATHS,
  SIGNED_PATHS,
  takesJson,
} from './routes.js';

const test = testWith({ env: NO_LIMITS });
const VERSION = z.object({ version: z.string() }).parse(packageJson).version;

const schemasOf = z.record(z.string(), z.looseObject({}));
const operationSchema = z.looseObject({
  operationId: z.string().regex(/^[a-z]+([A-Z][a-z]+)+$/),
  summary: z.string().regex(/^[A-Z][^.]*[^.]$/),
  tags: z.tuple([z.string()]),
  security: z.array(z.unknown()).optional(),
  requestBody: z.looseObject({ content: schemasOf }).optional(),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.string() })).default([]),
  responses: z.record(
    z.string(),
    z.looseObject({ headers: schemasOf, content: schemasOf.default({}) }),
  ),
});
const documentSchema = z.looseObject({
  openapi: z.literal('3.1.0'),
  info: z.looseObject({ version: z.literal(VERSION) }),
  tags: z.array(z.strictObject({ name: z.string(), description: z.string() })),
  components: z.looseObject({ schemas: schemasOf }),
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
});

async function openApi(gateway: Gateway) {
  const answer = await must(gateway, 'GET', '/openapi.json', { token: null });
  const document = documentSchema.parse(answer.json);
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
  return { answer, document, operations };
}

/** A validator that knows the formats and the named schemas of a document. */
function validatorOf<V extends Ajv | Ajv2020>(ajv: V, schemas: object): V {
  addFormats.default(ajv);
  ajv.addFormat('base64', BASE64);
  for (const [name, schema] of Object.entries(schemas)) {
    ajv.addSchema(schema, `#/components/schemas/${name}`);
  }
  return ajv;
}

test('/openapi.json is valid OpenAPI 3.1, with every route and no other', async ({ gateway }) => {
  const { answer, document, operations } = await openApi(gateway);
  expect(await validate(JSON.parse(answer.text))).toEqual({
    valid: true,
    warnings: [],
    specification: 'OpenAPI',
  });
  expect(answer.text).not.toMatch(/https?:\/\/(?!localhost:8080\/)/);
  const names = describedRoutes().map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  expect(operations.map(({ name }) => name).sort()).toEqual(names.sort());
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const tags = new Set(operations.flatMap(({ operation }) => operation.tags));
  expect(document.tags.map(({ name }) => name).sort()).toEqual([...tags].sort());
  expect(document['servers']).toEqual([{ url: './', description: 'This gateway.' }]);
});

test('each operation says what it takes, what it answers and who may', async ({ gateway }) => {
  const { operations } = await openApi(gateway);
  for (const route of describedRoutes()) {
    const { method, path } = route;
    const name = `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
    const operation = operations.find((one) => one.name === name)?.operation;
    const isDevices = DEVICE_PATHS.includes(path);
    const isOpen = [...OPEN_PATHS, ...OPTIONAL_PATHS, ...SIGNED_PATHS].includes(path);
    // `/metrics` is open to loopback only; `/readyz` says more with a token.
    const open = ['/metrics', '/readyz'].includes(path) ? [{}, { bearer: [] }] : [];
    const security = isDevices ? [{ device: [] }] : undefined;
    const ids = [...path.matchAll(/:(\w+)/g)].map(([, id]) => id);
    const hasBody = takesJson(route) || method === 'PUT' || name.startsWith('PATCH');
    expect([name, operation?.security, operation?.requestBody !== undefined]).toEqual([
      name,
      isOpen ? open : security,
      hasBody,
    ]);
    const inPath = operation?.parameters.filter((one) => one.in === 'path');
    expect([name, inPath?.map((one) => one.name)]).toEqual([name, ids]);
    const statuses = [
      expect.stringMatching(/^2\d\d$/),
      ...(isOpen ? [] : ['401', '429', '500']),
      ...(ids.length > 0 && !isOpen ? ['400', '403'] : []),
      // A device learns nothing about others.
      ...(ids.length > 0 && !isDevices ? ['404'] : []),
      ...(takesJson(route) ? ['400', '413', '415'] : []),
    ];
    const { responses = {} } = operation ?? {};
    expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(statuses)]);
    for (const [status, { headers, content }] of Object.entries(responses)) {
      const isProblem = Number(status) >= 400;
      const more = { 401: ['WWW-Authenticate'], 429: ['Retry-After'], 503: ['Retry-After'] };
      const expected = ['X-Request-Id', ...((isProblem && Object(more)[status]) || [])];
      expect([name, status, Object.keys(headers)]).toEqual([
        name,
        status,
        expect.arrayContaining(expected),
      ]);
      if (isProblem) expect(Object.keys(content)).toEqual(['application/problem+json']);
    }
  }
});

/** Values that the routes refuse. */
const REFUSED = [
  ['AlarmStateChange', 'note', '  '],
  ['NewFootage', 'contentType', ''],
  ['NewDevice', 'name', '\u200b'],
  ['NewDevice', 'name', 'a\u202eb'],
] as const;
const NULLABLE = [
  ['NewRoom', 'groupId'],
  ['RoomChange', 'groupId'],
  ['DeviceMove', 'targetRoomId'],
  ['NewAccessToken', 'expiresAt'],
] as const;

test('OpenAPI is as strict as the routes, and says where null may be', async ({ gateway }) => {
  const { components, paths } = (await openApi(gateway)).document;
  const property = (schema: string, name: string) =>
    Object(components.schemas[schema]?.['properties'])[name];
  for (const [schema, name, value] of REFUSED) {
    const { pattern } = property(schema, name);
    expect([schema, name, value, new RegExp(pattern, 'u').test(value)]).toEqual([
      schema,
      name,
      value,
      false,
    ]);
  }
  for (const [schema, name] of NULLABLE) {
    expect(property(schema, name)).toMatchObject({ type: ['string', 'null'] });
  }
  const { parameters } = Object(
    paths['/care-homes/{locationId}/devices/{deviceId}/alarms']?.['get'],
  );
  const query = parameters.filter((one: { in: string }) => one.in === 'query');
  expect(query.map((one: { name: string; required: boolean }) => [one.name, one.required])).toEqual(
    ['before', 'after', 'order', 'limit', 'kinds', 'state', 'cursor'].map((name) => [name, false]),
  );
  // Clients join the kinds with commas.
  expect(query.find(({ name }: { name: string }) => name === 'kinds')).toMatchObject({
    style: 'form',
    explode: false,
    schema: { type: 'array' },
  });
});

type Change = (exchange: Parameters<DescribedHttp['check']>[0]) => object;
const withHeader =
  (name: string, value: string | undefined): Change =>
  ({ headers }) => ({ headers: { ...headers, [name]: value } });
const withBody = (text: string, more: object) => JSON.stringify({ ...JSON.parse(text), ...more });
const CHANGES: readonly [change: Change, fault: string | undefined][] = [
  [() => ({}), undefined],
  [() => ({ status: 202 }), 'createDevice does not answer 202'],
  [({ text }) => ({ text: withBody(text, { secretHash: 'x' }) }), 'unevaluatedProperty'],
  [({ text }) => ({ text: withBody(text, { createdAt: undefined }) }), "property 'createdAt'"],
  [({ text }) => ({ text: withBody(text, { roomId: 7 }) }), '/roomId must be string,null'],
  [({ text }) => ({ text: withBody(text, { id: 'x' }) }), '/id must match format "uuid"'],
  [withHeader('content-type', 'text/html'), 'the content type text/html is not documented'],
  [withHeader('x-request-id', undefined), 'the header x-request-id is missing'],
  [() => ({ request: { mediaType: 'application/json', text: '{"name":null}' } }), '/name must be'],
  [() => ({ path: '/somewhere' }), 'there is no such operation'],
  [() => ({ method: 'PUT' }), 'there is no such operation'],
];

test('an answer that is not as described fails a test', async ({ home }) => {
  const described = new DescribedHttp((await home.must('GET', '/openapi.json')).json);
  const json = { name: 'Bett 1' };
  const { status, headers, text } = await home.must('POST', './devices', { json });
  const request = { mediaType: 'application/json', text: JSON.stringify(json) };
  const path = `${home.path}/devices`;
  const exchange = { method: 'POST', path, request, status, headers, text };
  for (const [change, fault] of CHANGES) {
    const check = () => described.check({ ...exchange, ...change(exchange) });
    if (fault === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(fault);
  }
});

const NAMED = { id: randomUUID(), name: 'Bett 1' };
const AT = '2026-11-21T12:00:00.000Z';
const PLACE = { device: NAMED, location: NAMED, room: null, group: null, customData: { bed: 1 } };
const UNDER = `care-homes/${NAMED.id}/devices/${NAMED.id}`;
const TIMES = { detectedAt: AT, receivedAt: AT, late: false, footage: ['video'] };
const ALARM = { id: NAMED.id, kind: 'fall', ...TIMES, ...PLACE };
const STATUS = { online: true, since: AT, ...PLACE };
const MESSAGES: readonly [
  topic: string,
  json: object,
  isDescribed: boolean,
  qos?: number,
  boolean?,
][] = [
  [`${UNDER}/alarms/fall`, ALARM, true],
  [`${UNDER}/alarms/fall`, { ...ALARM, data: { more: [1] }, reportedAt: 7 }, true, 0],
  [`${UNDER}/status`, STATUS, true, 1, true],
  [`${UNDER}/temperature/now`, { receivedAt: AT, data: 21.5, ...PLACE }, true, 0],
  [`${UNDER}/temperature/now`, { receivedAt: AT, base64: 'AAE=', ...PLACE }, true],
  [`devices/${NAMED.id}/commands/lamp`, { on: true }, true],
  [`${UNDER}/alarms/fall`, { ...ALARM, secret: 'x' }, false],
  [`${UNDER}/alarms/fall`, { ...ALARM, customData: undefined }, false],
  [`${UNDER}/alarms/fall`, { ...ALARM, kind: 'fell' }, false],
  [`${UNDER}/status`, { ...STATUS, device: { ...NAMED, x: 1 } }, false],
  [`${UNDER}/status`, { ...STATUS, since: 'yesterday' }, false],
  [`${UNDER}/t`, { receivedAt: AT, data: 1, base64: 'AAE=', ...PLACE }, false],
  [`${UNDER}/t`, { receivedAt: AT, ...PLACE }, false],
  ['gateway/secrets', STATUS, false],
  [`devices/${NAMED.id}/alarms`, ALARM, false],
  [`${UNDER}/alarms/fall`, ALARM, false, 2],
  [`${UNDER}/alarms/fall`, ALARM, false, 1, true],
];

test('a message that is not as described fails a test', () => {
  for (const [topic, json, isDescribed, qos = 1, retain = false] of MESSAGES) {
    const message = { topic, text: JSON.stringify(json), qos, retain };
    const check = () => describedMqtt.check(message);
    if (isDescribed) expect(check, message.text).not.toThrow();
    else expect(check, message.text).toThrow('is not as /asyncapi.json says');
  }
});

const asyncApiSchema = z.looseObject({
  info: z.looseObject({ version: z.literal(VERSION) }),
  servers: z.record(
    z.string(),
    z.looseObject({ variables: z.object({ port: z.object({ default: z.string() }) }) }),
  ),
  channels: z.record(z.string(), z.looseObject({ address: z.string() })),
  operations: schemasOf,
  components: z.looseObject({
    schemas: schemasOf,
    messages: z.record(
      z.string(),
      z.looseObject({
        payload: z.looseObject({}).optional(),
        headers: z.unknown().optional(),
        bindings: z.unknown().optional(),
        examples: z.array(z.looseObject({ payload: z.unknown() })).default([]),
      }),
    ),
  }),
});

/** The paths of nested schemas of which a generator makes a class; Java has one for a union with a class in it. */
function classesIn(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const inside = Object.entries(schema).flatMap(([key, part]) =>
    key === 'examples' ? [] : classesIn(part, `${path}/${key}`),
  );
  const isUnion = 'anyOf' in schema && JSON.stringify(schema.anyOf).includes('"$ref"');
  const isClass = 'properties' in schema && 'type' in schema;
  const isEnum = 'enum' in schema && 'type' in schema;
  return isUnion || isClass || isEnum ? [path, ...inside] : inside;
}

test('/asyncapi.json is valid AsyncAPI 3.0, and names every class', async ({ gateway }) => {
  const answer = await must(gateway, 'GET', '/asyncapi.json', { token: null });
  const { document, diagnostics } = await new Parser().parse(answer.text);
  // A newer version exists, but the contract asks for 3.0.
  const found = diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version');
  expect([found, document?.version()]).toEqual([[], '3.0.0']);
  const { servers, operations, components } = asyncApiSchema.parse(answer.json);
  const { schemas, messages } = components;
  expect(Object.keys(operations)).toHaveLength(Object.keys(messages).length);
  const ports = Object.values(servers).map(({ variables }) => variables.port.default);
  expect(ports).toEqual(
    expect.arrayContaining([String(gateway.mqttPort), String(gateway.httpPort)]),
  );
  const nameless = Object.entries(schemas).flatMap(([name, schema]) =>
    classesIn(schema, name).filter((path) => path !== name),
  );
  expect(nameless).toEqual([]);
  for (const [name, schema] of Object.entries(schemas)) expect(schema['title']).toBe(name);

  const ajv = validatorOf(new Ajv({ strict: false }), schemas);
  const withPayload = Object.entries(messages).filter(([, { payload }]) => payload !== undefined);
  expect(withPayload.length).toBeGreaterThan(7);
  for (const [name, { payload = {}, examples }] of withPayload) {
    expect(examples, name).toHaveLength(1);
    const isTaken = ajv.validate(payload, examples[0]?.payload);
    expect([name, isTaken, ajv.errors]).toEqual([name, true, null]);
  }
  // The properties of MQTT 5, where they are passed on.
  const passing = Object.entries(messages).filter(([, { headers }]) => headers !== undefined);
  expect(passing.map(([name]) => name)).toEqual(
    'publishedAlarm publishedMessage command deviceCommand alarm message'.split(' '),
  );
  for (const [, { bindings }] of passing) {
    expect(bindings).toMatchObject({ mqtt: { responseTopic: {}, correlationData: {} } });
  }
});

const NO_FRAME = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PAGES: readonly [path: string, policy: string][] = [
  ['/', `default-src 'self'; object-src 'none'; ${NO_FRAME}`],
  ['/docs', `connect-src 'self'; ${NO_FRAME}`],
];

test('the pages and their files come from this gateway alone', async ({ gateway, home }) => {
  const get = (path: string, headers = {}) => home.ask('GET', path, { token: null, headers });
  for (const [page, policy] of PAGES) {
    const { status, headers, text } = await get(page);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(String(headers['content-security-policy'])).toContain(policy);
    expect(String(headers['content-security-policy'])).toMatch(/^default-src '(none|self)';/);
    expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
    // Nothing that the policy would block.
    expect(text).not.toMatch(/<script>|<style|\son\w+=|\sstyle=/);
    const links = [...text.matchAll(/(?:src|href)="(?!data:)([^"#]+)"/g)].map(
      ([, link = '']) => link,
    );
    const places = links.map((link) => new URL(link, `${gateway.httpUrl}${page}`));
    expect(links.length).toBeGreaterThan(0);
    for (const { origin, pathname } of places) {
      expect([page, origin]).toEqual([page, gateway.httpUrl]);
      const file = await get(pathname);
      expect([pathname, file.status]).toEqual([pathname, 200]);
      const isHashed = /-[\w-]{8}\.\w+$/.test(pathname);
      if (/\.(js|css|svg)$/.test(pathname)) {
        expect(isHashed).toBe(pathname.startsWith('/console/'));
        const caching = isHashed ? 'public, max-age=31536000, immutable' : 'no-cache';
        expect(file.headers['cache-control']).toBe(caching);
        const packed = await home.ask('HEAD', pathname, { headers: { 'Accept-Encoding': 'gzip' } });
        expect(packed.headers['content-encoding']).toBe('gzip');
      }
      if (pathname.endsWith('.css')) expect(file.text).not.toMatch(/@import|url\(["']?http/);
    }
    // Sent again only if it has changed (RFC 9110, 15.4.5).
    const tag = String(headers.etag);
    expect(headers['cache-control']).toBe('no-cache');
    for (const known of [tag, tag.replace('W/', ''), `"other", ${tag}`, '*']) {
      const again = await get(page, { 'If-None-Match': known });
      expect([again.status, again.text, again.headers.etag]).toEqual([304, '', tag]);
      expect(again.headers.vary).toBe('Accept-Encoding');
    }
    expect((await get(page, { 'If-None-Match': '"other"' })).status).toBe(200);
  }
  const { text } = await get('/');
  for (const path of ['docs', 'openapi.json', 'asyncapi.json']) {
    expect(text).toContain(`<a href="${path}">`);
  }
  for (const path of [
    '/console',
    '/index.html',
    '/console/other.js',
    '/console/..%2findex.html',
  ].concat(['/docs/package.json', '/docs/..%2fpackage.json', '/docs/index.html', '/docs.html'])) {
    expect([path, (await get(path)).outcome]).toEqual([path, '404 not-found']);
  }
});

test('/docs shows every operation in a browser, which asks nobody else', async ({
  gateway,
  own,
}) => {
  const executablePath = '/usr/bin/chromium-headless-shell';
  const browser = await own.keep(chromium.launch({ executablePath }), (one) => one.close());
  const page = await browser.newPage();
  const faults: unknown[] = [];
  const origins = new Set<string>();
  page.on('request', (request) => origins.add(new URL(request.url()).origin));
  page.on('pageerror', (error) => faults.push(error));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  await page.goto(`${gateway.httpUrl}/docs`);
  const { operations } = await openApi(gateway);
  await expect.poll(() => page.locator('.opblock').count()).toBe(operations.length);
  expect(faults).toEqual([]);
  // Pictures of the style sheet are `data:`, whose origin is opaque.
  expect([...origins].filter((one) => one !== 'null')).toEqual([gateway.httpUrl]);
});
