/** What an alarm becomes: its fields, its id, its states. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALARM_KINDS, isOwnFootageKey, parseAlarm } from '../../src/domain/alarm.js';
import { alarmStateText, parsePublishedState } from '../../src/domain/alarm-state.js';
import { mayPublish, type Principal, type Role } from '../../src/domain/grants.js';
import { derivedId, isUuid, newId } from '../../src/domain/ids.js';
import { parseText } from '../../src/domain/names.js';
import { parsePublishTopic } from '../../src/domain/topics.js';
import { anyText } from '../harness/any-text.js';

const deviceId = '0b8f2f0e-6c0e-4f0e-9b8e-3a6f1f6f1c11';
const receivedAtMs = Date.parse('2026-11-21T10:00:00.000Z');

const origin = { deviceId, kind: undefined, receivedAtMs };

function parse(payload: unknown) {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return parseAlarm(Buffer.from(text), origin);
}

function alarmOf(payload: unknown) {
  const result = parse(payload);
  if (!('alarm' in result)) throw new Error(`rejected: ${result.reason}`);
  return result.alarm;
}

describe('the payload of an alarm', () => {
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
});

describe('the id of an alarm', () => {
  /** One of the ways to write an instant. */
  interface Notation {
    readonly zeros: number;
    readonly isLowerCase: boolean;
    readonly offsetMinutes: number;
  }

  /** An offset in RFC 3339; UTC in the shorter of its two forms. */
  function offsetText(minutes: number): string {
    if (minutes === 0) return 'Z';
    const part = (value: number) => String(value).padStart(2, '0');
    const size = Math.abs(minutes);
    return `${minutes < 0 ? '-' : '+'}${part(Math.floor(size / 60))}:${part(size % 60)}`;
  }

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
    ])('is the time of receipt when it is clearly wrong: %s', (detectedAt) => {
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

    it('is derived from device, kind and time, always in the same way', () => {
      const alarm = alarmOf({ kind: 'fall', detectedAt });
      expect(isUuid(alarm.id)).toBe(true);
      expect(alarmOf({ kind: 'fall', detectedAt, more: 1 }).id).toBe(alarm.id);
      expect(alarmOf({ kind: 'noise', detectedAt }).id).not.toBe(alarm.id);
      expect(alarmOf({ kind: 'fall', detectedAt: '2026-11-21T09:59:58Z' }).id).not.toBe(alarm.id);
    });

    it.each([
      ['2026-11-21T09:59:59Z', '78b4d990-9369-5796-a3d8-23eefa601496'],
      ['2026-11-21T09:59:00.7Z', '7777a92e-eb8a-53b6-bb0d-018bcabff7eb'],
      ['2026-11-21T09:59:00.782Z', '22a5d5ac-a5a1-57c6-b784-af43039a748e'],
      ['2026-11-21T09:59:00.782000Z', '22a5d5ac-a5a1-57c6-b784-af43039a748e'],
    ])('of a fall at %s is the same as in every existing history', (sent, id) => {
      expect(alarmOf({ kind: 'fall', detectedAt: sent }).id).toBe(id);
    });

    it('differs for each instant, however fine, and is the same in every notation', () => {
      const minuteMs = Date.parse('2026-11-21T09:58:00.000Z');
      const digits = fc.stringMatching(/^[0-9]{1,12}$/);
      // Many instants that differ only beyond the milliseconds.
      const fraction = fc.oneof(digits, fc.stringMatching(/^78200?[01]0{0,3}$/));
      const notation: fc.Arbitrary<Notation> = fc.record({
        zeros: fc.integer({ min: 0, max: 15 }),
        isLowerCase: fc.boolean(),
        offsetMinutes: fc.integer({ min: -23 * 60, max: 23 * 60 }),
      });
      const idOf = (digitsSent: string, { zeros, isLowerCase, offsetMinutes }: Notation) => {
        const local = new Date(minuteMs + offsetMinutes * 60_000).toISOString().slice(0, 19);
        const sent = `${local}.${digitsSent}${'0'.repeat(zeros)}${offsetText(offsetMinutes)}`;
        return alarmOf({ kind: 'fall', detectedAt: isLowerCase ? sent.toLowerCase() : sent }).id;
      };
      fc.assert(
        fc.property(fraction, fraction, notation, notation, (one, other, first, second) => {
          const isSame = one.padEnd(12, '0') === other.padEnd(12, '0');
          expect(idOf(one, first) === idOf(other, second)).toBe(isSame);
          expect(idOf(one, second)).toBe(idOf(one, first));
          const thousandth = one.slice(0, 3);
          const timeMs = minuteMs + Number(thousandth.padEnd(3, '0'));
          expect(idOf(thousandth, first)).toBe(derivedId(deviceId, `fall/${timeMs}`));
        }),
        { numRuns: 1000 },
      );
    });

    it('differs for two alarms without a plausible time', () => {
      for (const payload of [
        { kind: 'fall' },
        { kind: 'fall', detectedAt: '1970-01-01T00:00:00Z' },
      ]) {
        expect(alarmOf(payload).id).not.toBe(alarmOf(payload).id);
        expect(alarmOf(payload).idIsStable).toBe(false);
      }
    });

    it('is derived from kind, time and a sent id that is not a UUID, which stays in the data', () => {
      const sent = { kind: 'fall', detectedAt, id: 'event-7' };
      const alarm = alarmOf(sent);
      expect(isUuid(alarm.id)).toBe(true);
      expect(alarm).toMatchObject({ data: '{"id":"event-7"}', idIsStable: true });
      expect(alarmOf({ ...sent, x: 1 }).id).toBe(alarm.id);
      expect(alarmOf({ ...sent, id: 'event-8' }).id).not.toBe(alarm.id);
    });

    it.each([
      'bed-3',
      '',
      1,
      '00000000-0000-0000-0000-000000000000',
      'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
    ])('does not merge two alarms when a device sends %j with each', (id) => {
      const alarm = alarmOf({ kind: 'fall', detectedAt, id });
      expect(alarm.id).not.toBe(id);
      expect(alarmOf({ kind: 'noise', detectedAt, id }).id).not.toBe(alarm.id);
      const later = { kind: 'fall', detectedAt: '2026-11-21T09:59:59.001Z', id };
      expect(alarmOf(later).id).not.toBe(alarm.id);
      expect(alarmOf({ kind: 'fall', id }).id).not.toBe(alarmOf({ kind: 'fall', id }).id);
    });
  });
});

