/**
 * A store that has lost something or holds something unreadable: the gateway says what, goes on, and neither
 * acknowledges what it cannot keep nor forgets what may come back.
 *
 * Only here do tests name keys of the store: to lose and to damage them.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RECORD_KINDS } from '../../src/domain/site.js';
import { keysOf } from '../../src/store/keys.js';
import { expect, type Home, type Nurse, type Own, type Sensor, test } from '../harness/index.js';
import type { RedisProgram } from '../harness/redis.js';

const ALARMS = 5;
const KEYS = keysOf('site');
const SEQUENCE = '{site}:sequence:alarms';
/** The client id of a sensor whose session persists. */
const QOS2 = 'qos2';
const RECORDS = 'locations: 1, devices: 1, access tokens: 2';
/** More than one round of all the periodic work of a hurried gateway. */
const ROUNDS = 8;

interface Place {
  readonly home: Home;
  readonly store: RedisProgram;
  readonly sensor: Sensor;
  /** Away, and owed the alarms so far. */
  readonly nurse: Nurse;
}

/** A home on a server of its own, with alarms in the history and in a backlog. */
async function placeOf(own: Own): Promise<Place> {
  const store = await own.redis();
  const home = await own.home({ env: { GATEWAY_REDIS_URL: store.url }, isHurried: true });
  const [sensor, nurse] = [await home.sensor(), await home.nurse({ isDurable: true })];
  await nurse.leave();
  await sensor.raise(ALARMS);
  await isNoted(home);
  return { home, store, sensor, nurse };
}

/** Waits until the gateway has noted what its store has: it does so as often as it sends its status. */
async function isNoted(home: Home): Promise<void> {
  const nurse = await home.nurse({ filters: ['gateway/status'] });
  await nurse.until(({ received }) => received.length > ROUNDS, 'statuses');
  await nurse.leave();
}

async function says(home: Home, fault: string | RegExp): Promise<void> {
  const texts = async () => (await home.faults()).join('\n');
  await expect
    .poll(texts)
    .toEqual(
      typeof fault === 'string' ? expect.stringContaining(fault) : expect.stringMatching(fault),
    );
}

async function isReady(home: Home): Promise<void> {
  await expect.poll(() => home.faults()).toEqual([]);
}

async function acknowledge(home: Home, code = 'store-lost-data'): Promise<void> {
  expect((await home.ask('POST', `/faults/${code}/acknowledge`)).status).toBe(204);
  await isReady(home);
}

async function whileStopped(
  { home }: Pick<Place, 'home'>,
  work: () => Promise<unknown>,
): Promise<void> {
  await home.gateway.stop();
  await work();
  await home.gateway.start();
}

interface Loss {
  readonly name: string;
  readonly isRunning?: boolean;
  readonly lose: (store: RedisProgram) => Promise<unknown>;
  readonly says: string | RegExp;
}

const EVERYTHING = `everything stored, ${RECORDS}`;
const LOSSES: readonly Loss[] = [
  {
    name: 'its records',
    lose: ({ redis }) => redis.del(...RECORD_KINDS.map((kind) => KEYS.siteRecords(kind))),
    says: `lost ${RECORDS}, noticed`,
  },
  {
    name: 'the history',
    lose: ({ redis }) => redis.del(KEYS.history),
    says: 'entries 1 to 5 of the history',
  },
  {
    name: 'everything while it runs',
    isRunning: true,
    lose: ({ redis }) => redis.flushall(),
    says: `${EVERYTHING}, changes of the site: 4, entries 1 to 5 of the history`,
  },
  {
    name: 'what the server evicted',
    lose: async ({ redis }) => {
      await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await redis.config('SET', 'maxmemory', '1');
      await expect.poll(() => redis.dbsize()).toBe(0);
      await redis.config('SET', 'maxmemory', '0');
      await redis.config('SET', 'maxmemory-policy', 'noeviction');
    },
    says: /everything stored, locations: 1, .* keys that the server evicted: \d+,/,
  },
];

test.for(LOSSES)(
  '$name: the loss is reported across restarts until it is acknowledged',
  async (loss, { own }) => {
    const { home, store } = await placeOf(own);
    if (loss.isRunning === true) await loss.lose(store);
    else await whileStopped({ home }, () => loss.lose(store));
    await says(home, loss.says);
    await home.gateway.restart();
    await says(home, loss.says);
    await acknowledge(home);
    await home.gateway.restart();
    await isReady(home);
    const other = await own.homeAt(home.gateway);
    await (await other.sensor()).raise();
    await other.settled();
  },
);

