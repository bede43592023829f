import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { type Answer, type CallOptions, failure, problemOf } from '../client.js';
import { basic } from '../footage/cameras.js';
import { MAX_BODY_BYTES, type TestGateway, useGateway } from '../harness.js';
import { bodyIsOptional, DEVICE_PATHS, fill, type Route, routesOf, takesJson } from '../routes.js';

const running = useGateway(useRedis());
const JSON_TYPE = { 'Content-Type': 'application/json' };
const namedBody = z.looseObject({ name: z.string() });

/** Every character with the Unicode property White_Space, and the one that JavaScript adds. */
const WHITE_SPACE = [
  '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008',
  '\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
].join('');

let created: ReturnType<typeof createWorld> | undefined;

/** A resource of each kind, for all tests: no request here moves or deletes one. */
function world(gateway: TestGateway) {
  created ??= createWorld(gateway);
  return created;
}

async function createWorld(gateway: TestGateway) {
  const locationId = await gateway.createLocation();
  const { id: deviceId, secret } = await gateway.createCamera(locationId);
  const place = await gateway.placeInGroup(locationId, deviceId);
  const { id: tokenId } = await gateway.issueToken([{ location: '*', role: 'viewer' }]);
  return { secret, ids: { locationId, deviceId, tokenId, ...place } };
}

/** Sends the same request to every route that takes JSON, as a permitted caller; returns the answers. */
async function everywhere(
  gateway: TestGateway,
  options: CallOptions,
  routes = routesOf().filter(takesJson),
): Promise<[name: string, answer: Answer][]> {
  const { ids, secret } = await world(gateway);
  const answers: [string, Answer][] = [];
  for (const { method, path } of routes) {
    const own = DEVICE_PATHS.includes(path) ? basic(ids.deviceId, secret) : {};
    const headers = { ...options.headers, ...own };
    const answer = await gateway.admin(method, fill(path, ids), { ...options, headers });
    answers.push([`${method} ${path}`, answer]);
  }
  return answers;
}

/** Asserts that all answers are this failure. */
function allAre(answers: readonly [name: string, answer: Answer][], expected: string): void {
  const found = answers.map(([name, answer]) => `${name} ${failure(answer)}`);
  expect(found).toEqual(answers.map(([name]) => `${name} ${expected}`));
}

