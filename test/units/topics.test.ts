/** Topics, filters, grants and names: the rules that every door shares. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bridgedTopic,
  parseBridgedCommand,
  parseBridgeTopic,
  selectedFilters,
} from '../../src/domain/bridge-topics.js';
import { FilterTree, TopicTree } from '../../src/domain/filter-tree.js';
import { mayReceive, maySubscribe, type Principal, permits } from '../../src/domain/grants.js';
import { parseText } from '../../src/domain/names.js';
import { formatTime, parseRfc3339 } from '../../src/domain/time.js';
import { isFilter, parsePublishTopic } from '../../src/domain/topics.js';

/**
 * Whether a topic matches a filter; `$` topics match no leading wildcard [MQTT-4.7.2-1].
 *
 * Compares level by level, as the standard says: the reference for the gateway's tree of filters.
 */
function matchesFilter(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && !filter.startsWith('$')) return false;
  const [wanted, levels] = [filter.split('/'), topic.split('/')];
  // `a/#` matches `a` itself as well [MQTT-4.7.1-2].
  const isOpen = wanted.at(-1) === '#';
  const fixed = isOpen ? wanted.slice(0, -1) : wanted;
  if (isOpen ? levels.length < fixed.length : levels.length !== fixed.length) return false;
  return fixed.every((level, index) => level === '+' || level === levels[index]);
}