test('a store without its append-only directory is reported, and serves', async ({ own }) => {
  const home = await own.home({ isHurried: true });
  await (await home.sensor()).raise(ALARMS);
  await isNoted(home);
  await whileStopped({ home }, () =>
    rm(join(home.gateway.dataDir, 'redis', 'appendonlydir'), { recursive: true }),
  );
  await says(home, `${EVERYTHING}, changes of the site: 4, entries 1 to 5 of the history`);
  await acknowledge(home);
  expect((await own.homeAt(home.gateway)).locationId).not.toBe(home.locationId);
});

test('a subscriber is not owed what the store has lost, and its account shows it', async ({
  own,
}) => {
  const { home, store, nurse } = await placeOf(own);
  await whileStopped({ home }, () => store.redis.del(KEYS.history));
  await nurse.connect();
  const lost = { accepted: ALARMS, delivered: 0, queued: 0, expired: 0, dropped: ALARMS };
  await expect.poll(() => home.account(nurse.clientId)).toEqual(lost);
  const { text } = await home.must('GET', '/metrics');
  expect(text).toMatch(
    new RegExp(`consumer="${nurse.clientId}",log="alarms",reason="lost"} ${ALARMS}\n`),
  );
  await says(home, `alarms of backlogs: ${ALARMS}, entries`);
});

test('guarantee 3: alarms lost to an older copy are reported, and recorded again from memory, in order, with their states', async ({
  own,
}) => {
  const { home, store, sensor, nurse } = await placeOf(own);
  const first = String(sensor.alarm().id);
  await sensor.untilAcknowledged();
  const backUp = await Promise.all(
    (await store.redis.keys('*')).map(
      async (key) => [key, await store.redis.dumpBuffer(key)] as const,
    ),
  );
  await sensor.raise(4);
  await home.must('POST', `./alarms/${first}/acknowledge`, { json: {} });
  await isNoted(home);
  await store.redis
    .multi([['flushall'], ...backUp.map(([key, dump]) => ['restore', key, 0, dump])])
    .exec();
  await says(home, 'entries 7 to 11 of the history');
  await sensor.raise();
  await nurse.connect();
  await home.settled({ mayRepeat: true, lost: 5 });
  expect((await home.must('GET', `./alarms/${first}`)).string('state')).toBe('acknowledged');
});

test.for(['no number', '1'])(
  'a counter of alarms that was set to "%s" costs none',
  async (value, { own }) => {
    const { home, store, sensor, nurse } = await placeOf(own);
    await store.redis.set(SEQUENCE, value);
    await sensor.raise(2);
    await nurse.connect();
    await home.settled();
    await isReady(home);
  },
);

interface Unreadable {
  readonly name: string;
  readonly kind: (typeof RECORD_KINDS)[number];
  readonly id: (place: Place) => string;
  readonly change: (record: Record<string, unknown>) => object | undefined;
  readonly says: RegExp;
  /** What cannot connect meanwhile. */
  readonly denied?: 'sensor' | 'nurse';
}

const ONE_LEFT_OUT = /unreadable records of the site \(1\): they are left out/;

const UNREADABLE: readonly Unreadable[] = [
  {
    name: 'a device is left out',
    kind: 'device',
    id: ({ sensor }) => sensor.device.id,
    change: (record) => ({ ...record, secretHash: undefined }),
    says: ONE_LEFT_OUT,
    denied: 'sensor',
  },
  {
    name: 'a location serves under its id',
    kind: 'location',
    id: ({ home }) => home.locationId,
    change: (record) => ({ ...record, name: 7 }),
    says: ONE_LEFT_OUT,
  },
  {
    name: 'a location serves under its id, also if it was deleted by hand,',
    kind: 'location',
    id: ({ home }) => home.locationId,
    change: () => undefined,
    says: /lost locations: 1/,
  },
  {
    name: 'a token is left out, and its backlog is kept',
    kind: 'access-token',
    id: ({ home }) => home.viewer.id,
    change: (record) => ({ ...record, grants: [{ location: '*', role: 'emperor' }] }),
    says: ONE_LEFT_OUT,
    denied: 'nurse',
  },
];

test.for(UNREADABLE)(
  '$name while its record cannot be read, until it is restored',
  async (row, { own }) => {
    const place = await placeOf(own);
    const { home, store, sensor, nurse } = place;
    const [key, id] = [KEYS.siteRecords(row.kind), row.id(place)];
    const record = (await store.redis.hget(key, id)) ?? '';
    const changed = row.change(JSON.parse(record));
    await whileStopped(place, () =>
      changed === undefined
        ? store.redis.hdel(key, id)
        : store.redis.hset(key, id, JSON.stringify(changed)),
    );
    await says(home, row.says);
    expect((await home.ask('GET', '/readyz')).status).toBe(200);
    const admin = await home.token([{ location: '*', role: 'viewer' }]);
    const watcher = await home.nurse({ filters: ['gateway/status'], token: admin });
    await watcher.until(({ received }) => received.some(({ text }) => row.says.test(text)));
    if (row.denied === 'nurse') await expect(nurse.connect()).rejects.toThrow('CONNACK');
    if (row.denied !== 'sensor') await sensor.raise();
    await whileStopped(place, () => store.redis.hset(key, id, record));
    await sensor.raise();
    await nurse.connect();
    await home.settled({ mayRepeat: true });
  },
);