describe('every route with a JSON body refuses', () => {
  const bodies: Readonly<Record<string, [CallOptions, string]>> = {
    'no body at all': [{}, '400 invalid-request'],
    'an empty body': [{ headers: JSON_TYPE, body: '' }, '400 invalid-request'],
    'half an object': [{ headers: JSON_TYPE, body: '{"name":' }, '400 invalid-request'],
    'two values': [{ headers: JSON_TYPE, body: '{}{}' }, '400 invalid-request'],
    'an array': [{ json: ['name'] }, '400 invalid-request'],
    null: [{ json: null }, '400 invalid-request'],
    'a byte order mark': [
      { headers: JSON_TYPE, body: '\ufeff{"name":"x"}' },
      '400 invalid-request',
    ],
    'a NUL after it': [{ headers: JSON_TYPE, body: '{"name":"x"}\0' }, '400 invalid-request'],
    'UTF-16': [
      { headers: JSON_TYPE, body: Buffer.from('\ufeff{"name":"x"}', 'utf16le') },
      '400 invalid-request',
    ],
    'a surrogate in UTF-8': [
      { headers: JSON_TYPE, body: Buffer.from('{"name":"\xed\xa0\x80"}', 'latin1') },
      '400 invalid-request',
    ],
    'a body that is not JSON, with an Expect header': [
      { headers: { ...JSON_TYPE, Expect: '100-continue' }, body: 'name=x' },
      '400 invalid-request',
    ],
    'brackets nested as deeply as fits': [
      { headers: JSON_TYPE, body: '['.repeat(MAX_BODY_BYTES / 2) + ']'.repeat(MAX_BODY_BYTES / 2) },
      '400 invalid-request',
    ],
    'a nested name': [
      { headers: JSON_TYPE, body: `{"name":${'['.repeat(2000)}${']'.repeat(2000)}}` },
      '400 invalid-request',
    ],
    'bytes that are not UTF-8': [
      { headers: JSON_TYPE, body: Buffer.from('{"name":"\xff\xfe"}', 'latin1') },
      '400 invalid-request',
    ],
    'an unknown field': [{ json: { name: 'x', nmae: 'y' } }, '400 invalid-request'],
    'text/plain': [
      { headers: { 'Content-Type': 'text/plain' }, body: '{"name":"x"}' },
      '415 unsupported-media-type',
    ],
    'a form': [
      { headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: 'name=x' },
      '415 unsupported-media-type',
    ],
    'two content types': [
      { headers: { 'Content-Type': 'application/json, text/plain' }, body: '{"name":"x"}' },
      '415 unsupported-media-type',
    ],
    'an empty content type': [
      { headers: { 'Content-Type': '' }, body: '{"name":"x"}' },
      '415 unsupported-media-type',
    ],
    'JSON of another kind': [
      { headers: { 'Content-Type': 'application/merge-patch+json' }, body: '{"name":"x"}' },
      '415 unsupported-media-type',
    ],
    'a body without a type': [{ body: '{"name":"x"}' }, '415 unsupported-media-type'],
    'a compressed body': [
      { headers: { ...JSON_TYPE, 'Content-Encoding': 'gzip' }, body: '{"name":"x"}' },
      '415 unsupported-media-type',
    ],
    'a body over the limit': [
      { headers: JSON_TYPE, body: JSON.stringify('x'.repeat(MAX_BODY_BYTES)) },
      '413 body-too-large',
    ],
    'a body over the limit, of unknown length': [
      {
        headers: { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' },
        body: JSON.stringify('x'.repeat(1024 * 1024)),
      },
      '413 body-too-large',
    ],
  };
  it.each(Object.entries(bodies))('%s', async (what, [options, expected]) => {
    const isMissing = options.body === '' || Object.keys(options).length === 0;
    const routes = routesOf().filter(
      (route) => takesJson(route) && !(isMissing && bodyIsOptional(route)),
    );
    // Other bodies are refused by shared code before a route is involved.
    const isOfRoute = ['no body at all', 'an array', 'an unknown field', 'text/plain'].includes(
      what,
    );
    const asked = isOfRoute ? routes : routes.filter(({ path }) => path === '/care-homes');
    const answers = await everywhere(running(), options, asked);
    expect(answers.length).toBeGreaterThan(isOfRoute ? 10 : 0);
    allAre(answers, expected);
  });
});

it('accepts a body of exactly the limit', async () => {
  const gateway = running();
  const body = '{"name":"Haus Birke"}'.padEnd(MAX_BODY_BYTES);
  const options = { headers: JSON_TYPE, body };
  expect((await gateway.admin('POST', '/care-homes', options)).status).toBe(201);
});

/** The routes whose body has a name. */
function namedRoutes(): Route[] {
  const takesName = (route: Route) =>
    !/\/(move|footage|test-alarm|drills)$/.test(route.path) && !bodyIsOptional(route);
  const routes = routesOf().filter((route) => takesJson(route) && takesName(route));
  expect(routes).toHaveLength(10);
  return routes;
}

/** The name of every resource after a body with these members, without the closing brace. */
async function namesAfter(members: string, type = 'application/json'): Promise<unknown[]> {
  const gateway = running();
  const headers = { 'Content-Type': type };
  const isOfToken = ({ path }: Route) => path === '/access-tokens';
  const [ofTokens, others] = [true, false].map((wanted) =>
    namedRoutes().filter((route) => isOfToken(route) === wanted),
  );
  const grants = ',"grants":[{"location":"*","role":"viewer"}]';
  const answers = [
    ...(await everywhere(gateway, { headers, body: `${members}}` }, others)),
    ...(await everywhere(gateway, { headers, body: `${members}${grants}}` }, ofTokens)),
  ];
  return answers.map(([name, answer]) => {
    expect([name, answer.status]).toEqual([name, name.startsWith('POST') ? 201 : 200]);
    return namedBody.parse(answer.json).name;
  });
}

it('accepts a content type with parameters, in any case', async () => {
  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json ; charset=iso-8859-1',
    'APPLICATION/JSON;',
  ]) {
    expect(new Set(await namesAfter('{"name":"Haus Bärlauch"', type))).toEqual(
      new Set(['Haus Bärlauch']),
    );
  }
});

