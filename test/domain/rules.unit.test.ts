import { describe, expect, it } from 'vitest';
import { FilterTree } from '../../src/domain/filter-tree.js';
import { mayReceive, maySubscribe, type Principal, permits } from '../../src/domain/grants.js';
import { parseName } from '../../src/domain/names.js';
import { formatTime, parseRfc3339 } from '../../src/domain/notation.js';
import { isFilter, parsePublishTopic } from '../../src/domain/topics.js';
import { matchesFilter } from '../former/clients/matches-filter.js';

describe('names', () => {
  it('are trimmed and have 1 to 120 code points', () => {
    expect(parseName('  Haus \u00a0')).toEqual({ name: 'Haus' });
    expect(parseName('\u0085\ufeffHaus\u2028\u0085')).toEqual({ name: 'Haus' });
    expect(parseName('😀'.repeat(120))).toEqual({ name: '😀'.repeat(120) });
    expect(parseName('😀'.repeat(121))).toHaveProperty('fault');
    expect(parseName(' \t ')).toHaveProperty('fault');
    for (const nothing of ['\u200b', '\u2060\u00ad', '\u3164', '\u{e0001}', '\u2800', 'ㅤ ㅤ']) {
      expect(parseName(nothing), JSON.stringify(nothing)).toHaveProperty('fault');
    }
    for (const turned of ['\u202e', '\u2066', '\u202a', '\u2069']) {
      expect(parseName(`Haus ${turned}Birke`), JSON.stringify(turned)).toHaveProperty('fault');
    }
    // Emoji, and scripts that need a joiner, a mark or a variation selector.
    for (const name of ['👨‍👩‍👧', '❤️', 'می‌خواهم', 'בית\u200f', 'क्ष', '-', '1']) {
      expect(parseName(name)).toEqual({ name });
    }
  });

  it('are trimmed quickly, however much white space is within', () => {
    const startedAtMs = performance.now();
    expect(parseName(`a${' '.repeat(2 ** 19)}b`)).toHaveProperty('fault');
    // A trim in quadratic time would take minutes.
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  });

  it('have no control characters or lone surrogates', () => {
    for (const text of ['a\u0000b', 'a\nb', 'a\u0085b', 'a\ud800b']) {
      expect(parseName(text)).toHaveProperty('fault');
    }
  });
});

