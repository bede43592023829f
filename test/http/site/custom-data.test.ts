import { describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { MAX_BODY_BYTES, type TestGateway, useGateway } from '../harness.js';

const running = useGateway(useRedis());
const JSON_TYPE = 'application/json';
const MERGE = 'application/merge-patch+json';

async function freshPath(gateway: TestGateway): Promise<string> {
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  return `/care-homes/${locationId}/devices/${deviceId}/custom-data`;
}

async function start() {
  const gateway = running();
  const path = await freshPath(gateway);
  return {
    gateway,
    path,
    get: async () => (await gateway.admin('GET', path)).text,
    patch: (body: string | Buffer, type = JSON_TYPE) =>
      gateway.admin('PATCH', path, { body, headers: { 'Content-Type': type } }),
  };
}

/** An object of exactly this many bytes, mostly of two-byte characters. */
function objectOf(bytes: number): string {
  const open = '{"a":"';
  const room = bytes - open.length - 2;
  return `${open}${'ü'.repeat(Math.floor(room / 2))}${'x'.repeat(room % 2)}"}`;
}

describe('custom data', () => {
  it('is an empty object at first', async () => {
    const { gateway, path } = await start();
    const answer = await gateway.admin('GET', path);
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    expect(answer.headers['content-type']).toBe('application/json');
  });

  it('is replaced as a whole, and keeps its spelling', async () => {
    const { patch, get } = await start();
    const texts = [
      '{"a":1}',
      '{ "big": 9007199254740993, "one": 1.10, "tiny": 1e-400, "neg": -0 }',
      '{"__proto__":{"x":1},"constructor":null,"b":1,"a":2,"10":1,"9":2}',
      '{"z":"\\u00fc\\ud83d\\ude00","ü":"👵"}',
      '\n{}\n',
    ];
    for (const text of texts) {
      const answer = await patch(text);
      expect([answer.status, answer.text]).toEqual([200, text]);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(await get()).toBe(text);
    }
  });

  it('is merged by RFC 7396 on request, keeping the spelling of untouched members', async () => {
    const { patch, get } = await start();
    await patch('{"keep":1.10,"drop":1,"deep":{"a":9007199254740993,"b":2}}');
    const answer = await patch('{"drop":null,"deep":{"b":null,"c":1e2},"new":[null]}', MERGE);
    const merged = '{"keep":1.10,"deep":{"a":9007199254740993,"c":1e2},"new":[null]}';
    expect([answer.status, answer.text]).toEqual([200, merged]);
    expect(await get()).toBe(merged);
    await patch('{}');
    expect(await get()).toBe('{}');
  });

  it('may have 1024 bytes, not characters', async () => {
    const { patch, get } = await start();
    const largest = objectOf(1024);
    expect(Buffer.byteLength(largest)).toBe(1024);
    expect((await patch(largest)).status).toBe(200);
    for (const bytes of [1025, 2000, MAX_BODY_BYTES + 1, 1024 * 1024]) {
      expect(failure(await patch(objectOf(bytes)))).toBe('400 invalid-custom-data');
    }
    expect(await get()).toBe(largest);
  });

  it('is limited as received, padding included, even without a Content-Length', async () => {
    const { gateway, path, patch, get } = await start();
    expect(failure(await patch('{}'.padEnd(1025)))).toBe('400 invalid-custom-data');
    const chunked = { 'Content-Type': JSON_TYPE, 'Transfer-Encoding': 'chunked' };
    const answer = await gateway.admin('PATCH', path, { body: objectOf(1e6), headers: chunked });
    expect(failure(answer)).toBe('400 invalid-custom-data');
    expect(await get()).toBe('{}');
  });

  it('is limited after merging, too', async () => {
    const { patch, get } = await start();
    const before = `{"a":"${'x'.repeat(900)}"}`;
    await patch(before);
    const answer = await patch(`{"b":"${'x'.repeat(200)}"}`, MERGE);
    expect(failure(answer)).toBe('400 invalid-custom-data');
    expect(await get()).toBe(before);
  });

  const unusable: Readonly<Record<string, string | Buffer>> = {
    nothing: '',
    'half an object': '{"a":1',
    'two objects': '{}{}',
    'an array': '[1]',
    'a string': '"{}"',
    'a number': '1',
    null: 'null',
    'single quotes': "{'a':1}",
    'a comment': '{/**/}',
    'a byte order mark': '\ufeff{}',
    'a control character': '{"a":"\u0001"}',
    'not UTF-8': Buffer.from('{"a":"\xff"}', 'latin1'),
    'UTF-16': Buffer.from('{}', 'utf16le'),
  };
  for (const [what, body] of Object.entries(unusable)) {
    it(`is not ${what}`, async () => {
      const { patch, get } = await start();
      for (const type of [JSON_TYPE, MERGE]) {
        expect(failure(await patch(body, type))).toBe('400 invalid-custom-data');
      }
      expect(await get()).toBe('{}');
    });
  }

  it('accepts two content types of its own', async () => {
    const { gateway, path, patch } = await start();
    for (const type of ['text/plain', 'application/json-patch+json', 'application/jsonx', 'json']) {
      expect(failure(await patch('{}', type))).toBe('415 unsupported-media-type');
    }
    const untyped = await gateway.admin('PATCH', path, { body: '{}' });
    expect(failure(untyped)).toBe('415 unsupported-media-type');
    expect(failure(await gateway.admin('PATCH', path))).toBe('400 invalid-custom-data');
    for (const type of ['application/json; charset=utf-8', 'APPLICATION/merge-patch+json;x=y']) {
      expect((await patch('{}', type)).status).toBe(200);
    }
  });

  it('loses none of many concurrent merges', async () => {
    const { patch, get } = await start();
    const keys = Array.from({ length: 15 }, (_, index) => `k${index}`);
    const answers = await Promise.all(keys.map((key) => patch(`{"${key}":1}`, MERGE)));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200));
    expect(Object.keys(JSON.parse(await get())).sort()).toEqual([...keys].sort());
  });

  it('is never logged', async () => {
    const { gateway, patch } = await start();
    await patch('{"allergy":"peanuts"}');
    expect(gateway.logged.join('')).not.toContain('peanuts');
  });
});