it('uses the last of two members with the same name', async () => {
  expect(new Set(await namesAfter('{"name":7,"name":"x","n\\u0061me":"y"'))).toEqual(
    new Set(['y']),
  );
});

describe('names', () => {
  const accepted: [what: string, sent: string, kept: string][] = [
    ['white space around it', ' \t Haus Birke \u00a0\n', 'Haus Birke'],
    ['all white space of Unicode around it', `${WHITE_SPACE}x${WHITE_SPACE}`, 'x'],
    ['one character', 'x', 'x'],
    ['120 characters', 'ü'.repeat(120), 'ü'.repeat(120)],
    ['120 characters outside the first plane', '👵'.repeat(120), '👵'.repeat(120)],
    ['120 characters with combining marks', 'u\u0308'.repeat(60), 'u\u0308'.repeat(60)],
    ['120 characters and white space around them', ` ${'👵'.repeat(120)}\u3000`, '👵'.repeat(120)],
    ['a line separator in it', 'x\u2028y', 'x\u2028y'],
    ['an invisible character in it', 'x\u200dy', 'x\u200dy'],
  ];
  for (const [what, sent, kept] of accepted) {
    it(`may have ${what}, everywhere`, async () => {
      const names = await namesAfter(`{"name":${JSON.stringify(sent)}`);
      expect(new Set(names)).toEqual(new Set([kept]));
    });
  }

  const refused = [
    '',
    '   ',
    WHITE_SPACE,
    'x'.repeat(121),
    '👵'.repeat(121),
    'u\u0308'.repeat(61),
    '\u200d',
    '\u3164\u2060',
    '\u{e0001}',
    'a\u202eb',
    'a\u2066b',
    'a\u0000b',
    'a\nb',
    'a\u0085b',
    'a\u009fb',
    '\u007f',
    '\ud800',
    'a\udc00b',
    '\udc00\ud800',
    7,
    null,
  ];
  for (const name of refused) {
    it(`refuses ${JSON.stringify(name).slice(0, 12)}, everywhere`, async () => {
      const gateway = running();
      const answers = await everywhere(gateway, { json: { name } });
      expect(answers.length).toBeGreaterThan(10);
      allAre(answers, '400 invalid-request');
      const problem = problemOf(await gateway.admin('POST', '/care-homes', { json: { name } }));
      expect(problem.errors?.map(({ path }) => path)).toEqual(['name']);
    });
  }
});

it('names each faulty field', async () => {
  const gateway = running();
  const json = {
    name: 7,
    grants: [{ location: 'nowhere', role: 'king' }, {}],
    expiresAt: '2026-02-30T00:00:00Z',
    expiresAT: null,
  };
  const problem = problemOf(await gateway.admin('POST', '/access-tokens', { json }));
  expect(problem.errors?.map(({ path }) => path).sort()).toEqual([
    'expiresAT',
    'expiresAt',
    'grants.0.location',
    'grants.0.role',
    'grants.1.location',
    'grants.1.role',
    'name',
  ]);
});

it('describes each fault of a body in plain words, with its path', async () => {
  const gateway = running();
  const grants = [{ location: '*', role: 'boss' }, { location: 7, role: 'viewer' }, 'viewer'];
  const wrong = { name: 7, grants, expiresAt: 'soon', colour: 'red' };
  const { errors } = problemOf(await gateway.admin('POST', '/access-tokens', { json: wrong }));
  expect(errors?.map(({ path, message }) => `${path}: ${message}`).toSorted()).toEqual([
    'colour: is not a known field',
    'expiresAt: must be an RFC 3339 date-time with an offset',
    'grants.0.role: must be one of viewer, responder, manager, admin, publisher',
    'grants.1.location: must be "*" or the id of a location',
    'grants.2: must be an object with keys',
    'name: must be text',
  ]);
  const empty = problemOf(await gateway.admin('POST', '/access-tokens', { json: { grants: [] } }));
  expect(empty.errors).toEqual([
    { path: 'name', message: 'is missing' },
    { path: 'grants', message: 'must not be empty' },
  ]);
});
