/** Addresses, secrets, JSON as it was written, footage, time and faults. */

import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { NewEvent } from '../../src/delivery/new-entry.js';
import { runtimeFault } from '../../src/doctor.js';
import { networkOf, plainAddress } from '../../src/domain/addresses.js';
import { isOwnFootageKey } from '../../src/domain/alarm.js';
import {
  calendarBounds,
  DailySchedule,
  drillsSchema,
  TimeZone,
} from '../../src/domain/calendar.js';
import { looksGenerated, newSecret } from '../../src/domain/credentials.js';
import { fault, faultWords } from '../../src/domain/fault.js';
import { FAULT_CODES, FAULTS } from '../../src/domain/faults.js';
import { isFootageContentType, newRecording, parseRecordingKey } from '../../src/domain/footage.js';
import {
  composeObject,
  decodeUtf8,
  isJson,
  mergePatch,
  objectMembers,
} from '../../src/domain/json.js';
import { Health } from '../../src/site/health/health.js';
import { SiteModel } from '../../src/site/site-model.js';
import { Supervision } from '../../src/watch/supervision.js';

describe('addresses', () => {
  describe('the network of an address', () => {
    it.each([
      ['2001:db8:0:1::1', '2001:db8:0:1:ffff:ffff:ffff:ffff'],
      ['2001:db8::1', '2001:db8::ffff'],
      ['2001:db8::1', '2001:db8::1:2:3'],
      ['::2', '::3'],
    ])('is the same for %s and %s', (one, other) => {
      expect(networkOf(one)).toBe(networkOf(other));
    });

    it.each([
      ['2001:db8:0:1::1', '2001:db8:0:2::1'],
      ['2001:db8::1', '2001:db9::1'],
      ['2001:db8:1::', '2001:db8:2::'],
      ['192.0.2.1', '192.0.2.2'],
      // How a listener on both versions sees IPv4 clients.
      ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
      ['', '192.0.2.1'],
      // All sensors of a home are in one such network.
      ['fe80::1%eth0', 'fe80::2%eth0'],
      ['fd12:3456::1', 'fd12:3456::2'],
    ])('differs for %j and %s', (one, other) => {
      expect(networkOf(one)).not.toBe(networkOf(other));
    });
  });

  it.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::ffff:c000:201', '::ffff:c000:201'],
    [undefined, ''],
  ])('a socket at %s has the address %j', (sent, address) => {
    expect(plainAddress(sent)).toBe(address);
  });
});

describe('credentials', () => {
  it('creates different secrets, none of them starting with a minus sign', () => {
    const secrets = Array.from({ length: 20_000 }, newSecret);
    expect(secrets.filter((secret) => !looksGenerated(secret) || secret.startsWith('-'))).toEqual(
      [],
    );
    expect(new Set(secrets).size).toBe(secrets.length);
  });
});

