import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOwnFootageKey, parseAlarm } from '../../src/domain/alarm-payload.js';
import { ALARM_KINDS } from '../../src/domain/alarms.js';
import { isUuid } from '../../src/domain/notation.js';
import { alarmOf, deviceId, origin, parse, receivedAtMs } from './parsed-alarm.js';

describe('the payload of an alarm', () => {
  it.each(ALARM_KINDS)('may be of kind %s', (kind) => {
    expect(alarmOf({ kind }).kind).toBe(kind);
  });

  it.each([
    ['not json', 'not-json'],
    ['[1]', 'not-an-object'],
    ['"fall"', 'not-an-object'],
    ['{}', 'unknown-kind'],
    ['{"kind":"Fall"}', 'unknown-kind'],
    ['{"kind":null}', 'unknown-kind'],
    ['{"kind":"__proto__"}', 'unknown-kind'],
    ['nan', 'not-json'],
    ['', 'not-json'],
    ['{kind:"fall"}', 'not-json'],
    ['{"kind":"party",}', 'not-json'],
  ])('%s is rejected as %s', (payload, reason) => {
    expect(parse(payload)).toEqual({ reason });
  });

  it.each(['{"video":"","audio":""}', '[]', '{}', 'null'])(
    'has no footage with %s, because a camera without a recording must not cost an alarm',
    (footage) => {
      expect(alarmOf(`{"kind":"fall","footage":${footage}}`)).toMatchObject({ footage: {} });
    },
  );

  it.each([
    ['{"video":"devices/another/x.mp4"}', {}],
    ['{"video":7}', {}],
    ['"x"', {}],
    ['true', {}],
    ['["video"]', {}],
    [`{"video":7,"audio":"${deviceId}/a.mp3"}`, { audio: `${deviceId}/a.mp3` }],
    [`{"video":"x/y","audio":"${deviceId.toUpperCase()}/a"}`, { audio: `${deviceId}/a` }],
  ])('drops unusable footage and remains an alarm: %s', (footage, kept) => {
    expect(parse(`{"kind":"fall","footage":${footage}}`)).toMatchObject({
      alarm: { kind: 'fall', footage: kept },
      flaw: 'invalid-footage',
    });
  });

  it.each([
    ['a byte order mark before it', '\ufeff{"kind":"fall","n":1}'],
    ['a NUL behind it', '{"kind":"fall","n":1}\0'],
    ['both, and several', '\ufeff{"kind":"fall","n":1}\n\0\0\0'],
  ])('may have %s', (_what, text) => {
    expect(parse(text)).toMatchObject({ alarm: { kind: 'fall', data: '{"n":1}' } });
    expect(parse(text)).toMatchObject({ flaw: undefined });
  });

  it.each([
    ['a bare nan', Buffer.from('{"kind":"fall","score":nan}')],
    ['Latin-1', Buffer.from('{"kind":"fall","room":"Küche"}', 'latin1')],
    ['cut off', Buffer.from('{"kind":"fall","detectedAt":"2026-1')],
    ['a trailing comma', Buffer.from('{"kind" : "fall",}')],
    ['single quotes', Buffer.from("{'kind': 'fall'}")],
    ['NULs inside', Buffer.from('{"kind":"fall"}\0garbage')],
  ])('that is not JSON is an alarm if its kind is readable: %s', (_what, payload) => {
    const result = parseAlarm(payload, origin);
    expect(result).toMatchObject({ flaw: 'not-json' });
    expect('alarm' in result && result.alarm).toMatchObject({
      kind: 'fall',
      isMalformed: true,
      base64: payload.toString('base64'),
      detectedAtMs: receivedAtMs,
      data: undefined,
      idIsStable: false,
    });
  });

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect('reason' in parseAlarm(Buffer.from(bytes), origin)).toBe(true);
        const withKind = { ...origin, kind: 'fall' } as const;
        expect('alarm' in parseAlarm(Buffer.from(bytes), withKind)).toBe(true);
      }),
    );
    fc.assert(
      fc.property(fc.json(), fc.json(), fc.json(), (id, time, footage) => {
        const text = `{"kind":"fall","id":${id},"detectedAt":${time},"footage":${footage},"x":${id}}`;
        const result = parse(text);
        expect('alarm' in result ? isUuid(result.alarm.id) : result.reason).toBeTruthy();
      }),
    );
  });

  it('keeps its other fields as spelled', () => {
    const text =
      '{"kind":"fall","b":1.10,"n":12345678901234567890,"__proto__":{"a":[ 1 ]},"1":null}';
    expect(alarmOf(text).data).toBe(
      '{"b":1.10,"n":12345678901234567890,"__proto__":{"a":[ 1 ]},"1":null}',
    );
    expect(alarmOf({ kind: 'fall' }).data).toBeUndefined();
  });
});

describe('a footage key', () => {
  it.each([`${deviceId}/a.mp4`, `devices/${deviceId}/2026/a.mp4`])('may be %s', (key) => {
    expect(isOwnFootageKey(key, deviceId)).toBe(true);
    expect(alarmOf({ kind: 'fall', footage: { video: key, audio: null } }).footage).toEqual({
      video: key,
    });
  });

  it.each([
    'a.mp4',
    deviceId,
    `${deviceId}/`,
    `${deviceId}/../other/a.mp4`,
    `/${deviceId}/a.mp4`,
    `devices/${deviceId}`,
    `other/${deviceId}/a.mp4`,
    `${deviceId}/a b.mp4`,
    `${deviceId}\\..\\x/a`,
    `${deviceId}/${'x'.repeat(512)}`,
  ])('must not be %s', (key) => {
    expect(isOwnFootageKey(key, deviceId)).toBe(false);
  });
});

describe('an alarm whose kind is in the topic', () => {
  const parseFall = (payload: string | Buffer) =>
    parseAlarm(Buffer.from(payload), { ...origin, kind: 'fall' });

  it.each(['{"n":1}', '{"kind":"fall","n":1}', '{"kind":null,"n":1}'])(
    'has the fields of %s',
    (text) => {
      expect(parseFall(text)).toMatchObject({ alarm: { kind: 'fall', data: '{"n":1}' } });
    },
  );

  it.each(['1.10', 'true', 'null', '"pressed"', '[1]'])('has %s as its data', (text) => {
    expect(parseFall(text)).toMatchObject({ alarm: { kind: 'fall', data: text } });
  });

  it.each([
    ['nothing', ''],
    ['a word', 'pressed'],
    ['NUL', '\0'],
    ['bytes', Buffer.from([0xff, 0xfe])],
  ])('has %s as base64', (_what, payload) => {
    const base64 = Buffer.from(payload).toString('base64');
    const result = parseFall(payload);
    expect(result).toMatchObject({ alarm: { kind: 'fall', base64, data: undefined } });
    expect(result).not.toHaveProperty('flaw');
  });

  it.each(['"noise"', '"event"', '"Fall"', '7'])(
    'must not have a different one in the payload: %s',
    (kind) => {
      expect(parseFall(`{"kind":${kind}}`)).toEqual({ reason: 'contradicting-kind' });
    },
  );
});