interface Overwritten {
  readonly name: string;
  readonly key: (place: Place, other: Sensor) => string;
}

const OVERWRITTEN: readonly Overwritten[] = [
  { name: 'the history', key: () => KEYS.history },
  {
    name: "a device's alarms",
    key: ({ home }, { device }) => `${KEYS.sitePrefix}alarms:${home.locationId}:${device.id}`,
  },
];

test.for(OVERWRITTEN)(
  '$name, overwritten: its alarms are refused, and stored in order once it is mended',
  async (row, { own }) => {
    const place = await placeOf(own);
    const { home, store, sensor, nurse } = place;
    const broken = await home.sensor({ qos: 2, clean: false, clientId: QOS2 });
    const key = row.key(place, broken);
    await store.redis.rename(key, 'kept aside').catch(() => undefined);
    await store.redis.set(key, 'text');
    const alarms = [broken.alarm(), broken.alarm(), broken.alarm()];
    await expect.poll(async () => (await home.ask('GET', '/readyz')).status).toBe(503);
    if (key === KEYS.history) await says(home, 'entries 1 to 5 of the history');
    else await sensor.raise();
    expect(alarms.filter(({ isAcknowledged }) => isAcknowledged)).toEqual([]);
    await store.redis.rename('kept aside', key).catch(() => store.redis.del(key));
    await broken.untilAcknowledged();
    await nurse.connect();
    await home.settled();
    if (key === KEYS.history) await acknowledge(home);
    await isReady(home);
  },
);

test('what is owed to a session whose record is lost is kept', async ({ own }) => {
  const { home, store, sensor, nurse } = await placeOf(own);
  await store.redis.del(KEYS.session(`token:${home.viewer.id}/${nurse.clientId}`));
  await sensor.raise();
  await nurse.connect();
  await home.settled();
});

test('a queue that was overwritten goes on, and what of it is lost is said', async ({ own }) => {
  const { home, store, sensor, nurse } = await placeOf(own);
  await store.redis.set(KEYS.queue(`token:${home.viewer.id}/${nurse.clientId}`), 'text');
  const [alarm] = await sensor.raise();
  await says(home, `alarms of backlogs: ${ALARMS}`);
  await nurse.connect();
  await nurse.untilRecords(1);
  expect(nurse.messages()).toMatchObject([{ id: alarm?.id }]);
});

test('an account that does not add up is said until that is acknowledged', async ({ own }) => {
  const { home, store, nurse } = await placeOf(own);
  await store.redis.hincrby(
    KEYS.session(`token:${home.viewer.id}/${nurse.clientId}`),
    'delivered',
    1,
  );
  await says(home, 'does not add up');
  await acknowledge(home, 'account-broken');
  const account = { accepted: ALARMS + 1, delivered: 1, queued: ALARMS, expired: 0, dropped: 0 };
  expect(await home.account(nurse.clientId, 'alarms')).toEqual(account);
});

const UNANSWERED = [
  ['a location that is created', 'POST', () => '/care-homes'],
  [
    'a device that is deleted',
    'DELETE',
    ({ home, sensor }: Place) => `${home.path}/devices/${sensor.device.id}`,
  ],
  ['a token that is deleted', 'DELETE', ({ home }: Place) => `/access-tokens/${home.viewer.id}`],
] as const;

test.for(UNANSWERED)(
  '%s while the store is silent is answered with 503, and is so once it answers',
  async ([, method, path], { own }) => {
    const place = await placeOf(own);
    const { home, store, nurse, sensor } = place;
    await nurse.connect();
    store.freeze();
    const json = method === 'POST' ? { json: { name: 'Haus im Nebel' } } : {};
    const { status, headers } = await home.ask(method, path(place), json);
    store.thaw();
    expect([status, Number(headers['retry-after'])]).toEqual([503, expect.any(Number)]);
    if (method === 'POST') {
      const names = async () =>
        (await home.must('GET', '/care-homes')).list().map(({ name }) => name);
      await expect.poll(names).toContain('Haus im Nebel');
    } else if (path(place).includes('devices')) {
      await expect.poll(async () => (await home.ask('GET', path(place))).status).toBe(404);
      await sensor.client.closed();
    } else {
      await nurse.client.closed();
      expect((await home.ask('GET', '/care-homes', { token: home.viewer.token })).status).toBe(401);
    }
  },
);
