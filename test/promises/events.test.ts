/**
 * `GET /events`: what a subscriber at QoS 1 gets, as server-sent events. An alarm has a position, from which a client
 * resumes: it gets every alarm after it once, in order, or is told that it has missed some.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { EventReader, type EventRequest } from '../harness/events.js';
import {
  createToken,
  describe,
  expect,
  type Home,
  type Sensor,
  type TestToken,
  test,
} from '../harness/index.js';

/** Opens a stream of the home's alarms, unless other filters are given. */
async function open(home: Home, request: EventRequest = {}, who: TestToken = home.viewer) {
  const filters = [home.filter(undefined, 'alarms/#')];
  const reader = await EventReader.open(home.gateway, who, { filters, ...request });
  home.onClose(() => reader.close());
  return reader;
}

async function outcomeOf(home: Home, request?: EventRequest, who?: TestToken): Promise<number> {
  const reader = await open(home, request, who);
  reader.close();
  return reader.response.statusCode ?? 0;
}

function numbersOf(reader: EventReader, { device }: Sensor): unknown[] {
  const own = reader.alarms().filter((alarm) => alarm.device.id === device.id);
  return own.map(({ data }) => Object(data).n);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** Expects rising positions: the order is that of the log. */
function expectRisingPositions(reader: EventReader): void {
  const sequences = reader.alarms().map(({ position }) => Number(position?.split('-')[1]));
  expect(sequences).toEqual(sequences.toSorted((one, other) => one - other));
  expect(new Set(sequences).size).toBe(sequences.length);
}

describe('a stream', () => {
  test('has messages as they come, and alarms with their position', async ({ home }) => {
    const sensor = await home.sensor();
    const reader = await open(home, { filters: [] });
    expect(reader.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    expect(await reader.opened()).toMatchObject({ missed: false });
    await sensor.raise(3);
    await sensor.publish('x', '{"n":0}');
    await reader.until(
      (one) => one.messages('/x').length === 1 && one.alarms().length === 3,
      'all',
    );
    expect(numbersOf(reader, sensor)).toEqual([0, 1, 2]);
    expect(reader.messages('/x')).toMatchObject([
      {
        id: undefined,
        topic: home.filter(sensor.device, 'x'),
        retained: false,
        payload: { data: { n: 0 }, device: { id: sensor.device.id } },
      },
    ]);
    const { status, headers } = await home.ask('HEAD', '/events');
    expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
  });

  test('has payloads byte for byte, whatever their data looks like', async ({ home }) => {
    const sensor = await home.sensor();
    const reader = await open(home, { filters: [] });
    await reader.opened();
    const number = '1.000000000000000000001';
    const data = `{"number":${number},\r\n "text":"\\u00e9 é 🧓",\n\n "data: x":[]}`;
    await sensor.publish('y', data);
    await reader.until((one) => one.messages('/y').length === 1, 'the message');
    const text = reader.events.find((event) => event.data.includes('/y"'))?.data ?? '';
    // The lines of an event end with a line feed.
    expect(text).toContain(data.replaceAll('\r\n', '\n'));
    expect(JSON.parse(text)).toMatchObject({ payload: { data: JSON.parse(data) } });
  });

  test('begins with what is retained: a device online, and the status of the gateway', async ({
    home,
  }) => {
    const sensor = await home.sensor();
    const filters = [home.filter(undefined, 'status'), 'gateway/status'];
    const seen = await open(home, { filters });
    await seen.until((one) => one.messages('devices').length > 0, 'the status');
    const reader = await open(home, { filters });
    await reader.until((one) => one.messages().length >= 2, 'both');
    const online = { retained: true, payload: { online: true } };
    expect(reader.messages().slice(0, 2)).toMatchObject([online, online]);
    await sensor.end();
    // Live, it may also have come online: it is retained before it goes out.
    const offline = { retained: false, payload: { online: false } };
    const ended = (one: typeof reader) =>
      JSON.stringify(one.messages('devices').at(-1)).includes('"online":false');
    await reader.until(ended, 'the end of the device');
    expect(reader.messages('devices').at(-1)).toMatchObject(offline);
  });

  test('shows a grant on a group what happens in it, also what was missed', async ({ home }) => {
    const sensor = await home.sensor();
    const [group, other] = [await home.group('A'), await home.group('B')];
    const ofGroup = await home.token([{ role: 'viewer', group }]);
    const reader = await open(home, { filters: [] }, ofGroup);
    const whole = await open(home);
    const { position } = await whole.opened();
    await reader.opened();
    await sensor.raise();
    for (const next of [group, other, group]) {
      await home.move(sensor.device, { targetRoomId: await home.room('1', next) });
      await sensor.raise();
    }
    await Promise.all([whole.untilAlarms(4), reader.untilAlarms(2)]);
    expect(numbersOf(reader, sensor)).toEqual([1, 3]);
    const again = await open(home, { filters: [], lastEventId: position }, ofGroup);
    await again.untilAlarms(2);
    await sensor.raise();
    await again.untilAlarms(3);
    expect(numbersOf(again, sensor)).toEqual([1, 3, 4]);
  });

  test('has nothing of another location, and each event once, whatever the filters', async ({
    home,
    own,
  }) => {
    const stranger = await own.homeAt(home.gateway);
    const [ours, theirs] = [await home.sensor(), await stranger.sensor()];
    const filters = ['#', 'care-homes/+/devices/+/alarms/#', `care-homes/${home.locationId}/#`];
    const reader = await open(home, { filters });
    await reader.opened();
    for (const sensor of [theirs, ours, theirs, ours]) await sensor.raise();
    await reader.untilAlarms(2);
    expect(numbersOf(reader, ours)).toEqual([0, 1]);
    expect(reader.messages(stranger.locationId)).toEqual([]);
    expect(reader.alarms()).toHaveLength(2);
  });

  test('takes filters with ids in upper case, as SUBSCRIBE does', async ({ home }) => {
    const sensor = await home.sensor();
    const [of, device] = [home.locationId.toUpperCase(), sensor.device.id.toUpperCase()];
    const reader = await open(home, { filters: [`care-homes/${of}/devices/${device}/alarms/#`] });
    sensor.alarm();
    await reader.untilAlarms(1);
  });

  const OUTCOMES: readonly [status: number, filter: string, filters: readonly string[]][] = [
    [403, 'another location', [`care-homes/${randomUUID()}/#`]],
    [403, 'another location besides its own', ['#', `care-homes/${randomUUID()}/#`]],
    [403, 'commands', [`devices/${randomUUID()}/commands/#`]],
    [400, 'a misplaced wildcard', ['care-homes/#/x']],
    [400, 'a wildcard within a level', ['care-homes/x+']],
    [400, 'an empty one', ['']],
    [400, 'a NUL', ['care-homes/\u0000']],
    [400, '21 of them', range(0, 21).map((at) => `care-homes/+/${at}`)],
    [200, '20 of them', range(0, 20).map((at) => `care-homes/+/${at}`)],
    [200, '$SYS, which other brokers have', ['$SYS/#']],
  ];

  test('is refused for filters that its token may not have, or nobody', async ({ home }) => {
    for (const [status, name, filters] of OUTCOMES) {
      expect([name, await outcomeOf(home, { filters })]).toEqual([name, status]);
    }
    expect(await outcomeOf(home, {}, { ...home.viewer, token: 'x'.repeat(43) })).toBe(401);
    const one = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('#', '+/+', '$x', 'a/#'));
    const property = fc.asyncProperty(fc.array(one, { minLength: 1 }), async (filters) => {
      expect([200, 400, 403]).toContain(await outcomeOf(home, { filters }));
    });
    await fc.assert(property, { numRuns: 30 });
  });
});

describe('a stream that resumes', () => {
  test('has what was missed first, and nothing twice, while alarms keep coming', async ({
    home,
  }) => {
    const sensors = [await home.sensor(), await home.sensor()];
    const all = async (count: number) => {
      await Promise.all(sensors.map((sensor) => sensor.raise(count)));
    };
    const { position } = await (await open(home)).opened();
    await all(75);
    const feeding = all(75);
    const reader = await open(home, { lastEventId: position });
    expect(await reader.opened()).toEqual({ position, missed: false });
    await feeding;
    await reader.untilAlarms(300);
    for (const sensor of sensors) expect(numbersOf(reader, sensor)).toEqual(range(0, 150));
    expectRisingPositions(reader);
    const further = await open(home, { lastEventId: reader.lastEventId, isInQuery: true });
    await further.opened();
    await all(1);
    await further.untilAlarms(2);
    for (const sensor of sensors) expect(numbersOf(further, sensor)).toEqual([150]);
  });

  test('misses and repeats nothing when it is cut off again and again', async ({ home }) => {
    const sensor = await home.sensor();
    const first = await open(home);
    let { position } = await first.opened();
    const feeding = sensor.raise(150);
    const seen: string[] = [];
    while (seen.length < 150) {
      const reader = await open(home, { lastEventId: position });
      expect(await reader.opened()).toEqual({ position, missed: false });
      await reader.untilAlarms(Math.min(20, 150 - seen.length));
      reader.close();
      seen.push(...reader.alarms().map(({ id }) => id));
      position = reader.lastEventId ?? position;
    }
    await feeding;
    await first.untilAlarms(150);
    expect(seen).toEqual(first.alarms().map(({ id }) => id));
  });

  test('misses nothing when the gateway is killed', { timeout: 60_000 }, async ({ own }) => {
    const home = await own.home({ kind: 'process' });
    const sensor = await home.sensor();
    const before = await open(home);
    await before.opened();
    const feeding = sensor.raise(200);
    await before.untilAlarms(50);
    await home.gateway.kill();
    await before.untilEnd();
    await home.gateway.start();
    const reader = await open(home, { lastEventId: before.lastEventId });
    expect(await reader.opened()).toMatchObject({ missed: false });
    await feeding;
    const ids = () => [...before.alarms(), ...reader.alarms()].map(({ id }) => id);
    await reader.until(() => ids().length >= 200, 'all alarms');
    expect(new Set(ids()).size).toBe(200);
    expect(ids()).toHaveLength(200);
    expectRisingPositions(reader);
  });

  test('marks alarms as late only when they are', async ({ home }) => {
    const first = await open(home);
    const { position } = await first.opened();
    await (await home.sensor()).raise(2);
    await first.untilAlarms(2);
    const reader = await open(home, { lastEventId: position });
    await reader.untilAlarms(2);
    expect(reader.alarms()).toEqual(first.alarms());
    expect(reader.alarms().map(({ late }) => late)).toEqual([false, false]);
  });

  test('opens at once while the store is silent, and has live copies', async ({ own }) => {
    const home = await own.home();
    const sensor = await home.sensor();
    const first = await open(home);
    await first.opened();
    await sensor.raise(2);
    await first.untilAlarms(2);
    const store = await home.store();
    store.freeze();
    try {
      const alarm = sensor.alarm();
      const reader = await open(home, { lastEventId: first.lastEventId });
      expect(await reader.opened()).toMatchObject({ missed: false });
      await reader.until((one) => one.messages('/alarms/').length === 1, 'the live copy');
      expect(reader.messages()).toMatchObject([{ id: undefined, payload: { id: alarm.id } }]);
      expect(alarm.isAcknowledged).toBe(false);
      store.thaw();
      await reader.untilAlarms(1);
      expect(reader.alarms()).toMatchObject([{ id: alarm.id }]);
    } finally {
      store.thaw();
    }
  });
});

describe('a position that cannot be served', () => {
  /** The answer to `open`: whether something was missed, and the newest position. */
  async function openedAt(home: Home, lastEventId: string, isInQuery = false) {
    const reader = await open(home, { lastEventId, isInQuery });
    expect(reader.response.statusCode).toBe(200);
    return { reader, ...(await reader.opened()) };
  }

  test('is reported as missed, and new alarms follow', async ({ home }) => {
    const sensor = await home.sensor();
    const first = await open(home);
    await sensor.raise(2);
    await first.untilAlarms(2);
    const { position: served = '' } = first.alarms()[0] ?? {};
    const [store, sequence] = served.split('-');
    const of = (one = store, two = sequence) => `${one}-${two}`;
    const rows: readonly [name: string, position: string, missed: boolean][] = [
      ['an alarm', of(), false],
      ['another store', of('00000000'), true],
      ['ahead of the log', of(store, '1000000000'), true],
    ];
    for (const [name, position, missed] of rows) {
      const opened = await openedAt(home, position);
      expect([name, opened.missed]).toEqual([name, missed]);
      await sensor.raise();
      const newest = () => numbersOf(opened.reader, sensor).at(-1);
      await opened.reader.until(() => newest() === sensor.alarms - 1, 'the new alarm');
      opened.reader.close();
    }
  });

  test('is reported as missed when the history no longer reaches back to it', async ({ own }) => {
    const home = await own.home({ env: { GATEWAY_HISTORY_RETENTION_DAYS: '1' } });
    const device = await home.device();
    const first = await open(home);
    const { position } = await first.opened();
    const day = 24 * 3_600_000;
    await home.record(device, ...Array(5).fill({}));
    await home.gateway.clock.advance(0.9 * day);
    await home.record(device, ...Array(5).fill({}));
    await first.untilAlarms(10);
    const alarms = first.alarms();
    await home.gateway.clock.advance(0.2 * day);
    // Each start removes what is too old.
    await home.gateway.restart();
    const count = async () => (await home.alarms(device)).length;
    await expect.poll(count).toBe(5);
    const missed = async (at: string = '') => (await openedAt(home, at)).missed;
    expect(await missed(position)).toBe(true);
    expect(await missed(alarms[3]?.position)).toBe(true);
    const opened = await openedAt(home, alarms[4]?.position ?? '');
    expect(opened.missed).toBe(false);
    await opened.reader.untilAlarms(5);
    const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);
    expect(ids(opened.reader.alarms())).toEqual(ids(alarms.slice(5)));
  });

  test('is at worst reported as missed, whatever the text', async ({ home }) => {
    const { position } = await (await open(home)).opened();
    const [store] = position.split('-');
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme-ascii', minLength: 1 }),
      fc.constantFrom(`${store}-`, `${store}--`, `${store}--1-`, `${store}-1e3-`, `${store}-0x1-`),
      fc.bigInt({ min: 10n ** 9n }).map((sequence) => `${store}-${sequence}-5b2f7d90`),
      fc.constantFrom(randomUUID(), position.repeat(50), `${position}\t`, `x${position}`),
    );
    const property = fc.asyncProperty(texts, fc.boolean(), async (text, isInQuery) => {
      const { reader, ...opened } = await openedAt(home, text, isInQuery);
      reader.close();
      const isUsable = text.trim() === '' || text.trim() === position;
      if (!isUsable) expect(opened).toMatchObject({ position, missed: true });
    });
    await fc.assert(property, { numRuns: 30 });
  });
});

