/**
 * Denials (contract 2, Audit and denials): every denied permission and failed login is answered at once and recorded in
 * the background, also while the store is away; a flood of them leaves few records that count all.
 */
import { randomUUID } from 'node:crypto';
import { expect, type Home, test, testWith, times } from '../harness/index.js';
import {
  DEVICE_PATHS,
  fill,
  protectedRoutesOf,
  type Route,
  routesOf,
  SIGNED_PATHS,
} from './routes.js';

const DENIED = 0x80;
const MIB = 1024 * 1024;
/** Closes `/metrics` even to this machine, because anyone may come from there. */
const PUBLIC = { GATEWAY_HTTP_PUBLIC_URL: 'https://gateway.test' };
const alone = testWith({ hasStoppedClock: true, isHurried: true, env: { ...PUBLIC } });

async function recordsOf(home: Home, query: string) {
  return (await home.must('GET', `/audit?order=asc&limit=100&${query}`)).list('events');
}

/** What this token or device was denied over MQTT, in the order of the records. */
async function topicsOf(home: Home, { id }: { readonly id: string }) {
  const records = await recordsOf(home, `actions=permission.refused&actor=${id}`);
  return records.map(({ details }) => Object(details).topic);
}

function filters(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `elsewhere/${from + index}`);
}

alone('a denied request leaves a record, on every route', async ({ home, gateway, own }) => {
  const device = await home.device();
  const ids = { locationId: home.locationId, deviceId: device.id };
  const { id, token } = await home.token([{ location: randomUUID(), role: 'viewer' }]);
  const expected: object[] = [];
  for (const { method, path } of protectedRoutesOf()) {
    const target = fill(path, ids);
    const answer = await home.ask(method, `${target}?secret=x`, { token });
    if (answer.status !== 403) continue;
    expected.push({
      action: 'permission.refused',
      actor: {
        type: 'access-token',
        id,
        address: '127.0.0.1',
        requestId: answer.headers['x-request-id'],
      },
      locationId: path.includes(':locationId') ? home.locationId : null,
      details: { method, path: target },
    });
    // Up to ten a second are recorded one by one.
    await gateway.clock.advance(1_000);
  }
  expect(expected.length).toBeGreaterThan(30);
  const all = () => recordsOf(home, `actor=${id}`);
  await expect.poll(async () => (await all()).length).toBe(expected.length);
  expect(await all()).toMatchObject(expected);

  // Those that only the handler denies, and that of the metrics, which are open to others.
  const other = await own.homeAt(gateway);
  const manager = await home.token('manager');
  const move = `${home.path}/devices/${device.id}/move`;
  const json = { targetLocationId: other.locationId };
  expect((await home.ask('POST', move, { token: manager.token, json })).status).toBe(403);
  expect((await home.ask('GET', '/metrics', manager)).status).toBe(403);
  const paths = async () => {
    const records = await recordsOf(home, `actor=${manager.id}`);
    return records.map(({ resourceId, details }) => [resourceId, Object(details).path]);
  };
  await expect.poll(paths).toEqual([
    [device.id, move],
    [null, '/metrics'],
  ]);
});

alone('a denied request is 403 on every route while the store is frozen, too', async ({ home }) => {
  const camera = await home.device();
  const { token } = await home.token([{ location: randomUUID(), role: 'viewer' }]);
  const deniedOf = async (routes: readonly Route[]) => {
    const denied: Route[] = [];
    for (const route of routes) {
      const isOfDevice = DEVICE_PATHS.includes(route.path);
      const path = fill(route.path, { locationId: home.locationId });
      const signed = SIGNED_PATHS.includes(route.path) ? '?expires=1&signature=x' : '';
      const who = isOfDevice ? { device: camera } : { token };
      if ((await home.ask(route.method, path + signed, who)).status === 403) denied.push(route);
    }
    return denied;
  };
  const denied = await deniedOf(routesOf());
  expect(denied.length).toBeGreaterThan(30);
  const paths = denied.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(['/metrics', ...SIGNED_PATHS, ...DEVICE_PATHS]));
  const store = await home.store();
  store.freeze();
  try {
    expect(await deniedOf(denied)).toEqual(denied);
  } finally {
    store.thaw();
  }
});

