/**
 * What a client may send over HTTP (contract 2): how a refusal names the faults of a body, that names are held to one
 * rule, and that no hostile request to any route makes the gateway fail.
 */
import fc from 'fast-check';
import { ALARM_KINDS } from '../../src/domain/alarms.js';
import { anyText } from '../harness/any-text.js';
import { type Asking, expect, NO_LIMITS, testWith } from '../harness/index.js';
import {
  bodyIsOptional,
  DEVICE_PATHS,
  fill,
  furnished,
  routesOf,
  SIGNED_PATHS,
  takesJson,
} from './routes.js';

const MAX_BODY_BYTES = 4096;
const test = testWith({
  env: {
    ...NO_LIMITS,
    GATEWAY_HTTP_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
    GATEWAY_FOOTAGE_MIN_FREE_BYTES: '0',
  },
});
const JSON_TYPE = { 'Content-Type': 'application/json' };
const UUID = /^[0-9a-f-]{36}$/;

/** Bodies that no schema of a route sees, or that no schema takes: refused by the same code for all routes. */
const BODIES: readonly [what: string, asking: Asking, outcome: string][] = [
  ...Object.entries({
    'an empty body': '',
    'half an object': '{"name":',
    'two values': '{}{}',
    'not JSON': 'name=x',
    'a byte order mark': '\ufeff{"name":"x"}',
    'a NUL after it': '{"name":"x"}\0',
    'UTF-16': Buffer.from('\ufeff{"name":"x"}', 'utf16le'),
    'a surrogate in UTF-8': Buffer.from('{"name":"\xed\xa0\x80"}', 'latin1'),
    'bytes that are not UTF-8': Buffer.from('{"name":"\xff\xfe"}', 'latin1'),
    'brackets as deep as fits': '['.repeat(MAX_BODY_BYTES / 2) + ']'.repeat(MAX_BODY_BYTES / 2),
    'a nested name': `{"name":${'['.repeat(2000)}${']'.repeat(2000)}}`,
    null: 'null',
    text: '"name"',
  }).map(([what, body]): [string, Asking, string] => {
    return [what, { headers: JSON_TYPE, body }, '400 invalid-request'];
  }),
  ...[
    'application/x-www-form-urlencoded',
    'application/json, text/plain',
    'application/merge-patch+json',
    'application/jsonx',
    '',
  ].map((type): [string, Asking, string] => {
    const asking = { headers: { 'Content-Type': type }, body: '{"name":"x"}' };
    return [`the type ${type}`, asking, '415 unsupported-media-type'];
  }),
  ['no type', { body: '{"name":"x"}' }, '415 unsupported-media-type'],
  [
    'a compressed body',
    { headers: { ...JSON_TYPE, 'Content-Encoding': 'gzip' }, body: '{"name":"x"}' },
    '415 unsupported-media-type',
  ],
  [
    'more than the limit',
    { headers: JSON_TYPE, body: '"x"'.padEnd(MAX_BODY_BYTES + 1) },
    '413 body-too-large',
  ],
  [
    'more than the limit, of unknown length',
    {
      headers: { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' },
      body: JSON.stringify('x'.repeat(1024 * 1024)),
    },
    '413 body-too-large',
  ],
  ['exactly the limit', { headers: JSON_TYPE, body: '{"name":"x"}'.padEnd(MAX_BODY_BYTES) }, '201'],
  [
    'a type with parameters',
    {
      headers: { 'Content-Type': 'APPLICATION/JSON ; charset="UTF-8"' },
      body: '{"name":"Bärlauch"}',
    },
    '201',
  ],
  [
    'two members of a name, the last of which counts',
    { headers: JSON_TYPE, body: '{"name":7,"name":"x","n\\u0061me":"y"}' },
    '201',
  ],
];

test.for(BODIES)('the body of a request: %s', async ([, asking, expected], { home }) => {
  const answer = await home.ask('POST', './groups', asking);
  expect(answer.outcome).toBe(expected);
  if (answer.status !== 400) return;
  // The fault is the whole body.
  const { errors = [] } = answer.problem;
  expect(errors.map(({ path }) => path)).toEqual([expect.stringMatching(/^(name)?$/)]);
});

test('every route with a body knows its fields, and takes JSON', async ({ home }) => {
  const { askAt } = await furnished(home);
  const routes = routesOf().filter(takesJson);
  expect(routes.length).toBeGreaterThan(10);
  for (const route of routes) {
    const { method, path } = route;
    const is = async (asking: Asking, expected: string) => {
      const { outcome } = await askAt(route, asking);
      expect([method, path, outcome]).toEqual([method, path, expected]);
    };
    await is({ json: { name: 'x', nmae: 'y' } }, '400 invalid-request');
    await is(
      { headers: { 'Content-Type': 'text/plain' }, body: '{"name":"x"}' },
      '415 unsupported-media-type',
    );
    if (!bodyIsOptional(route)) await is({}, '400 invalid-request');
  }
});

const SPACE = [
  '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008',
  '\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
].join('');
const MARKED = 'u\u0308';
const NAMES: readonly [sent: unknown, kept: string | undefined][] = [
  [' \t Haus Birke \u00a0\n', 'Haus Birke'],
  [`${SPACE}x${SPACE}`, 'x'],
  ['ü'.repeat(120), 'ü'.repeat(120)],
  [` ${'👵'.repeat(120)}\u3000`, '👵'.repeat(120)],
  [MARKED.repeat(60), MARKED.repeat(60)],
  ['x\u2028y', 'x\u2028y'],
  ['x\u200dy', 'x\u200dy'],
  ...['', SPACE, 'x'.repeat(121), '👵'.repeat(121), MARKED.repeat(61), '\u200d', '\u3164\u2060']
    .concat(['\u{e0001}', 'a\u202eb', 'a\u2066b', 'a\u0000b', 'a\nb', 'a\u0085b', 'a\u009fb'])
    .concat(['\u007f', '\ud800', 'a\udc00b', '\udc00\ud800'])
    .map((name): [string, undefined] => [name, undefined]),
  [7, undefined],
  [null, undefined],
  [['x'], undefined],
];

test('names have 1 to 120 visible code points, trimmed', async ({ home }) => {
  for (const [name, kept] of NAMES) {
    const answer = await home.ask('POST', './groups', { json: { name } });
    const seen = answer.status === 201 ? answer.string('name') : undefined;
    expect([name, seen]).toEqual([name, kept]);
    if (kept !== undefined) continue;
    expect(answer.problem.errors?.map(({ path }) => path)).toEqual(['name']);
  }
});

/** Requests and the faults that the answer names: `path: message`, or the paths alone. */
const FAULTS: readonly [method: string, path: string, asking: Asking, code: string, string[]][] = [
  [
    'POST',
    '/access-tokens',
    {
      json: {
        name: 7,
        grants: [{ location: '*', role: 'boss' }, { location: 7, role: 'viewer' }, 'viewer', {}],
        expiresAt: '2026-02-30T00:00:00Z',
        colour: 'red',
      },
    },
    'invalid-request',
    [
      'colour: is not a known field',
      'expiresAt: must be an RFC 3339 date-time with an offset',
      'grants.0.role: must be one of viewer, responder, manager, admin, publisher',
      'grants.1.location: must be "*" or the id of a location',
      'grants.2: must be an object with keys',
      'grants.3.location: must be "*" or the id of a location',
      'grants.3.role: is missing',
      'name: must be text',
    ],
  ],
  [
    'POST',
    '/access-tokens',
    { json: { grants: [] } },
    'invalid-request',
    ['grants: must not be empty', 'name: is missing'],
  ],
  [
    'POST',
    '/care-homes',
    { body: 'name=x', headers: JSON_TYPE },
    'invalid-request',
    [': The body must be JSON in UTF-8.'],
  ],
  [
    'POST',
    '/care-homes',
    { body: '\ufeff{}', headers: JSON_TYPE },
    'invalid-request',
    [': The body must be JSON in UTF-8, without a byte order mark.'],
  ],
  ['PATCH', './devices/D', { json: {} }, 'invalid-request', ['']],
  ['PATCH', './devices/D', { json: { limits: [] } }, 'invalid-request', ['limits']],
  ['PATCH', './devices/D', { json: { limits: { x: 5 } } }, 'invalid-request', ['limits.x']],
  ...[0, 1.5, '5'].map((alarmsPerDay): (typeof FAULTS)[number] => {
    const path = 'limits.alarmsPerDay';
    return [
      'PATCH',
      './devices/D',
      { json: { limits: { alarmsPerDay } } },
      'invalid-request',
      [path],
    ];
  }),
  [
    'POST',
    './devices/D/move',
    { json: {} },
    'invalid-request',
    [': must have exactly one of targetLocationId and targetRoomId'],
  ],
  [
    'PATCH',
    './rooms/R',
    { json: {} },
    'invalid-request',
    [': must have at least one of name and groupId'],
  ],
  ['GET', '/care-homes/x/devices/y', {}, 'invalid-request', ['deviceId', 'locationId']],
  ['GET', './devices/D/alarms?limit=0&order=up', {}, 'invalid-request', ['limit', 'order']],
  ['GET', '/audit?cursor=x', {}, 'invalid-cursor', ['cursor: does not belong to this query']],
  [
    'GET',
    './devices/D/alarms?cursor=x',
    {},
    'invalid-cursor',
    ['cursor: does not belong to this query'],
  ],
  ...['/%zz', '/care-homes/%', '/care-homes?x=%ff', '/care-homes/%c3%28/devices'].map(
    (path): (typeof FAULTS)[number] => {
      const message = ': The path or query is not well encoded.';
      return ['GET', path, {}, 'invalid-request', [message]];
    },
  ),
];

test('an answer 400 names each fault with its path, in plain words', async ({ home }) => {
  const { ids } = await furnished(home);
  for (const [method, template, asking, code, expected] of FAULTS) {
    const path = template.replace('/D', `/${ids.deviceId}`).replace('/R', `/${ids.roomId}`);
    const answer = await home.ask(method, path, asking);
    expect([template, answer.outcome]).toEqual([template, `400 ${code}`]);
    const errors = (answer.problem.errors ?? []).map((error) => `${error.path}: ${error.message}`);
    const isWhole = (text: string) => text.includes(': ');
    const seen = expected.some(isWhole) ? errors : errors.map((error) => error.split(':')[0]);
    expect([template, seen.toSorted()]).toEqual([template, expected]);
  }
});

const latin1 = (from: number, maxLength = 30) =>
  fc.string({
    unit: fc
      .integer({ min: from, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
    maxLength,
  });
/** Any text of a request target that does not end it, and of a header field. */
const [targetText, headerText] = [latin1(0x21), latin1(0x20)];
const encodedText = fc.oneof(
  anyText({ maxLength: 20 }).map((text) => encodeURIComponent(text)),
  fc.constantFrom('..', '%2e%2e', '%2F', '%00', '__proto__', 'constructor', '*', '%F0%9F%91%B5'),
  fc.constantFrom('%', '%zz', '%ff', '.', '', 'x'.repeat(8000)),
);
const QUERY_NAMES = ['before', 'after', 'order', 'limit', 'cursor', 'kinds', 'state', 'by'].concat([
  'actions',
  'location',
  'actor',
  'resource',
  'filter',
  'expires',
  'signature',
]);
const query = fc
  .array(
    fc.tuple(
      fc.oneof(fc.constantFrom(...QUERY_NAMES), encodedText),
      fc.oneof(
        encodedText,
        targetText,
        fc.constantFrom(...ALARM_KINDS, '1', '9'.repeat(400), 'asc', 'day', 'device.created'),
        fc.constantFrom(
          '9999-12-31T23:59:59Z',
          '0000-01-01T00:00:00Z',
          '1970-01-01T00:00:00-23:59',
        ),
      ),
    ),
    { maxLength: 4 },
  )
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'));
const header = fc.oneof(
  fc.tuple(
    fc.constantFrom('Content-Encoding', 'X-Forwarded-For', 'Accept', 'Cookie', 'Range', 'If-Match'),
    headerText,
  ),
  fc.constantFrom<[string, string][]>(
    ['Range', 'bytes=-0'],
    ['Range', `bytes=${'9'.repeat(99)}-`],
    ['If-None-Match', '*'],
    ['Content-Range', 'bytes 0-1/2'],
    ['Expect', '100-continue'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['Transfer-Encoding', 'chunked'],
  ),
);
/** The fields of all routes together, each with a plausible value or any other. */
function fields(ids: readonly string[]): fc.Arbitrary<unknown> {
  const or = (plausible: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 3, arbitrary: plausible }, { weight: 1, arbitrary: fc.anything() });
  const [id, name] = [or(fc.constantFrom(...ids)), or(anyText())];
  const grant = fc.record({
    location: id,
    role: or(fc.constantFrom('viewer', 'admin')),
    group: id,
  });
  const all = { name, id, groupId: id, grants: fc.array(grant), expiresAt: or(fc.constant(null)) };
  const moves = { targetLocationId: id, targetRoomId: id, targetGroupId: id, note: name };
  const footage = { type: or(fc.constant('video')), contentType: or(fc.constant('video/mp4')) };
  return fc.oneof(
    fc.record({ ...all, ...moves, ...footage }, { requiredKeys: [] }),
    fc.record({ name }),
    fc.dictionary(fc.string(), fc.anything({ withNullPrototype: true })),
  );
}

/** Replaces the big integers of `fc.anything`, which JSON lacks. */
const withoutBigInt = (_key: string, value: unknown) =>
  typeof value === 'bigint' ? String(value) : value;

test('no hostile request to a route makes the gateway fail', async ({ home }) => {
  const { device, ids } = await furnished(home);
  const camera = await home.device('Kamera');
  const prepared = await home.must('POST', `/devices/${camera.id}/footage`, {
    device: camera,
    json: { type: 'video', contentType: 'video/mp4' },
  });
  const signed = prepared.string('uploadUrl').replace(/^https?:\/\/[^/]*/, '');
  const body = fc.oneof(
    fc.constant(undefined),
    {
      weight: 5,
      arbitrary: fields(Object.values(ids)).map((one) => JSON.stringify(one, withoutBigInt)),
    },
    fc.json({ maxDepth: 5 }),
    fc.constantFrom('[', '{"a":'.repeat(500), '{"__proto__":{"name":"x"}}', '['.repeat(9_000)),
    fc.uint8Array({ maxLength: 2 * MAX_BODY_BYTES }),
  );
  const request = fc.record({
    route: fc.constantFrom(...routesOf()),
    hostile: fc.option(fc.oneof(encodedText, targetText), { freq: 2 }),
    search: fc.option(query, { freq: 2 }),
    more: fc.array(header, { maxLength: 2 }),
    type: fc.oneof({ weight: 6, arbitrary: fc.constant('application/json') }, headerText),
    token: fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, headerText),
    body,
  });
  const seen = new Set<string>();
  const check = async (method: string, path: string, asking: Asking) => {
    const answer = await home.ask(method, path, asking);
    expect(answer.status).toBeLessThan(500);
    expect(answer.headers['x-request-id']).toMatch(UUID);
    if (method === 'HEAD') expect(answer.text).toBe('');
    else if (answer.status >= 400) expect(answer.problem.code).not.toBe('internal-error');
    seen.add(`${method} ${answer.status}`);
  };
  await fc.assert(
    fc.asyncProperty(request, async ({ route, hostile, search, more, type, token, body: sent }) => {
      const { method, path } = route;
      // After a DELETE the others would only get 404: only the location, which has devices, stays.
      const kept = method === 'DELETE' ? { locationId: ids.locationId } : ids;
      const names = Array.from(path.matchAll(/:(\w+)/g), ([, name = '']) => name);
      const last = names.at(-1);
      const own = { ...kept, ...(last !== undefined && hostile !== null && { [last]: hostile }) };
      const filled = SIGNED_PATHS.includes(path) && hostile !== '' ? signed : fill(path, own);
      const headers = { 'Content-Type': type, ...Object.fromEntries(more) };
      await check(method, search === null ? filled : `${filled}?${search}`, {
        headers,
        ...(sent !== undefined && { body: sent }),
        ...(DEVICE_PATHS.includes(path) ? { device } : { token }),
      });
    }),
    { numRuns: 250 },
  );
  const inside = ['GET 200', 'POST 400', 'PATCH 400', 'DELETE 404'];
  expect(inside.filter((one) => !seen.has(one))).toEqual([]);
  const methods = fc.constantFrom(
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PURGE',
  );
  const paths = fc.oneof(
    fc.array(encodedText).map((levels) => `/${levels.join('/')}`),
    fc
      .tuple(fc.constantFrom(...routesOf()), targetText)
      .map(([{ path }, rest]) => fill(path, ids) + rest),
  );
  await fc.assert(
    fc.asyncProperty(methods, paths, (method, path) => check(method, path, {})),
    { numRuns: 75 },
  );
});