describe('a stream ends', () => {
  test('at once when its token is deleted; others go on', async ({ home }) => {
    const sensor = await home.sensor();
    const viewer = await home.token();
    const [reader, other] = [await open(home, {}, viewer), await open(home)];
    await Promise.all([reader.opened(), other.opened()]);
    await home.must('DELETE', `/access-tokens/${viewer.id}`);
    await reader.untilEnd();
    expect(await outcomeOf(home, {}, viewer)).toBe(401);
    await sensor.raise();
    await other.untilAlarms(1);
    expect(reader.alarms()).toEqual([]);
  });

  test('when its token expires', async ({ home }) => {
    const grants = [{ location: home.locationId, role: 'viewer' }];
    const expiresAt = new Date(home.gateway.clock.now() + 2_000).toISOString();
    const short = await createToken(home.gateway, grants, 'short', expiresAt);
    const reader = await open(home, {}, short);
    await reader.opened();
    await reader.untilEnd();
  });

  test('when the gateway stops, which does not wait for it', async ({ own }) => {
    const home = await own.home();
    const readers = await Promise.all(range(0, 20).map(() => open(home)));
    await Promise.all(readers.map((reader) => reader.opened()));
    readers[0]?.freeze();
    await home.gateway.stop();
    for (const reader of readers.slice(1)) await reader.untilEnd();
    expect(home.gateway.lines.filter((line) => line.includes('giving up'))).toEqual([]);
  });
});

