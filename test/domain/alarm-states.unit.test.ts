import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alarmStateText, parsePublishedState } from '../../src/domain/alarm-states.js';
import { mayPublish, type Principal, type Role } from '../../src/domain/grants.js';
import { parseNote } from '../../src/domain/names.js';
import { newId } from '../../src/domain/notation.js';
import { parsePublishTopic } from '../../src/domain/topics.js';
import { anyText } from '../former/any-text.js';

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
  expect(parseNote('👵'.repeat(500))).toEqual({ note: '👵'.repeat(500) });
  for (const text of ['👵'.repeat(501), ' ', 'a\nb', 'a\ud800']) {
    expect(parseNote(text)).toHaveProperty('fault');
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