describe('the states of an alarm', () => {
  const ID = '3F0C2A5E-8d1b-4c7a-9e64-5b2f7d90c318';

  function parsed(value: unknown) {
    return parsePublishedState(Buffer.from(JSON.stringify(value)));
  }

  describe('a published state', () => {
    it('has an id in upper or lower case, a state, and a note that is trimmed', () => {
      expect(parsed({ id: ID, state: 'resolved', note: ' a\u00a0', by: 'me' })).toEqual({
        change: { id: ID.toLowerCase(), state: 'resolved', note: 'a' },
      });
      for (const note of [undefined, null]) {
        expect(parsed({ id: ID, state: 'acknowledged', note })).toEqual({
          change: { id: ID.toLowerCase(), state: 'acknowledged', note: undefined },
        });
      }
    });

    it.each([
      [{ id: ID, state: 'raised' }],
      [{ id: ID, state: 'constructor' }],
      [{ id: ID }],
      [{ id: `${ID}0`, state: 'resolved' }],
      [{ id: [ID], state: 'resolved' }],
      [{ state: 'resolved' }],
      [{ id: ID, state: 'resolved', note: '' }],
      [{ id: ID, state: 'resolved', note: 'a\u0000' }],
      [{ id: ID, state: 'resolved', note: '\ud800' }],
      [{ id: ID, state: 'resolved', note: 7 }],
    ])('is not %j', (value) => {
      expect(parsed(value)).toEqual({ reason: 'invalid-alarm-state' });
    });

    it('is a JSON object in UTF-8', () => {
      expect(parsePublishedState(Buffer.from([0xff]))).toEqual({ reason: 'not-json' });
      expect(parsePublishedState(Buffer.from(''))).toEqual({ reason: 'not-json' });
      for (const text of ['[]', 'null', '"x"', '7']) {
        expect(parsePublishedState(Buffer.from(text))).toEqual({ reason: 'not-an-object' });
      }
    });

    it('may have a byte order mark before it and NUL bytes behind it', () => {
      const payload = Buffer.from(`\ufeff{"id":"${ID}","state":"resolved"}\0\0`);
      expect(parsePublishedState(payload)).toMatchObject({ change: { state: 'resolved' } });
    });

    it('never throws', () => {
      fc.assert(
        fc.property(
          fc.oneof(
            fc.uint8Array(),
            fc.json().map((text) => Buffer.from(text)),
          ),
          (bytes) => {
            const result = parsePublishedState(bytes);
            expect('change' in result || 'reason' in result).toBe(true);
          },
        ),
      );
    });
  });

  it('has notes of 1 to 500 code points, without control characters', () => {
    expect(parseText('note', '👵'.repeat(500))).toEqual({ text: '👵'.repeat(500) });
    for (const text of ['👵'.repeat(501), ' ', 'a\nb', 'a\ud800']) {
      expect(parseText('note', text)).toHaveProperty('fault');
    }
  });

  it('is forwarded as JSON, whatever the note and the name of its author', () => {
    const text = anyText({ minLength: 1 });
    fc.assert(
      fc.property(text, text, (name, note) => {
        const by = { id: newId(), name };
        const change = { id: newId(), kind: 'fall', state: 'resolved', by, atMs: 0, note } as const;
        expect(JSON.parse(alarmStateText(change, '"customData":{"late":false}'))).toEqual({
          id: change.id,
          kind: 'fall',
          state: 'resolved',
          by,
          note,
          at: '1970-01-01T00:00:00.000Z',
          customData: { late: false },
        });
      }),
    );
  });

  it('may be published by a responder, a manager and an administrator, on its topic only', () => {
    const topic = parsePublishTopic('care-homes/l/devices/d/alarm-states');
    expect(topic).toEqual({ type: 'alarm-state', locationId: 'l', deviceId: 'd' });
    for (const other of ['alarm-states/', 'alarm-states/fall', 'alarm-state', 'Alarm-states']) {
      expect(parsePublishTopic(`care-homes/l/devices/d/${other}`)).toEqual({ type: 'unknown' });
    }
    const may = (location: string, role: Role) =>
      mayPublish({ type: 'token', id: 't', grants: [{ location, role }] }, topic, undefined);
    expect([may('l', 'viewer'), may('x', 'manager')]).toEqual([false, false]);
    expect([may('l', 'responder'), may('*', 'responder'), may('l', 'manager')]).toEqual([
      true,
      true,
      true,
    ]);
    const ofGroup: Principal = {
      type: 'token',
      id: 't',
      grants: [{ location: 'l', group: 'g', role: 'responder' }],
    };
    expect(mayPublish(ofGroup, topic, undefined)).toBe(true);
    expect(mayPublish({ type: 'device', id: 'd' }, topic, undefined)).toBe(false);
  });
});
