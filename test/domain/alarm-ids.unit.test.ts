import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { derivedId, isUuid } from '../../src/domain/notation.js';
import { alarmOf, deviceId, receivedAtMs } from './parsed-alarm.js';

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