test('an idle stream has heartbeats', async ({ own }) => {
  const reader = await open(await own.home({ isHurried: true }));
  const heartbeats = () => reader.events.filter(({ event }) => event === 'heartbeat');
  await reader.until(() => heartbeats().length >= 2, 'two heartbeats');
  for (const { data } of heartbeats()) expect(data).toMatch(/^{"at":"\d{4}-.*Z"}$/);
});

test('a stream is ended when nobody reads it for five seconds, and delays nobody before', async ({
  own,
}) => {
  const home = await own.home({ isHurried: true, hasStoppedClock: true });
  const { clock } = home.gateway;
  const [sensor, talker] = [await home.sensor(), await home.sensor()];
  const nurse = await home.nurse();
  const [reader, slow] = [await open(home), await open(home, { filters: ['care-homes/#'] })];
  await Promise.all([reader.opened(), slow.opened()]);
  const unread = async () =>
    (await home.must('GET', '/metrics')).text.match(/quota="unread_bytes"} (\d+)/)?.[1];
  const connected = async () => {
    const listed = (await home.must('GET', '/connections')).list('connections');
    return listed.filter(({ protocol }) => protocol === 'sse').length;
  };
  const long = JSON.stringify('x'.repeat(200_000));
  /** More than all buffers on the way hold, with an alarm now and then. */
  const fill = async () => {
    for (let round = 0; round < 10; round++) {
      const publishing = range(0, 8).map(() => talker.publish('x', long));
      await sensor.raise();
      await Promise.all([nurse.untilRecords(sensor.alarms), reader.untilAlarms(sensor.alarms)]);
      await Promise.all(publishing);
    }
  };
  slow.freeze();
  await fill();
  await clock.advance(4_000);
  slow.response.resume();
  await slow.until((one) => one.alarms().length === sensor.alarms, 'what was unread');
  expect([await unread(), await connected()]).toEqual([undefined, 2]);
  slow.freeze();
  await fill();
  await clock.advance(6_000);
  await expect.poll(unread).toBe('1');
  expect(await connected()).toBe(1);
  expect(numbersOf(reader, sensor)).toEqual(range(0, sensor.alarms));
});