describe('RFC 3339', () => {
  it.each([
    ['2026-11-21T10:00:00Z', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21t10:00:00.5z', '2026-11-21T10:00:00.500Z'],
    ['2026-11-21T10:00:00.5799+05:30', '2026-11-21T04:30:00.579Z'],
    ['2026-11-21T10:00:00-00:30', '2026-11-21T10:30:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['0099-01-01T00:00:00Z', '0099-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, time) => {
    expect(formatTime(parseRfc3339(text) ?? Number.NaN)).toBe(time);
  });

  it.each([
    ['2026-11-21T10:00:00.123Z', '2026-11-21T10:00:00.123Z'],
    ['2026-11-21T10:00:00.123000Z', '2026-11-21T10:00:00.123Z'],
    ['2026-11-21T10:00:00.123001Z', '2026-11-21T10:00:00.124Z'],
    ['2026-11-21T10:00:00.9999+01:00', '2026-11-21T09:00:01.000Z'],
    ['2026-12-31T23:59:59.99900000000000000000001Z', '2027-01-01T00:00:00.000Z'],
  ])('%s is %s, rounded up', (text, time) => {
    expect(formatTime(parseRfc3339(text, 'up') ?? Number.NaN)).toBe(time);
  });

  it.each([
    '',
    '2026-11-21',
    '2026-11-21 10:00:00Z',
    '2026-11-21T10:00Z',
    '2026-11-21T24:00:00Z',
    '2026-11-21T10:60:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-11-21T10:00:00+24:00',
    '2026-11-21T10:00:00.Z',
  ])('%s is not a time', (text) => {
    expect(parseRfc3339(text)).toBeUndefined();
  });
});

describe('topics', () => {
  function unusable(reason: string, isAlarm = false) {
    return { type: 'unusable', deviceId: 'd', reason, isAlarm };
  }

  it.each([
    ['devices/d/alarms', { type: 'alarm', deviceId: 'd', kind: undefined }],
    ['devices/D/alarms/helpCall', { type: 'alarm', deviceId: 'd', kind: 'helpCall' }],
    ['devices/d/alarms/help', unusable('reserved-topic', true)],
    ['devices/d/alarms/fall/x', unusable('reserved-topic', true)],
    ['devices/d/supervision', unusable('reserved-topic')],
    ['devices/d/escalations/x', unusable('reserved-topic')],
    ['devices/d/a', { type: 'message', deviceId: 'd', rest: 'a' }],
    ['devices/d/1/2/3/4/5/6', { type: 'message', deviceId: 'd', rest: '1/2/3/4/5/6' }],
    ['devices/d/1/2/3/4/5/6/7', unusable('invalid-topic')],
    ['devices/d/a//b', unusable('invalid-topic')],
    ['devices/d/', unusable('invalid-topic')],
    ['devices/d/status', unusable('reserved-topic')],
    ['devices/d/commands/x', unusable('reserved-topic')],
    ['devices/d/a\u0001', unusable('invalid-topic')],
    ['devices/d/\ufffe/b', unusable('invalid-topic')],
    ['care-homes/l/devices/d/commands/a\u0085', { type: 'unknown' }],
    ['devices/d', { type: 'unknown' }],
    ['care-homes/l/devices/d/alarms/fall', { type: 'unknown' }],
    ['care-homes/l/devices/d/commands', { type: 'unknown' }],
    [
      'care-homes/l/devices/d/commands/a/b',
      { type: 'command', locationId: 'l', deviceId: 'd', rest: 'a/b' },
    ],
    ['$SYS/x', { type: 'unknown' }],
  ])('a publish to %s', (topic, target) => {
    expect(parsePublishTopic(topic)).toEqual(target);
  });

  it.each([
    ['a/#', 'a', true],
    ['a/#', 'a/b/c', true],
    ['a/+', 'a', false],
    ['a/+', 'a/b', true],
    ['a/+', 'a/', true],
    ['a/+/c', 'a/b/c', true],
    ['a/+/c', 'a/b/d', false],
    ['#', '$SYS/x', false],
    ['+/x', '$SYS/x', false],
    ['$SYS/#', '$SYS/x', true],
    ['a', 'a/b', false],
  ])('filter %s and topic %s: %s', (filter, topic, matches) => {
    const tree = new FilterTree<string>();
    tree.add(filter, filter);
    expect(tree.match(topic).size > 0).toBe(matches);
    expect(matchesFilter(filter, topic)).toBe(matches);
  });

  it('distinguishes well-formed filters from others', () => {
    for (const filter of ['#', '+', 'a/+/b', 'a/#', '/']) expect(isFilter(filter)).toBe(true);
    for (const filter of ['', 'a#', 'a/#/b', 'a+/b', '+a', 'a\u0000']) {
      expect(isFilter(filter)).toBe(false);
    }
  });
});

describe('grants', () => {
  const viewer: Principal = {
    type: 'token',
    id: 't',
    grants: [{ location: 'l', role: 'viewer' }],
  };
  const group: Principal = {
    type: 'token',
    id: 't',
    grants: [{ location: 'l', group: 'g', role: 'manager' }],
  };
  const admin: Principal = { type: 'token', id: 'a', grants: [{ location: '*', role: 'admin' }] };
  const device: Principal = { type: 'device', id: 'd' };

  it('include the lower roles, within their place only', () => {
    expect(permits(viewer.grants, 'viewer', { locationId: 'l' })).toBe(true);
    expect(permits(viewer.grants, 'manager', { locationId: 'l' })).toBe(false);
    expect(permits(viewer.grants, 'viewer', { locationId: 'other' })).toBe(false);
    expect(permits(group.grants, 'viewer', { locationId: 'l', groupId: 'g' })).toBe(true);
    expect(permits(group.grants, 'viewer', { locationId: 'l', groupId: 'other' })).toBe(false);
    expect(permits(group.grants, 'viewer', { locationId: 'l' })).toBe(false);
    expect(permits(admin.grants, 'manager', { locationId: 'any', groupId: 'any' })).toBe(true);
  });

  it.each([
    [viewer, 'care-homes/l/#', true],
    [viewer, 'care-homes/l/devices/+/alarms/fall', true],
    [viewer, 'gateway/status', true],
    [viewer, 'care-homes/other/#', false],
    [viewer, 'care-homes/+/devices/#', true],
    [viewer, 'care-homes/#', true],
    [viewer, '#', true],
    [viewer, '+', true],
    [viewer, '+/#', true],
    [viewer, '+/l/#', true],
    [viewer, '+/other/#', false],
    [viewer, 'gateway/#', true],
    [viewer, 'gateway/bridges/#', false],
    [viewer, '$SYS/#', true],
    [viewer, '$share/g/care-homes/l/#', false],
    [viewer, '$share/+/#', false],
    [viewer, 'devices/d/alarms', false],
    [group, 'care-homes/l/#', true],
    [admin, 'care-homes/#', true],
    [admin, 'care-homes/+/devices/#', true],
    [admin, '#', true],
    [admin, 'gateway/bridges/#', true],
    [device, 'devices/d/commands/#', true],
    [device, 'devices/d/commands/x', true],
    [device, 'devices/d/rejected', true],
    [device, 'devices/d/alarms', false],
    [device, 'devices/other/commands/#', false],
    [device, 'devices/+/commands/#', false],
    [device, 'gateway/status', false],
  ])('%j subscribes to %s: %s', (principal, filter, may) => {
    expect(maySubscribe(principal, filter)).toBe(may);
  });

  it('on a group show only what concerns the group', () => {
    const topic = 'care-homes/l/devices/d/alarms/fall';
    expect(mayReceive(group, { topic, locationId: 'l', groupId: 'g' })).toBe(true);
    expect(mayReceive(group, { topic, locationId: 'l', groupId: null })).toBe(false);
    expect(mayReceive(viewer, { topic, locationId: 'l', groupId: 'g' })).toBe(true);
    expect(mayReceive(viewer, { topic, locationId: 'other', groupId: null })).toBe(false);
  });

  it.each([
    [viewer, 'gateway/status', true],
    [group, 'gateway/status', true],
    [viewer, 'gateway/bridges/region/status', false],
    [admin, 'gateway/bridges/region/status', true],
    [viewer, 'devices/d/commands/x', false],
    [admin, 'devices/d/commands/x', false],
    [admin, 'devices/d/rejected', false],
    [device, 'devices/d/commands/x', true],
  ])('%j may see topics of no location under %s: %s', (principal, topic, may) => {
    expect(mayReceive(principal, { topic, locationId: null, groupId: null })).toBe(may);
  });
});
