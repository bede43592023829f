import { describe, expect, it } from 'vitest';
import type { CallOptions } from './client.js';
import { failure, problemOf } from './client.js';
import { MAX_BODY_BYTES, startGateway, type TestGateway, useRedis } from './harness.js';
import { fill, protectedRoutesOf, takesJson } from './routes.js';

const redis = useRedis();
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Sends the same to every route that takes JSON, and returns `method path status code` of each. */
async function everywhere(gateway: TestGateway, options: CallOptions): Promise<string[]> {
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  const ids = { locationId, deviceId, ...(await gateway.placeInGroup(locationId, deviceId)) };
  const answers: string[] = [];
  for (const { method, path } of protectedRoutesOf(gateway.app).filter(takesJson)) {
    const answer = await gateway.admin(method, fill(path, ids), options);
    answers.push(`${method} ${path} ${failure(answer)}`);
  }
  expect(answers.length).toBeGreaterThan(4);
  return answers;
}

/** Asserts that all of them are this one. */
function allAre(answers: readonly string[], expected: string): void {
  const wrong = answers.filter((answer) => !answer.endsWith(` ${expected}`));
  expect(wrong).toEqual([]);
}

describe('every route with a JSON body refuses', () => {
  const bodies: Readonly<Record<string, [CallOptions, string]>> = {
    'no body at all': [{}, '400 invalid-request'],
    'an empty body': [{ headers: JSON_TYPE, body: '' }, '400 invalid-request'],
    'half an object': [{ headers: JSON_TYPE, body: '{"name":' }, '400 invalid-request'],
    'two values': [{ headers: JSON_TYPE, body: '{}{}' }, '400 invalid-request'],
    'no object': [{ json: ['name'] }, '400 invalid-request'],
    null: [{ json: null }, '400 invalid-request'],
    'a byte order mark': [
      { headers: JSON_TYPE, body: '\ufeff{"name":"x"}' },
      '400 invalid-request',
    ],
    'bytes that are not UTF-8': [
      { headers: JSON_TYPE, body: Buffer.from('{"name":"\xff\xfe"}', 'latin1') },
      '400 invalid-request',
    ],
    'a field it does not know': [{ json: { name: 'x', nmae: 'y' } }, '400 invalid-request'],
    'text/plain': [
      { headers: { 'Content-Type': 'text/plain' }, body: '{"name":"x"}' },
      '415 unsupported-media-type',
    ],
    'a form': [
      { headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: 'name=x' },
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
  for (const [what, [options, expected]] of Object.entries(bodies)) {
    it(what, async () => {
      allAre(await everywhere(await startGateway(redis), options), expected);
    });
  }
});

it('takes a body of exactly the limit', async () => {
  const gateway = await startGateway(redis);
  const body = '{"name":"Haus Birke"}'.padEnd(MAX_BODY_BYTES);
  const options = { headers: JSON_TYPE, body };
  expect((await gateway.admin('POST', '/care-homes', options)).status).toBe(201);
});

it('takes a content type with parameters, in either case', async () => {
  const gateway = await startGateway(redis);
  for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
    const options = { headers: { 'Content-Type': type }, body: '{"name":"Haus Birke"}' };
    expect((await gateway.admin('POST', '/care-homes', options)).status).toBe(201);
  }
});

describe('names', () => {
  const accepted: [string, string][] = [
    [' \t Haus Birke \u00a0\n', 'Haus Birke'],
    ['x', 'x'],
    ['ü'.repeat(120), 'ü'.repeat(120)],
    ['👵'.repeat(120), '👵'.repeat(120)],
  ];
  for (const [sent, kept] of accepted) {
    it(`takes ${JSON.stringify(sent.slice(0, 12))} (${[...sent].length})`, async () => {
      const gateway = await startGateway(redis);
      const answer = await gateway.admin('POST', '/care-homes', { json: { name: sent } });
      expect(answer.status).toBe(201);
      expect(answer.json).toMatchObject({ name: kept });
    });
  }

  const refused = [
    '',
    '   ',
    'x'.repeat(121),
    '👵'.repeat(121),
    'a\u0000b',
    'a\nb',
    '\ud800',
    7,
    null,
  ];
  for (const name of refused) {
    it(`refuses ${JSON.stringify(name).slice(0, 12)}, everywhere`, async () => {
      const gateway = await startGateway(redis);
      allAre(await everywhere(gateway, { json: { name } }), '400 invalid-request');
      const problem = problemOf(await gateway.admin('POST', '/care-homes', { json: { name } }));
      expect(problem.errors?.map(({ path }) => path)).toEqual(['name']);
    });
  }
});

it('names each field that is wrong', async () => {
  const gateway = await startGateway(redis);
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