alone(
  'ten denials at once get a record each, the rest one together that counts them',
  async ({ home, gateway }) => {
    const viewer = await home.token();
    const asked = await times(100, () => home.ask('GET', '/access-tokens', viewer));
    expect(new Set(asked.map(({ outcome }) => outcome))).toEqual(new Set(['403 forbidden']));
    // Beyond its denials the token works as before.
    const nurse = await home.client(viewer);
    const own = home.filter();
    expect(await nurse.subscribe([...filters(350), own])).toEqual([...Array(350).fill(DENIED), 1]);
    await home.must('GET', home.path, viewer);
    const records = () => recordsOf(home, `actor=${viewer.id}`);
    await expect.poll(async () => (await records()).length).toBe(10);
    await gateway.clock.advance(60_000);
    await expect.poll(async () => (await records()).length).toBe(11);
    const ids = (await records()).map(({ actor }) => Object(actor).requestId);
    expect(ids.slice(0, 10).toSorted()).not.toContain(null);
    expect((await records()).at(-1)?.['details']).toMatchObject({
      count: String(100 + 350 - 10),
      firstMethod: 'GET',
      firstPath: '/access-tokens',
      topic: 'elsewhere/349',
    });
    expect((await home.must('GET', '/metrics')).text).toMatch(/^gateway_lost_denials_total 0$/m);
  },
);

test('what was only counted is recorded when the gateway stops', async ({ own }) => {
  const home = await own.home();
  const nurse = await home.client();
  await nurse.subscribe(filters(40));
  await home.gateway.restart();
  const records = await recordsOf(home, `actor=${home.viewer.id}`);
  const counts = records.map(({ details }) => Number(Object(details).count ?? 1));
  expect(counts.reduce((sum, count) => sum + count)).toBe(40);
  expect(counts.length).toBeLessThan(40);
});

alone(
  'a wrong credential leaves a record without it; none leaves none',
  async ({ home, gateway }) => {
    const begin = `after=${new Date(gateway.clock.now() - 1).toISOString()}`;
    expect((await home.ask('GET', '/care-homes', { token: null })).status).toBe(401);
    expect((await home.ask('GET', '/care-homes', { token: 'guessed-token' })).status).toBe(401);
    const refused = () => recordsOf(home, `${begin}&actions=authentication.refused`);
    await expect.poll(async () => (await refused()).length).toBe(1);
    expect(await refused()).toMatchObject([
      { actor: { type: 'anonymous', id: null }, details: { method: 'GET', path: '/care-homes' } },
    ]);
    expect(JSON.stringify(await refused())).not.toContain('guessed-token');
  },
);

test.for([false, true])(
  'over MQTT each denial is answered at once and recorded; store frozen: %s',
  async (isFrozen, { home }) => {
    const [device, viewer] = [await home.device(), await home.token()];
    const elsewhere = `devices/${randomUUID()}/x`;
    const nurse = await home.client(viewer);
    const sensor = await home.client(device);
    const store = await home.store();
    if (isFrozen) store.freeze();
    try {
      expect(await nurse.subscribe(filters(5))).toEqual(Array(5).fill(DENIED));
      for (const filter of filters(4, 5)) expect(await nurse.subscribe(filter)).toEqual([DENIED]);
      for (const qos of [0, 1, 2] as const) await sensor.publish(elsewhere, 'x', { qos });
      await expect(home.client(viewer, { clientId: 'bridge/x' })).rejects.toThrow('CONNACK with 2');
      await sensor.ping();
    } finally {
      store.thaw();
    }
    await expect.poll(() => topicsOf(home, viewer)).toEqual([...filters(9), null]);
    await expect.poll(() => topicsOf(home, device)).toEqual([elsewhere, elsewhere, elsewhere]);
  },
);