describe('JSON text', () => {
  /** Applies RFC 7396, section 2, to values, as written in the RFC. */
  function referenceMerge(target: unknown, patch: unknown): unknown {
    if (!isObject(patch)) return patch;
    const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
    for (const [key, value] of Object.entries(patch)) {
      if (value === null) delete result[key];
      else result[key] = referenceMerge(result[key], value);
    }
    return result;
  }

  function isObject(value: unknown): value is Record<string, unknown> {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  }

  const keys = fc.constantFrom('a', 'b', '1', '0', '', 'ä"\\', 'constructor');
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, -1.5, 'x', '"}', '\\', '😀'),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(keys, tie('json'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const spelled = fc
    .tuple(json, fc.constantFrom(undefined, 1, '\t'))
    .map(([value, indent]) => JSON.stringify(value, null, indent));

  describe('objectMembers', () => {
    it('splits every object into its keys and the texts of its values', () => {
      fc.assert(
        fc.property(spelled, (text) => {
          const value: unknown = JSON.parse(text);
          const members = objectMembers(text);
          if (!isObject(value)) return members === undefined;
          const read = [...(members ?? [])].map(([key, part]) => [key, JSON.parse(part)]);
          expect(Object.fromEntries(read)).toEqual(value);
          return true;
        }),
      );
    });

    it('keeps the spelling of values and the order of keys', () => {
      const members = objectMembers(
        '{"b":1.10,"1": 12345678901234567890 ,"__proto__":{"x":[ 1 ]}}',
      );
      expect([...(members ?? [])]).toEqual([
        ['b', '1.10'],
        ['1', '12345678901234567890'],
        ['__proto__', '{"x":[ 1 ]}'],
      ]);
    });

    it('keeps the last of two equal keys, in the place of the first', () => {
      expect(composeObject(objectMembers('{"a":1,"b":2,"a":3}') ?? new Map())).toBe(
        '{"a":3,"b":2}',
      );
    });
  });

  describe('mergePatch', () => {
    it('follows RFC 7396', () => {
      fc.assert(
        fc.property(spelled, spelled, (target, patch) => {
          const merged: unknown = JSON.parse(mergePatch(target, patch));
          expect(merged).toEqual(referenceMerge(JSON.parse(target), JSON.parse(patch)));
        }),
      );
    });

    it.each([
      ['{"a":1.10,"b":2}', '{"b":12345678901234567890}', '{"a":1.10,"b":12345678901234567890}'],
      ['{"a":{"x":1,"y":2}}', '{"a":{"x":null}}', '{"a":{"y":2}}'],
      ['{"a":1}', '{"__proto__":{"p":1}}', '{"a":1,"__proto__":{"p":1}}'],
      ['{}', '{"a":{"b":null}}', '{"a":{}}'],
    ])('of %s with %s is %s', (target, patch, merged) => {
      expect(mergePatch(target, patch)).toBe(merged);
    });
  });

  describe('text and JSON', () => {
    it('does not accept malformed UTF-8', () => {
      expect(decodeUtf8(Buffer.from([0x22, 0xff, 0x22]))).toBeUndefined();
      expect(decodeUtf8(Buffer.from('"ü"'))).toBe('"ü"');
    });

    it('does not accept a byte order mark, a trailing comma or a second value', () => {
      for (const text of ['\ufeff{}', '{"a":1,}', '1 2', '', "{'a':1}", 'NaN']) {
        expect(isJson(text), text).toBe(false);
      }
    });

    it('accepts any depth', () => {
      expect(isJson('['.repeat(50_000) + ']'.repeat(50_000))).toBe(true);
    });
  });
});

describe('footage', () => {
  const contentTypes = fc
    .tuple(
      fc.constantFrom('video' as const, 'audio' as const),
      fc.stringMatching(/^[a-z0-9.+_-]+$/),
    )
    .map(([type, subtype]) => ({ type, contentType: `${type}/${subtype}` }))
    .filter(({ type, contentType }) => isFootageContentType(contentType, type));

  describe('the key of a recording', () => {
    it('describes the recording, and may be named in an alarm of its device', () => {
      fc.assert(
        fc.property(fc.uuid(), contentTypes, (deviceId, { type, contentType }) => {
          const recording = newRecording(deviceId, type, contentType);
          expect(parseRecordingKey(recording.key)).toEqual(recording);
          expect(isOwnFootageKey(recording.key, deviceId)).toBe(true);
          expect(isOwnFootageKey(recording.key, randomUUID())).toBe(false);
        }),
      );
    });

    it('is the only permitted form of a file name in the folder', () => {
      const [device, id] = [randomUUID(), randomUUID()];
      const others = [
        '',
        `${device}/video/${id}`,
        `${device}/video/${id}.`,
        `${device}/video/${id}..`,
        `${device}/video/${id}.mp4/`,
        `${device}/video/${id}.mp4\n`,
        `${device}/video/${id}.MP4`,
        `${device}/image/${id}.png`,
        `${device}/video/../${id}.mp4`,
        `${device}/video/x/${id}.mp4`,
        `${device}//${id}.mp4`,
        `/${device}/video/${id}.mp4`,
        `devices/${device}/video/${id}.mp4`,
        `../${device}/video/${id}.mp4`,
        `${device.toUpperCase()}X/video/${id}.mp4`,
        `${device}/video/${id}.mp4\0`,
        `${device}\\video\\${id}.mp4`,
      ];
      for (const key of others) expect([key, parseRecordingKey(key)]).toEqual([key, undefined]);
    });
  });

  describe('a content type', () => {
    it('is one of video or audio, as announced, in lower case and without parameters', () => {
      for (const good of ['video/mp4', 'video/3gpp2', 'video/x-msvideo', 'video/vnd.rn+x']) {
        expect([good, isFootageContentType(good, 'video')]).toEqual([good, true]);
        expect([good, isFootageContentType(good, 'audio')]).toEqual([good, false]);
      }
      const bad = [
        'video/MP4',
        'video/',
        'video/.',
        'video/a/b',
        'video/a;b',
        'video/a b',
        'video/a\n',
      ];
      for (const text of [...bad, 'text/html', 'xvideo/mp4', `video/${'x'.repeat(65)}`]) {
        expect([text, isFootageContentType(text, 'video')]).toEqual([text, false]);
      }
    });
  });
});

describe('the calendar', () => {
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
});

describe('a daily schedule', () => {
  /** The moments of a daily drill within a time range, found by looking every ten minutes. */
  function moments(at: string, from: string, to: string): string[] {
    const schedule = new DailySchedule({ at, timeZone: 'Europe/Berlin' });
    const found = new Set<number>();
    for (let timeMs = Date.parse(from); timeMs <= Date.parse(to); timeMs += 600_000) {
      found.add(schedule.lastDueMs(timeMs));
    }
    return [...found].slice(1).map((timeMs) => new Date(timeMs).toISOString().slice(0, 16));
  }

  it('runs once a day, even on the nights when the clocks change', () => {
    expect(moments('03:30', '2026-03-27T12:00Z', '2026-03-30T12:00Z')).toEqual([
      '2026-03-28T02:30',
      '2026-03-29T01:30',
      '2026-03-30T01:30',
    ]);
    expect(moments('03:30', '2026-10-23T12:00Z', '2026-10-26T12:00Z')).toEqual([
      '2026-10-24T01:30',
      '2026-10-25T02:30',
      '2026-10-26T02:30',
    ]);
  });

  it('runs an hour later when the clocks skip its time, and the first time when they repeat it', () => {
    expect(moments('02:30', '2026-03-28T12:00Z', '2026-03-30T12:00Z')).toEqual([
      '2026-03-29T01:30',
      '2026-03-30T00:30',
    ]);
    expect(moments('02:30', '2026-10-24T12:00Z', '2026-10-26T12:00Z')).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
    expect(moments('00:00', '2026-10-24T12:00Z', '2026-10-26T12:00Z')).toEqual([
      '2026-10-24T22:00',
      '2026-10-25T23:00',
    ]);
  });

  it('accepts a time of day and a time zone', () => {
    for (const wrong of [
      { at: '24:00', timeZone: 'UTC' },
      { at: '3:30', timeZone: 'UTC' },
      { at: '03:30', timeZone: 'Mars/Base' },
      { at: '03:30' },
    ]) {
      expect(drillsSchema.safeParse([wrong]).success, JSON.stringify(wrong)).toBe(false);
    }
  });
});

describe('supervision', () => {
  const DEVICE = {
    id: 'device',
    locationId: 'home',
    roomId: null,
    name: 'Bett 1',
    order: 2,
    createdAtMs: 0,
    secretHash: '',
    customData: '{}',
  };

  /** A home with a device that a supervision looks at; events are stored when the test says so. */
  class World {
    readonly model = new SiteModel();
    readonly events: NewEvent[] = [];
    readonly #stored: ((isStored: boolean, number: number) => void)[] = [];
    seen = { silentMs: 0, lastSeenAtMs: 0 };
    readonly supervision: Supervision;

    constructor() {
      const location = { id: 'home', name: 'Haus', order: 1 };
      this.model.apply([{ kind: 'location', before: undefined, after: location }]);
      this.model.apply([{ kind: 'device', before: undefined, after: DEVICE }]);
      this.supervision = new Supervision({
        model: this.model,
        hearing: {
          silentMs: () => this.seen.silentMs,
          of: () => this.seen,
          fellSilent: () => undefined,
        },
        writer: {
          append: (item, onDone) => {
            if ('event' in item) this.events.push(item);
            this.#stored.push(onDone);
          },
        },
        store: { silent: () => Promise.resolve([]) },
        health: new Health(),
        silentAfterSeconds: 60,
        now: () => 1_000_000,
        steadyNow: () => 1_000_000,
      });
    }

    check(silentMs: number, lastSeenAtMs: number): void {
      this.seen = { silentMs, lastSeenAtMs };
      this.supervision.check();
    }

    store(): void {
      for (const onDone of this.#stored.splice(0)) onDone(true, 1);
    }
  }

  it('a silent device is not heard because its time became longer and a clock rounds differently', () => {
    const world = new World();
    world.check(61_000, 500_000);
    world.store();
    const after = { ...DEVICE, silentAfterSeconds: 900 };
    world.model.apply([{ kind: 'device', before: DEVICE, after }]);
    world.check(62_000, 500_001);
    expect(world.events).toHaveLength(1);
    world.check(0, 562_000);
    expect(world.events).toHaveLength(2);
  });

  it('a device that is deleted while its event is being stored is not silent', () => {
    const world = new World();
    world.check(61_000, 500_000);
    world.model.apply([{ kind: 'device', before: DEVICE, after: undefined }]);
    world.supervision.removed(DEVICE.id);
    world.store();
    expect(world.supervision.list()).toEqual([]);
  });
});

describe('faults', () => {
  describe('the table of faults', () => {
    it('has the same values in every language, and full sentences', () => {
      for (const kind of Object.values(FAULTS)) {
        for (const text of kind.texts) {
          expect(slotsOf(text)).toEqual(slotsOf(kind.texts[0]));
          expect(text).toMatch(/^[A-ZÄÖÜ].*\.\n[A-ZÄÖÜ`].*\.$/);
        }
      }
    });

    it('has codes in kebab-case, including those of the contract', () => {
      expect(FAULT_CODES.filter((code) => !/^[a-z]+(-[a-z]+)*$/.test(code))).toEqual([]);
      const promised =
        'store-unreachable store-full store-lost-data account-broken disk-nearly-full clock-jumped certificate-expiring bridge-down output-failing consumer-lagging limit-exceeded device-silent drill-failed';
      expect(FAULT_CODES).toEqual(expect.arrayContaining(promised.split(' ')));
    });
  });

  describe('the words of a fault', () => {
    it('include its values, in the requested language', () => {
      const limit = { en: '50 messages a second', de: '50 Nachrichten je Sekunde' };
      const slowed = fault('deviceSlowed', { limit });
      expect(faultWords(slowed, 'en').message).toBe(
        'A device is slowed to its limit of 50 messages a second.',
      );
      expect(faultWords(slowed, 'de').message).toBe(
        'Ein Gerät wird auf seine Grenze von 50 Nachrichten je Sekunde gebremst.',
      );
    });

    it('state how many others a fault stands for', () => {
      const subject = { type: 'device', id: '1', name: 'Bed' } as const;
      const silent = (count: number) =>
        Array.from({ length: count }, () => ({ ...fault('deviceSilent'), subject }));
      const health = new Health();
      health.replace('silent', silent(5));
      const [others, ...named] = health.shown().toReversed();
      expect(named).toHaveLength(3);
      expect(others?.subject).toBeUndefined();
      expect(others && faultWords(others, 'en').message).toBe(
        'A device is silent: nothing comes from it any more (2 more).',
      );
      expect(others && faultWords(others, 'de').message).toBe(
        'Ein Gerät ist verstummt: Von ihm kommt nichts mehr (2 weitere).',
      );
      health.replace('silent', silent(3));
      expect(health.shown().every(({ more }) => more === undefined)).toBe(true);
    });
  });

  describe('the present faults', () => {
    afterEach(() => void vi.useRealTimers());

    it('change at most once a second, and only if others are shown', () => {
      vi.useFakeTimers();
      const health = new Health();
      let changes = 0;
      health.on('changed', () => changes++);
      health.report('store', fault('storeSilent'));
      health.report('store', fault('storeUnreachable'));
      health.report('store', undefined);
      health.report('store', fault('storeSlow'));
      expect(changes).toBe(1);
      vi.advanceTimersByTime(1_000);
      expect(changes).toBe(2);
      vi.advanceTimersByTime(1_000);
      health.report('store', fault('storeSlow'));
      expect(changes).toBe(2);
      health.report('store', undefined);
      expect(changes).toBe(3);
    });

    it('have lasted since their code was reported, or since each began', () => {
      let nowMs = Date.parse('2026-11-21T08:00:00Z');
      const health = new Health(() => nowMs);
      const about = (id: string) => {
        return { ...fault('deviceSilent'), subject: { type: 'device' as const, id, name: id } };
      };
      health.report('store', fault('storeSilent'));
      health.replace('silent', [about('1')]);
      nowMs += 1_000;
      health.report('store', fault('storeUnreachable'));
      health.replace('silent', [about('2'), about('1')]);
      expect(health.shown().map(({ since }) => since.slice(17, 19))).toEqual(['00', '01', '00']);
    });
  });

  function slotsOf(message: string): string[] {
    return (message.match(/\{\w+\}/g) ?? []).sort();
  }
});

describe('the support of Node.js', () => {
  it.each([
    ['v20.19.0', '2026-04-30T23:59:59Z', undefined],
    [
      'v20.19.0',
      '2026-05-01T00:00:00Z',
      'Node.js v20.19.0 has had no security fixes since 2026-04-30.',
    ],
    ['v22.12.0', '2026-11-27T00:00:00Z', undefined],
    [
      'v24.1.0',
      '2028-05-01T00:00:00Z',
      'Node.js v24.1.0 has had no security fixes since 2028-04-30.',
    ],
    // A later version, which the gateway does not know.
    ['v26.0.0', '2040-01-01T00:00:00Z', undefined],
    ['unknown', '2040-01-01T00:00:00Z', undefined],
  ])('a gateway on Node.js %s at %s reports: %s', (version, at, message) => {
    const fault = runtimeFault(version, Date.parse(at));
    expect(fault && faultWords(fault, 'en').message).toBe(message);
  });
});
