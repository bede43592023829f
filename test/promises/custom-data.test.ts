/** Custom data of a device over HTTP (contract 2): what comes back has the values and the spelling of what was sent. */
import { expect, type Home, test } from '../harness/index.js';

const JSON_TYPE = 'application/json';
const MERGE = 'application/merge-patch+json';

async function customData(home: Home) {
  const path = `./devices/${(await home.device()).id}/custom-data`;
  const patch = (body: string | Uint8Array, type = JSON_TYPE, more = {}) =>
    home.ask('PATCH', path, { body, headers: { 'Content-Type': type, ...more } });
  return { path, patch, get: async () => (await home.must('GET', path)).text };
}

/** An object of exactly this many bytes, mostly of two-byte characters. */
function objectOf(bytes: number): string {
  const [open, close] = ['{"a":"', '"}'];
  const room = bytes - open.length - close.length;
  return `${open}${'ü'.repeat(Math.floor(room / 2))}${'x'.repeat(room % 2)}${close}`;
}

const KEPT = [
  '{"a":1}',
  '{ "big": 9007199254740993, "one": 1.10, "tiny": 1e-400, "neg": -0 }',
  '{"__proto__":{"x":1},"constructor":null,"b":1,"a":2,"10":1,"9":2}',
  '{"z":"\\u00fc\\ud83d\\ude00","ü":"👵"}',
  '\n{}\n',
  objectOf(1024),
];

test.for(KEPT)('is replaced as a whole, and keeps its spelling: %s', async (text, { home }) => {
  const { path, patch, get } = await customData(home);
  expect(await get()).toBe('{}');
  await patch('{"before":true}');
  const answer = await patch(text);
  expect([answer.status, answer.text, await get()]).toEqual([200, text, text]);
  for (const one of [answer, await home.must('GET', path)]) {
    expect(one.headers['content-type']).toBe('application/json');
  }
});

/** RFC 7396; untouched members keep their spelling. */
const MERGED: readonly [before: string, patch: string, after: string][] = [
  [
    '{"keep":1.10,"drop":1,"deep":{"a":9007199254740993,"b":2}}',
    '{"drop":null,"deep":{"b":null,"c":1e2},"new":[null]}',
    '{"keep":1.10,"deep":{"a":9007199254740993,"c":1e2},"new":[null]}',
  ],
  ['{"a":[1]}', '{"a":{"b":null}}', '{"a":{}}'],
  ['{"a":1}', '{}', '{"a":1}'],
];

test.for(MERGED)('%s merged with %s', async ([before, merged, after], { home }) => {
  const { patch, get } = await customData(home);
  await patch(before);
  const answer = await patch(merged, MERGE);
  expect([answer.status, answer.text, await get()]).toEqual([200, after, after]);
});

const [NO_JSON, NO_OBJECT, NO_UTF8, LARGE] = [
  'Custom data must be valid JSON.',
  'Custom data must be a JSON object.',
  'Custom data must be UTF-8.',
  'Custom data must not exceed 1024 bytes.',
];
const REFUSED: readonly [what: string, body: string | Uint8Array, detail: string | undefined][] = [
  ['nothing', '', NO_JSON],
  ['half an object', '{"a":1', NO_JSON],
  ['two objects', '{}{}', NO_JSON],
  ['single quotes', "{'a':1}", NO_JSON],
  ['a comment', '{/**/}', NO_JSON],
  ['a control character', '{"a":"\u0001"}', NO_JSON],
  ['a byte order mark', '\ufeff{}', undefined],
  ['UTF-16', Buffer.from('{}', 'utf16le'), undefined],
  ['not UTF-8', Buffer.from('{"a":"\xff"}', 'latin1'), NO_UTF8],
  ['an array', '[1]', NO_OBJECT],
  ['a string', '"{}"', NO_OBJECT],
  ['a number', '1', NO_OBJECT],
  ['null', 'null', NO_OBJECT],
  ['1025 bytes', objectOf(1025), LARGE],
  ['1025 bytes of white space', '{}'.padEnd(1025), LARGE],
  ['more than any body may have', objectOf(1024 * 1024), undefined],
];

test.for(REFUSED)('is not %s', async ([, body, detail], { home }) => {
  const { patch, get } = await customData(home);
  for (const [type, more] of [
    [JSON_TYPE, {}],
    [MERGE, {}],
    [JSON_TYPE, { 'Transfer-Encoding': 'chunked' }],
  ] as const) {
    const { outcome, problem } = await patch(body, type, more);
    expect(outcome).toBe('400 invalid-custom-data');
    expect(problem.errors).toEqual([{ path: '', message: problem.detail }]);
    if (detail !== undefined) expect(problem.detail).toBe(detail);
  }
  expect(await get()).toBe('{}');
});

test('is limited after merging, too', async ({ home }) => {
  const { patch, get } = await customData(home);
  const before = `{"a":"${'x'.repeat(900)}"}`;
  await patch(before);
  const { outcome } = await patch(`{"b":"${'x'.repeat(200)}"}`, MERGE);
  expect([outcome, await get()]).toEqual(['400 invalid-custom-data', before]);
});

test('has two content types of its own', async ({ home }) => {
  const { path, patch } = await customData(home);
  for (const type of ['text/plain', 'application/json-patch+json', 'application/jsonx', 'json']) {
    expect((await patch('{}', type)).outcome).toBe('415 unsupported-media-type');
  }
  const untyped = await home.ask('PATCH', path, { body: '{}' });
  expect(untyped.outcome).toBe('415 unsupported-media-type');
  expect((await home.ask('PATCH', path)).outcome).toBe('400 invalid-custom-data');
  for (const type of ['application/json; charset=utf-8', 'APPLICATION/merge-patch+json;x=y']) {
    expect((await patch('{}', type)).outcome).toBe('200');
  }
});

test('loses none of many concurrent merges, and is not logged', async ({ home }) => {
  const { patch, get } = await customData(home);
  const keys = Array.from({ length: 15 }, (_, index) => `peanuts${index}`);
  const answers = await Promise.all(keys.map((key) => patch(`{"${key}":1}`, MERGE)));
  expect(answers.map(({ outcome }) => outcome)).toEqual(keys.map(() => '200'));
  expect(new Set(Object.keys(JSON.parse(await get())))).toEqual(new Set(keys));
  expect(home.gateway.lines.filter((line) => line.includes('peanuts'))).toEqual([]);
});