test('while the store is frozen, denials hold up neither pings nor alarms', async ({ home }) => {
  const device = await home.device();
  const viewer = await home.token();
  const [nurse, sensor] = [await home.nurse(), await home.sensor({ device })];
  const [asking, durable] = [
    await home.client(viewer),
    await home.client(viewer, { clean: false }),
  ];
  const own = home.filter(device, 'alarms/#');
  const store = await home.store();
  store.freeze();
  try {
    for (let n = 0; n < 5; n++) void sensor.client.subscribe('#');
    await sensor.client.ping();
    const first = sensor.alarm();
    void sensor.client.publish(`devices/${randomUUID()}/x`, 'x', { qos: 0 });
    expect(await asking.subscribe([own, 'gateway/bridges/#'])).toEqual([1, DENIED]);
    // A persistent session's filters are acknowledged once they are stored, and take effect at once.
    const stored = durable.subscribe([own, 'gateway/bridges/#']);
    await durable.ping();
    const second = sensor.alarm();
    for (const alarm of [first, second]) await nurse.until(alarm);
    for (const client of [asking, durable]) await client.untilCount(1);
    expect(durable.packets.some(({ cmd }) => cmd === 'suback')).toBe(false);
    store.thaw();
    expect(await stored).toEqual([1, DENIED]);
  } finally {
    store.thaw();
  }
  await home.settled();
});

test('the denial of a client that has gone is recorded, and nothing else about it', async ({
  home,
  gateway,
}) => {
  const viewer = await home.token();
  const clientId = `gone-${viewer.id}`;
  const nurse = await home.client(viewer, { clientId });
  const logged = () =>
    gateway.lines
      .filter((line) => line.includes(`"clientId":"${clientId}"`))
      .map((line): unknown => Object(JSON.parse(line)).msg);
  await expect.poll(logged).toEqual(['connected']);
  const store = await home.store();
  store.freeze();
  try {
    await nurse.subscribe('gateway/bridges/#');
    nurse.vanish();
    await expect.poll(logged).toContain('disconnected');
  } finally {
    store.thaw();
  }
  await expect.poll(() => topicsOf(home, viewer)).toEqual(['gateway/bridges/#']);
  expect(logged()).toEqual(['connected', 'subscription denied', 'disconnected']);
});

test.for([true, false])(
  'a SUBSCRIBE with denied filters is not overtaken; clean session: %s',
  async (clean, { home }) => {
    const [device, clientId] = [await home.device(), randomUUID()];
    const nurse = await home.client(await home.token(), { clean, clientId });
    const own = home.filter(device);
    const subscribed = nurse.subscribe([own, ...filters(200)]);
    await Promise.all([nurse.unsubscribe(own), subscribed]);
    const witness = await home.nurse({ filters: [own] });
    await home.publish(device, 'last', '1');
    await witness.until(({ received }) => received.some(({ topic }) => topic.endsWith('/last')));
    await nurse.ping();
    expect(nurse.received).toEqual([]);
  },
);

test('SUBSCRIBEs that wait for the store take bounded memory, and are answered in the end', async ({
  own,
}) => {
  const home = await own.home();
  const nurse = await home.client(home.viewer, { clean: false });
  const permitted = Array.from({ length: 1_000 }, (_, index) => `${home.path.slice(1)}/${index}`);
  const unstored = async () => {
    const { text } = await home.must('GET', '/metrics');
    return Number(/^gateway_unstored_bytes (\d+)$/m.exec(text)?.[1]);
  };
  const store = await home.store();
  store.freeze();
  // 0.8 MB each, by the gateway's own measure; a token may have 2 MiB.
  const answers = Array.from({ length: 12 }, () => nurse.subscribe(permitted));
  try {
    await expect.poll(unstored).toBeGreaterThan(2 * MIB);
    expect(await unstored()).toBeLessThan(3 * MIB);
    expect(nurse.isClosed).toBe(false);
  } finally {
    store.thaw();
  }
  expect(await Promise.all(answers)).toHaveLength(12);
  await expect.poll(unstored).toBe(0);
});