describe('a stream counts', () => {
  const LIMITS: readonly [limit: string, env: Record<string, string>][] = [
    ['the connections of its token', { CONNECTIONS: '1' }],
    ['what its token may send', { MESSAGES_PER_SECOND: '1' }],
  ];

  test.for(LIMITS)('towards %s', async ([, limits], { own }) => {
    const variables = Object.entries(limits).map(([name, value]) => [
      `GATEWAY_LIMITS_TOKEN_${name}`,
      value,
    ]);
    const home = await own.home({ hasStoppedClock: true, env: Object.fromEntries(variables) });
    const first = await open(home);
    await first.opened();
    let denied = await open(home);
    // Ten at once, and a bucket lets one more in before it is in debt.
    for (let n = 0; n < 10 && denied.response.statusCode === 200; n++) denied = await open(home);
    expect(denied.response.statusCode).toBe(429);
    expect(Number(denied.response.headers['retry-after'])).toBeGreaterThan(0);
    expect(await outcomeOf(home, {}, await home.token())).toBe(200);
    if (limits['CONNECTIONS'] === undefined) return;
    // MQTT connections count, too.
    await expect(home.client()).rejects.toThrow('CONNACK');
    first.close();
    await expect.poll(() => outcomeOf(home)).toBe(200);
  });

  test('towards the subscriptions of its token', async ({ home }) => {
    const viewer = await home.token();
    const subscriber = await home.client(viewer);
    for (let packet = 0; packet < 10; packet++) {
      const filters = range(0, 1_000).map((n) => home.filter(undefined, `${packet}/${n}`));
      await subscriber.subscribe(filters.slice(packet === 0 ? 1 : 0));
    }
    expect(await outcomeOf(home, {}, viewer)).toBe(200);
    await subscriber.subscribe(home.filter(undefined, '0/0'));
    expect(await outcomeOf(home, {}, viewer)).toBe(429);
  });

  test('among the connections, with its address and backlog, until its client goes', async ({
    home,
  }) => {
    const viewer = await home.token();
    const reader = await open(home, {}, viewer);
    await reader.opened();
    await (await home.sensor()).raise();
    await reader.untilAlarms(1);
    const listed = async () => {
      const connections = (await home.must('GET', '/connections')).list('connections');
      return connections.filter(({ principal }) => Object(principal).id === viewer.id);
    };
    await expect.poll(listed).toMatchObject([
      {
        clientId: expect.stringMatching(/^events-/),
        principal: { type: 'access-token' },
        address: '127.0.0.1',
        protocol: 'sse',
        mqttVersion: null,
        keepAliveSeconds: null,
        backlog: { alarms: 0, messages: 0 },
      },
    ]);
    reader.close();
    await expect.poll(listed).toEqual([]);
  });
});
