import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALARM_KINDS, isOwnFootageKey, parseAlarm } from '../../src/domain/alarms.js';
import { isUuid } from '../../src/domain/identifiers.js';

const deviceId = '0b8f2f0e-6c0e-4f0e-9b8e-3a6f1f6f1c11';
const receivedAtMs = Date.parse('2026-11-21T10:00:00.000Z');

function parse(payload: unknown) {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return parseAlarm(Buffer.from(text), deviceId, receivedAtMs);
}

function alarmOf(payload: unknown) {
  const result = parse(payload);
  if (!('alarm' in result)) throw new Error(`rejected: ${result.reason}`);
  return result.alarm;
}

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
    ['{"kind":"fall","footage":{"video":"devices/another/x.mp4"}}', 'invalid-footage'],
    ['{"kind":"fall","footage":{"video":7}}', 'invalid-footage'],
    ['{"kind":"fall","footage":"x"}', 'invalid-footage'],
  ])('%s is rejected as %s', (payload, reason) => {
    expect(parse(payload)).toEqual({ reason });
  });

  it('is anything at all without an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect('reason' in parseAlarm(bytes, deviceId, receivedAtMs)).toBe(true);
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

  it('keeps its other fields as they are spelled', () => {
    const text =
      '{"kind":"fall","b":1.10,"n":12345678901234567890,"__proto__":{"a":[ 1 ]},"1":null}';
    expect(alarmOf(text).data).toBe(
      '{"b":1.10,"n":12345678901234567890,"__proto__":{"a":[ 1 ]},"1":null}',
    );
    expect(alarmOf({ kind: 'fall' }).data).toBeUndefined();
  });
});

describe('the time of an alarm', () => {
  it('is what the device says', () => {
    const alarm = alarmOf({ kind: 'fall', detectedAt: '2026-11-21T11:59:59.1234+02:00' });
    expect(alarm.detectedAtMs).toBe(Date.parse('2026-11-21T09:59:59.123Z'));
    expect(alarm.reportedAt).toBeUndefined();
  });

  it.each([
    '2026-11-21T10:05:00.001Z',
    '2019-12-31T23:59:59Z',
    'yesterday',
    '2026-02-30T10:00:00Z',
    '2026-11-21T10:00:00',
  ])('is the time of receipt when it is plainly wrong: %s', (detectedAt) => {
    const alarm = alarmOf({ kind: 'fall', detectedAt });
    expect(alarm.detectedAtMs).toBe(receivedAtMs);
    expect(alarm.reportedAt).toBe(JSON.stringify(detectedAt));
  });

  it('may be five minutes ahead', () => {
    const detectedAt = '2026-11-21T10:05:00.000Z';
    expect(alarmOf({ kind: 'fall', detectedAt }).detectedAtMs).toBe(Date.parse(detectedAt));
  });
});

describe('the id of an alarm', () => {
  const detectedAt = '2026-11-21T09:59:59Z';

  it('is the one that was sent', () => {
    const id = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';
    const alarm = alarmOf({ kind: 'fall', id });
    expect(alarm).toMatchObject({ id: id.toLowerCase(), idIsStable: true, data: undefined });
  });

  it('is derived from device, kind and time, the same each time', () => {
    const alarm = alarmOf({ kind: 'fall', detectedAt });
    expect(isUuid(alarm.id)).toBe(true);
    expect(alarmOf({ kind: 'fall', detectedAt, more: 1 }).id).toBe(alarm.id);
    expect(alarmOf({ kind: 'noise', detectedAt }).id).not.toBe(alarm.id);
    expect(alarmOf({ kind: 'fall', detectedAt: '2026-11-21T09:59:58Z' }).id).not.toBe(alarm.id);
  });

  it('differs for two alarms without a believable time', () => {
    for (const payload of [
      { kind: 'fall' },
      { kind: 'fall', detectedAt: '1970-01-01T00:00:00Z' },
    ]) {
      expect(alarmOf(payload).id).not.toBe(alarmOf(payload).id);
      expect(alarmOf(payload).idIsStable).toBe(false);
    }
  });

  it('is derived from a sent one that is no UUID, which stays in the data', () => {
    const alarm = alarmOf({ kind: 'fall', id: 'event-7' });
    expect(isUuid(alarm.id)).toBe(true);
    expect(alarm.data).toBe('{"id":"event-7"}');
    expect(alarmOf({ kind: 'fall', id: 'event-7', x: 1 }).id).toBe(alarm.id);
    expect(alarmOf({ kind: 'fall', id: 'event-8' }).id).not.toBe(alarm.id);
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
