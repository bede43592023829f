import { describe, expect, it } from 'vitest';
import { calendarBounds, TimeZone } from '../../src/domain/time/calendar.js';

const at = (text: string) => Date.parse(text);

function bounds(zone: string, unit: 'hour' | 'day', from: string, to: string): string[] {
  const all = calendarBounds(new TimeZone(zone), unit, at(from), at(to), 1000) ?? [];
  return all.map((timeMs) => new Date(timeMs).toISOString().slice(0, 16));
}

describe('the calendar of a time zone', () => {
  it('has days of 23 and 25 hours when its clocks change', () => {
    const zone = 'Europe/Berlin';
    expect(bounds(zone, 'day', '2026-03-28T12:00Z', '2026-03-30T12:00Z')).toEqual([
      '2026-03-27T23:00',
      '2026-03-28T23:00',
      '2026-03-29T22:00',
      '2026-03-30T22:00',
    ]);
    expect(bounds(zone, 'day', '2026-10-25T12:00Z', '2026-10-25T13:00Z')).toEqual([
      '2026-10-24T22:00',
      '2026-10-25T23:00',
    ]);
  });

  it('treats a repeated hour as two', () => {
    expect(bounds('Europe/Berlin', 'hour', '2026-10-25T00:30Z', '2026-10-25T02:30Z')).toEqual([
      '2026-10-25T00:00',
      '2026-10-25T01:00',
      '2026-10-25T02:00',
      '2026-10-25T03:00',
    ]);
  });

  it('starts a day without midnight when the clocks do, and a day with two at the first', () => {
    // Cuba's clocks go from midnight to 1:00, and in autumn from 1:00 back to midnight.
    expect(bounds('America/Havana', 'day', '2026-03-07T12:00Z', '2026-03-08T12:00Z')).toEqual([
      '2026-03-07T05:00',
      '2026-03-08T05:00',
      '2026-03-09T04:00',
    ]);
    expect(bounds('America/Havana', 'day', '2026-11-01T12:00Z', '2026-11-01T13:00Z')).toEqual([
      '2026-11-01T04:00',
      '2026-11-02T05:00',
    ]);
  });

  it('has hours for zones with offsets of odd minutes, and times before 1970', () => {
    expect(bounds('Asia/Kathmandu', 'hour', '2026-01-01T00:20Z', '2026-01-01T01:00Z')).toEqual([
      '2026-01-01T00:15',
      '2026-01-01T01:15',
    ]);
    expect(bounds('UTC', 'day', '1969-12-30T12:00:00.500Z', '1969-12-31T00:00Z')).toEqual([
      '1969-12-30T00:00',
      '1969-12-31T00:00',
    ]);
  });

  it('is divided into a limited number of parts', () => {
    const zone = new TimeZone('UTC');
    const [from, to] = [at('2026-01-01'), at('2026-01-04')];
    expect(calendarBounds(zone, 'day', from, to, 3)).toHaveLength(4);
    expect(calendarBounds(zone, 'day', from, to + 1, 3)).toBeUndefined();
  });
});
