/**
 * What a client may send over HTTP (contract 2): how a refusal names the faults of a body, that names are held to one
 * rule, and that no hostile request to any route makes the gateway fail.
 */
import fc from 'fast-check';
import { ALARM_KINDS } from '../../src/domain/alarm.js';
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

type Sent = readonly [what: string, body: string | Uint8Array, headers?: Record<string, string>];
const NO_JSON: readonly Sent[] = [
  ['an empty body', ''],
  ['half an object', '{"name":'],
  ['two values', '{}{}'],
  ['not JSON', 'name=x'],
  ['a byte order mark', '\ufeff{"name":"x"}'],
  ['a NUL after it', '{"name":"x"}\0'],
  ['UTF-16', Buffer.from('\ufeff{"name":"x"}', 'utf16le')],
  ['a surrogate in UTF-8', Buffer.from('{"name":"\xed\xa0\x80"}', 'latin1')],
  ['bytes that are not UTF-8', Buffer.from('{"name":"\xff\xfe"}', 'latin1')],
  ['brackets as deep as fits', '['.repeat(MAX_BODY_BYTES / 2) + ']'.repeat(MAX_BODY_BYTES / 2)],
  ['a nested name', `{"name":${'['.repeat(2000)}${']'.repeat(2000)}}`],
  ['null', 'null'],
  ['text', '"name"'],
];
const NO_TYPE: readonly Sent[] = [
  ['a form', 'name=x', { 'Content-Type': 'application/x-www-form-urlencoded' }],
  ['two types', '{"name":"x"}', { 'Content-Type': 'application/json, text/plain' }],
  ['a patch', '{"name":"x"}', { 'Content-Type': 'application/merge-patch+json' }],
  ['an unknown type', '{"name":"x"}', { 'Content-Type': 'application/jsonx' }],
  ['an empty type', '{"name":"x"}', { 'Content-Type': '' }],
  ['no type', '{"name":"x"}', {}],
  ['a compressed body', '{"name":"x"}', { ...JSON_TYPE, 'Content-Encoding': 'gzip' }],
];
const CHUNKED = { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' };
const TOO_LARGE: readonly Sent[] = [
  ['more than the limit', '"x"'.padEnd(MAX_BODY_BYTES + 1)],
  ['more than the limit, of unknown length', '"x"'.padEnd(1024 * 1024), CHUNKED],
];
const TAKEN: readonly Sent[] = [
  ['exactly the limit', '{"name":"y"}'.padEnd(MAX_BODY_BYTES)],
  ['a type with parameters', '{"name":"y"}', { 'Content-Type': 'APPLICATION/JSON ; charset="x"' }],
  ['two names, of which the last counts', '{"name":7,"name":"x","n\\u0061me":"y"}'],
];
const BODIES = [
  ...NO_JSON.map((sent) => ({ sent, outcome: '400 invalid-request' })),
  ...NO_TYPE.map((sent) => ({ sent, outcome: '415 unsupported-media-type' })),
  ...TOO_LARGE.map((sent) => ({ sent, outcome: '413 body-too-large' })),
  ...TAKEN.map((sent) => ({ sent, outcome: '201' })),
];

// The same code reads the bodies of all routes.
test.for(BODIES)('a body: $sent.0 is $outcome', async ({ sent, outcome }, { home }) => {
  const [, body, headers = JSON_TYPE] = sent;
  const answer = await home.ask('POST', './groups', { body, headers });
  expect(answer.outcome).toBe(outcome);
  if (answer.status === 201) expect(answer.string('name')).toBe('y');
  // The fault is the whole body.
  if (answer.status !== 400) return;
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

/** Requests and the faults that the answer names, as `path: message`. */
type Fault = readonly [method: string, path: string, json: unknown, faults: readonly string[]];
const NO_TIME = 'supervision.silentAfterSeconds: ';
const TOKEN = {
  name: 7,
  grants: [{ location: '*', role: 'boss' }, { location: 7, role: 'viewer' }, 'viewer', {}],
  expiresAt: '2026-02-30T00:00:00Z',
  colour: 'red',
};
const FAULTS: readonly Fault[] = [
  [
    'POST',
    '/access-tokens',
    TOKEN,
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
  ['POST', '/access-tokens', { grants: [] }, ['grants: must not be empty', 'name: is missing']],
  ['PATCH', './devices/D', {}, [': ']],
  ['PATCH', './devices/D', { supervision: [] }, ['supervision: ']],
  ['PATCH', './devices/D', { supervision: { x: 5 } }, ['supervision.x: ']],
  ['PATCH', './devices/D', { supervision: { silentAfterSeconds: 0 } }, [NO_TIME]],
  ['PATCH', './devices/D', { supervision: { silentAfterSeconds: 60.5 } }, [NO_TIME]],
  ['PATCH', './devices/D', { supervision: { silentAfterSeconds: '60' } }, [NO_TIME]],
  ['PATCH', './rooms/R', {}, [': must have at least one of name and groupId']],
  [
    'POST',
    './devices/D/move',
    {},
    [': must have exactly one of targetLocationId and targetRoomId'],
  ],
  ['GET', '/care-homes/x/devices/y', undefined, ['deviceId: ', 'locationId: ']],
  ['GET', './devices/D/alarms?limit=0&order=up', undefined, ['limit: ', 'order: ']],
  ['GET', '/audit?cursor=x', undefined, ['cursor: does not belong to this query']],
  ['GET', './devices/D/alarms?cursor=x', undefined, ['cursor: does not belong to this query']],
  ...['/%zz', '/care-homes/%', '/care-homes?x=%ff', '/care-homes/%c3%28/devices'].map(
    (path): Fault => ['GET', path, undefined, [': The path or query is not well encoded.']],
  ),
];

test('an answer 400 names each fault with its path, in plain words', async ({ home }) => {
  const { ids } = await furnished(home);
  for (const [method, template, json, faults] of FAULTS) {
    const path = template.replace('/D', `/${ids.deviceId}`).replace('/R', `/${ids.roomId}`);
    const { problem } = await home.ask(method, path, { json });
    const code = template.includes('cursor') ? 'invalid-cursor' : 'invalid-request';
    expect([template, problem.status, problem.code]).toEqual([template, 400, code]);
    const named = (problem.errors ?? []).map((error) => `${error.path}: ${error.message}`).sort();
    const expected = faults.map((fault) => expect.stringContaining(fault));
    expect([template, json, named]).toEqual([template, json, expected]);
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
  // Some get past the first checks.
  expect([...seen]).toEqual(expect.arrayContaining(['GET 200', 'POST 400', 'PATCH 400']));
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