describe('rules', () => {
  describe('names', () => {
    it('are trimmed and have 1 to 120 code points', () => {
      expect(parseText('name', '  Haus \u00a0')).toEqual({ text: 'Haus' });
      expect(parseText('name', '\u0085\ufeffHaus\u2028\u0085')).toEqual({ text: 'Haus' });
      expect(parseText('name', '😀'.repeat(120))).toEqual({ text: '😀'.repeat(120) });
      expect(parseText('name', '😀'.repeat(121))).toHaveProperty('fault');
      expect(parseText('name', ' \t ')).toHaveProperty('fault');
      for (const nothing of ['\u200b', '\u2060\u00ad', '\u3164', '\u{e0001}', '\u2800', 'ㅤ ㅤ']) {
        expect(parseText('name', nothing), JSON.stringify(nothing)).toHaveProperty('fault');
      }
      for (const turned of ['\u202e', '\u2066', '\u202a', '\u2069']) {
        expect(parseText('name', `Haus ${turned}Birke`), JSON.stringify(turned)).toHaveProperty(
          'fault',
        );
      }
      // Emoji, and scripts that need a joiner, a mark or a variation selector.
      for (const name of ['👨‍👩‍👧', '❤️', 'می‌خواهم', 'בית\u200f', 'क्ष', '-', '1']) {
        expect(parseText('name', name)).toEqual({ text: name });
      }
    });

    it('are trimmed quickly, however much white space is within', () => {
      const startedAtMs = performance.now();
      expect(parseText('name', `a${' '.repeat(2 ** 19)}b`)).toHaveProperty('fault');
      // A trim in quadratic time would take minutes.
      expect(performance.now() - startedAtMs).toBeLessThan(10_000);
    });

    it('have no control characters or lone surrogates', () => {
      for (const text of ['a\u0000b', 'a\nb', 'a\u0085b', 'a\ud800b']) {
        expect(parseText('name', text)).toHaveProperty('fault');
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
});

describe('a tree of filters', () => {
  /** Few names, so that filters and topics match; an empty level and `$` are special in MQTT. */
  const name = fc.constantFrom('a', 'b', '', '$s', 'constructor');
  const topic = fc.array(name, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'));
  const filter = fc
    .tuple(fc.array(fc.oneof(name, fc.constant('+')), { maxLength: 4 }), fc.boolean())
    .map(([levels, isOpen]) => (isOpen ? [...levels, '#'] : levels).join('/'))
    .filter(isFilter);
  const value = fc.integer({ min: 0, max: 3 });
  const change = fc.record({ kind: fc.constantFrom('add', 'add', 'remove'), filter, value });

  interface Held {
    readonly filter: string;
    readonly value: number;
  }

  describe('a filter tree', () => {
    it('finds the values of exactly the matching filters, after any additions and removals', () => {
      fc.assert(
        fc.property(fc.array(change, { maxLength: 40 }), fc.array(topic), (changes, topics) => {
          const tree = new FilterTree<number>();
          const held = new Map<string, Held>();
          for (const { kind, filter, value } of changes) {
            const key = `${value} ${filter}`;
            if (kind === 'add') held.set(key, { filter, value });
            else held.delete(key);
            if (kind === 'add') tree.add(filter, value);
            else tree.remove(filter, value);
          }
          for (const topic of topics) {
            const matching = [...held.values()].filter((one) => matchesFilter(one.filter, topic));
            expect(tree.match(topic)).toEqual(new Set(matching.map((one) => one.value)));
          }
        }),
        { numRuns: 1_000 },
      );
    });

    it('distinguishes filters when each is its own value', () => {
      fc.assert(
        fc.property(fc.uniqueArray(filter, { maxLength: 30 }), topic, (filters, topic) => {
          const tree = new FilterTree<string>();
          for (const one of filters) tree.add(one, one);
          const matching = filters.filter((one) => matchesFilter(one, topic));
          expect([...tree.match(topic)].sort()).toEqual(matching.sort());
        }),
        { numRuns: 1_000 },
      );
    });

    it('matches according to the standard', () => {
      const tree = new FilterTree<string>();
      const filters = ['#', '+', 'a/#', 'a/+', '+/+', '/+', 'a/b', '$s/#', '+/b/#'];
      for (const one of filters) tree.add(one, one);
      const matching = (topic: string) => [...tree.match(topic)].sort();
      expect(matching('a')).toEqual(['#', '+', 'a/#']);
      expect(matching('a/b')).toEqual(['#', '+/+', '+/b/#', 'a/#', 'a/+', 'a/b']);
      expect(matching('/x')).toEqual(['#', '+/+', '/+']);
      expect(matching('$s/b')).toEqual(['$s/#']);
    });
  });
});

describe('a tree of topics', () => {
  const name = fc.constantFrom('a', 'b', '', '$s', 'constructor', '+x');
  const topic = fc.array(name, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'));
  const filter = fc
    .tuple(fc.array(fc.oneof(name, fc.constant('+')), { maxLength: 4 }), fc.boolean())
    .map(([levels, isOpen]) => (isOpen ? [...levels, '#'] : levels).join('/'))
    .filter((one) => one !== '');
  const change = fc.tuple(topic, fc.boolean());

  it('finds each matching topic once, after any additions and removals', () => {
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 40 }),
        fc.array(filter, { maxLength: 4 }),
        (changes, filters) => {
          const tree = new TopicTree<string>();
          const held = new Set<string>();
          for (const [topic, isAdded] of changes) {
            if (isAdded) held.add(topic);
            else held.delete(topic);
            if (isAdded) tree.set(topic, topic);
            else tree.delete(topic);
            expect(tree.get(topic)).toBe(isAdded ? topic : undefined);
          }
          const matching = [...held].filter((topic) =>
            filters.some((one) => matchesFilter(one, topic)),
          );
          expect([...tree.match(filters)].sort()).toEqual(matching.sort());
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['a thousand filters of few levels', Array.from({ length: 1_000 }, (_, n) => `+/+/f${n}`), 100],
    ['a thousand levels', [`${'a/'.repeat(1_000)}+`], 0],
  ])('looks at each topic about once for %s', (_, filters, matched) => {
    const tree = new TopicTree<string>();
    for (let n = 0; n < 10_000; n++) tree.set(`x/${n % 100}/f${n}`, `${n}`);
    const found = [...tree.match(filters)];
    expect(found.filter((value) => value !== undefined)).toHaveLength(matched * 10);
    expect(found.filter((value) => value === undefined).length).toBeLessThan(10);
  });
});

describe('the topics of a bridge', () => {
  const LOCATION = '0d4c4a5e-58a3-4b3c-9a0c-0f3c8f1f0001';
  const DEVICE = '0d4c4a5e-58a3-4b3c-9a0c-0f3c8f1f0002';
  const ALARM = `care-homes/${LOCATION}/devices/${DEVICE}/alarms/fall`;
  const MESSAGE = `care-homes/${LOCATION}/devices/${DEVICE}/battery/level`;

  function render(template: string, topic: string): string | undefined {
    const parsed = parseBridgeTopic(template);
    return parsed && bridgedTopic(parsed, topic);
  }

  describe('the upstream topic', () => {
    it.each([
      ['{topic}', ALARM, ALARM],
      ['home/{topic}', ALARM, `home/${ALARM}`],
      ['{locationId}/{deviceId}/{kind}', ALARM, `${LOCATION}/${DEVICE}/fall`],
      ['{deviceId}/{kind}', MESSAGE, `${DEVICE}/battery/level`],
      ['alarms', ALARM, 'alarms'],
    ])('%s', (template, topic, expected) => {
      expect(render(template, topic)).toBe(expected);
    });

    it.each(['', 'a/+', 'a/#', '{room}', '{topic', 'topic}', 'a\u0000'])(
      'is not %j',
      (template) => {
        expect(parseBridgeTopic(template)).toBeUndefined();
      },
    );
  });

  describe('the filters of a selection', () => {
    it.each([
      [{ send: 'all' as const }, ['care-homes/+/devices/+/#']],
      [{ send: 'alarms' as const }, ['care-homes/+/devices/+/alarms/+']],
      [
        { send: 'alarms' as const, locations: [LOCATION], kinds: ['fall', 'noise'] as const },
        [
          `care-homes/${LOCATION}/devices/+/alarms/fall`,
          `care-homes/${LOCATION}/devices/+/alarms/noise`,
        ],
      ],
      [{ send: 'alarms' as const, filters: ['#'] }, ['care-homes/+/devices/+/alarms/+']],
      [
        { send: 'all' as const, filters: ['+/+/devices/+/status', `care-homes/${LOCATION}/#`] },
        ['care-homes/+/devices/+/status', `care-homes/${LOCATION}/devices/+/#`],
      ],
      [{ send: 'all' as const, filters: ['gateway/status'] }, []],
    ])('%j', (selection, filters) => {
      expect(selectedFilters(selection)).toEqual(filters);
    });

    it('match what both match, for any filter', () => {
      const level = fc.constantFrom('care-homes', 'devices', 'alarms', 'fall', 'a');
      const filterLevel = fc.oneof(level, fc.constant('+'));
      const filter = fc
        .tuple(fc.array(filterLevel, { minLength: 1, maxLength: 7 }), fc.boolean())
        .map(([levels, isOpen]) => [...levels, ...(isOpen ? ['#'] : [])].join('/'));
      const topic = fc
        .array(level, { minLength: 1, maxLength: 7 })
        .map((levels) => levels.join('/'));
      const property = fc.property(filter, topic, (other, any) => {
        const [all = ''] = selectedFilters({ send: 'all' });
        const both = selectedFilters({ send: 'all', filters: [other] });
        expect(both.some((one) => matchesFilter(one, any))).toBe(
          matchesFilter(all, any) && matchesFilter(other, any),
        );
      });
      fc.assert(property, { numRuns: 5_000 });
    });
  });

  describe('a command from upstream', () => {
    it.each([
      [`devices/${DEVICE}/commands/led`, { locationId: undefined, deviceId: DEVICE, rest: 'led' }],
      [
        `region/care-homes/${LOCATION}/devices/${DEVICE}/commands/led/on`,
        { locationId: LOCATION, deviceId: DEVICE, rest: 'led/on' },
      ],
      [
        `x/devices/${DEVICE.toUpperCase()}/commands/led`,
        { locationId: undefined, deviceId: DEVICE, rest: 'led' },
      ],
    ])('%s', (topic, command) => {
      expect(parseBridgedCommand(topic)).toEqual(command);
    });

    it.each([
      `devices/${DEVICE}/commands/`,
      `devices/${DEVICE}/alarms`,
      'devices/7/commands/led',
      '',
    ])('is not %j', (topic) => {
      expect(parseBridgedCommand(topic)).toBeUndefined();
    });
  });
});
