/**
 * What waits for a silent, slow or full store: it takes bounded memory, it hides no alarm, and it is stored in order
 * once there is a store (contract 4.4 and 4.6).
 */
import { afterAll, beforeAll } from 'vitest';
import {
  ask,
  Client,
  expect,
  type Gateway,
  type Home,
  NO_LIMITS,
  type Nurse,
  Own,
  publishPacket,
  type Sensor,
  test,
  times,
} from '../harness/index.js';
import { residentBytes } from '../harness/program.js';
import type { CutProxy } from '../harness/proxy.js';
import type { RedisProgram } from '../harness/redis.js';

const MIB = 1024 * 1024;
/** Memory for the unstored publishes of all clients, and for alarms among them. */
const MAX_UNSTORED_BYTES = 64 * MIB;
const MAX_ALARMS_BYTES = 3 * MAX_UNSTORED_BYTES;
/** Nearly as much as an alarm may have. */
const DUMP = JSON.stringify({ kind: 'noise', dump: 'x'.repeat(16_000) });
const LONG = JSON.stringify('x'.repeat(4_000));
const TIMEOUT = { timeout: 60_000 };

const shared = new Own();
let server: RedisProgram;
let line: CutProxy;
let gateway: Gateway;
let home: Home;
let absent: Nurse;

beforeAll(async () => {
  server = await shared.redis();
  line = await shared.proxy(server.socketPath);
  const env = { ...NO_LIMITS, GATEWAY_REDIS_URL: `redis://127.0.0.1:${line.port}` };
  gateway = await shared.gateway({ env, isHurried: true });
}, 60_000);
afterAll(() => shared.release());

/** A home of the shared gateway, with somebody absent for whom values are stored. */
async function homeIn(own: Own, place = gateway): Promise<Home> {
  await expect.poll(async () => (await ask(place, 'GET', '/readyz')).status).toBe(200);
  home = await own.homeAt(place);
  absent = await home.nurse({ isDurable: true, filters: [home.filter()] });
  await absent.leave();
  own.onEnd(mend);
  return home;
}

function mend(): void {
  server.thaw();
  line.mend();
  line.delayMs = 0;
}

async function unstoredBytes(): Promise<number> {
  const { text } = await home.must('GET', '/metrics');
  return Number(/^gateway_unstored_bytes (\d+)$/m.exec(text)?.[1]);
}

interface Publishes {
  readonly name: string;
  readonly count: number;
  readonly qos: 0 | 1;
  readonly rest: (n: number) => string;
  readonly payload?: (n: number) => string;
  readonly retain?: boolean;
}

/** What a device publishes before its alarm: more than fits in one turn of reading. */
const PUBLISHES: readonly Publishes[] = [
  { name: '700 values at QoS 1', count: 700, qos: 1, rest: () => 'x' },
  { name: '700 values at QoS 0', count: 700, qos: 0, rest: () => 'x' },
  { name: '700 retained values', count: 700, qos: 1, rest: () => 'state', retain: true },
  {
    name: '700 retained values of many topics',
    count: 700,
    qos: 0,
    rest: (n) => `x/${n}`,
    retain: true,
  },
  {
    name: '700 alarms at QoS 0',
    count: 700,
    qos: 0,
    rest: () => 'alarms',
    payload: () => '{"kind":"noise"}',
  },
  // 14 MB by the gateway's account; the bound of one client is 12 MiB.
  {
    name: 'more values than are kept of one client',
    count: 800,
    qos: 1,
    rest: () => 'x',
    payload: () => LONG,
  },
];

const SLOWNESS: readonly (readonly [name: string, slow: () => void])[] = [
  ['silent', () => server.freeze()],
  [
    'slow',
    () => {
      line.delayMs = 400;
    },
  ],
  ['refusing', () => line.refuse()],
];

function packetsOf(
  { count, qos, rest, payload = String, retain = false }: Publishes,
  { topic, client }: Sensor,
) {
  return Array.from({ length: count }, (_, n) => {
    const packet = { ...publishPacket(`${topic}/${rest(n)}`, payload(n)), retain, qos };
    return qos === 0 ? packet : { ...packet, messageId: client.nextIdentifier() };
  });
}

test.for(SLOWNESS.flatMap(([how, slow]) => PUBLISHES.map((row) => ({ ...row, how, slow }))))(
  'guarantee 4: while the store is $how, an alarm is live behind $name of its device, and all is acknowledged in order',
  TIMEOUT,
  async (row, { own }) => {
    await homeIn(own);
    const [sensor, live] = [await home.sensor(), await home.nurse()];
    const { client } = sensor;
    const packets = packetsOf(row, sensor);
    row.slow();
    client.send(...packets);
    const alarm = sensor.alarm();
    await live.until(alarm);
    const acknowledged = () =>
      client.packets.flatMap((one) => (one.cmd === 'puback' ? [one.messageId] : []));
    if (row.how !== 'slow') expect(alarm.isAcknowledged).toBe(false);
    mend();
    await sensor.untilAcknowledged();
    const sent = packets.flatMap((one) => ('messageId' in one ? [one.messageId] : []));
    const order = acknowledged().slice(0, sent.length);
    expect(order).toEqual(sent.slice(0, order.length));
    await live.until(({ records }) =>
      records.some(({ text }) => text.includes(`"id":"${alarm.id}"`)),
    );
  },
);

test('guarantee 4: an alarm is live behind the retained values of 150 devices, while nothing else waits for a silent store', {
  timeout: 90_000,
}, async ({ own }) => {
  await homeIn(own);
  const live = await home.nurse();
  const sensors: Sensor[] = [];
  for (let n = 0; n < 150; n++) sensors.push(await home.sensor());
  server.freeze();
  const retained = { count: 8, qos: 1, rest: (n: number) => `v/${n}`, retain: true } as const;
  for (const sensor of sensors) {
    const payload = () => 'x'.repeat(100);
    sensor.client.send(...packetsOf({ ...retained, name: '', payload }, sensor));
  }
  await expect.poll(unstoredBytes).toBeGreaterThan(2 * MIB);
  const [first] = sensors;
  if (first === undefined) throw new Error('no sensor');
  await live.until(first.alarm());
  mend();
  for (const sensor of sensors) await sensor.untilAcknowledged();
});

test('guarantee 4: an alarm behind 1,000 alarms of another device is live and stored while the store is slow', async ({
  own,
}) => {
  await homeIn(own);
  const [flood, quiet, live] = [await home.sensor(), await home.sensor(), await home.nurse()];
  line.delayMs = 150;
  for (let n = 0; n < 1_000; n++) flood.alarm();
  await live.until(quiet.alarm());
  await quiet.untilAcknowledged();
  line.delayMs = 0;
  await absent.connect();
  await home.settled();
});

test('guarantee 4: who connects or subscribes while the store is silent is served, with a copy of what waits', async ({
  own,
}) => {
  await homeIn(own);
  const devices = [await home.device(), await home.device()];
  const early = await home.nurse({ filters: [] });
  server.freeze();
  const sensors = await Promise.all(
    devices.map((device, at) => home.sensor({ device, clean: at === 0 })),
  );
  const alarms = sensors.map((sensor) => sensor.alarm());
  early.client.send({
    cmd: 'subscribe',
    messageId: 9,
    subscriptions: [{ topic: home.filter(undefined, 'alarms/#'), qos: 0 }],
  });
  const live = await home.nurse({ filters: [] });
  live.client.send({
    cmd: 'subscribe',
    messageId: 9,
    subscriptions: [{ topic: home.filter(undefined, 'alarms/#'), qos: 1 }],
  });
  for (const nurse of [early, live]) {
    await nurse.until(({ received }) => received.length >= alarms.length);
    expect(nurse.received.every(({ qos }) => qos === 0)).toBe(true);
  }
  expect(alarms.some(({ isAcknowledged }) => isAcknowledged)).toBe(false);
  server.thaw();
  await absent.connect();
  await home.settled();
});

test('guarantee 1: acknowledgements come in the order of the publishes, whatever waits for the store', async ({
  own,
}) => {
  await homeIn(own);
  const { client, topic } = await home.sensor();
  server.freeze();
  const rests = ['alarms', 'rejected', 'commands', 'alarms', 'status'];
  const publishes = rests.map((rest, at) => {
    return {
      ...publishPacket(`${topic}/${rest}`, '{"kind":"fall"}'),
      qos: 1 as const,
      messageId: at + 1,
    };
  });
  client.send(...publishes);
  await client.ping();
  expect(client.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'pingresp']);
  server.thaw();
  await client.until(({ packets }) => packets.length === 2 + rests.length, 'all acknowledgements');
  expect(client.packets.slice(2).map(({ messageId }) => messageId)).toEqual([1, 2, 3, 4, 5]);
});

test('guarantee 4: an alarm at QoS 2 is live, and PUBRELs are answered, while the store is silent', async ({
  own,
}) => {
  await homeIn(own);
  const [device, live] = [await home.device(), await home.nurse()];
  const client = await home.client(device, { clean: false, clientId: 'qos2', acknowledges: false });
  const alarm = (messageId: number) =>
    client.send({
      ...publishPacket(`devices/${device.id}/alarms`, '{"kind":"fall"}'),
      qos: 2,
      messageId,
    });
  for (const messageId of [1, 2, 3]) alarm(messageId);
  const count = (command: string) => client.packets.filter(({ cmd }) => cmd === command).length;
  await client.until(() => count('pubrec') === 3, 'PUBRECs');
  await live.untilRecords(3);
  server.freeze();
  for (const messageId of [1, 2, 3]) client.send({ cmd: 'pubrel', messageId });
  alarm(4);
  await live.until(
    ({ received }) => received.length > received.filter(({ qos }) => qos > 0).length,
  );
  expect([count('pubrec'), count('pubcomp')]).toEqual([3, 3]);
  server.thaw();
  await client.until(() => count('pubrec') === 4 && count('pubcomp') === 3, 'all answers');
  await live.untilRecords(4);
});

test('of retained values that wait for the store, the newest is kept', async ({ own }) => {
  await homeIn(own);
  const { client, topic, device } = await home.sensor();
  const filter = home.filter(device, 'state');
  server.freeze();
  for (let n = 1; n <= 500; n++) {
    client.send({ ...publishPacket(`${topic}/state`, String(n)), retain: true });
  }
  await client.ping();
  expect(await unstoredBytes()).toBeLessThan(500_000);
  expect([...(await home.retained(filter)).values()]).toMatchObject([{ data: 500 }]);
  server.thaw();
  await expect.poll(unstoredBytes).toBe(0);
});

test(
  'guarantees 4 and 6: neighbours that use up all memory for what waits leave room for an alarm',
  TIMEOUT,
  async ({ own }) => {
    await homeIn(own);
    const floods = await times(8, () => home.sensor());
    const [sensor, live] = [await home.sensor(), await home.nurse()];
    server.freeze();
    for (const { client, topic } of floods) {
      for (let n = 0; n < 160; n++) {
        client.send({
          ...publishPacket(`${topic}/alarms`, DUMP),
          qos: 1,
          messageId: client.nextIdentifier(),
        });
      }
    }
    await expect.poll(unstoredBytes).toBeGreaterThan(MAX_UNSTORED_BYTES);
    await live.until(sensor.alarm());
    // Each may have one message that arrived before the bound was reached.
    expect(await unstoredBytes()).toBeLessThan(MAX_ALARMS_BYTES + floods.length * 6 * DUMP.length);
    server.thaw();
    await expect.poll(unstoredBytes).toBe(0);
    await sensor.untilAcknowledged();
  },
);

test('guarantee 4: what found no room is not acknowledged, and is sent again once the store is back', async ({
  own,
}) => {
  await homeIn(own);
  const device = await home.device();
  const client = await home.client(device, { clientId: 'much' });
  const topic = (n: number) => `devices/${device.id}/photo/${n}`;
  server.freeze();
  const payload = 'x'.repeat(16_000);
  // 20 MB by the gateway's account; the bound of one client is 12 MiB.
  for (let n = 1; n <= 300; n++) {
    client.send({ ...publishPacket(topic(n), payload), qos: 1, retain: true, messageId: n });
  }
  const unkept = async () => {
    const { text } = await home.must('GET', '/metrics');
    return Number(/^gateway_unkept_publishes_total (\d+)$/m.exec(text)?.[1]);
  };
  await expect.poll(unkept).toBeGreaterThan(0);
  mend();
  await client.closed();
  const denied = (await home.must('GET', '/connections/denied')).list();
  expect(denied).toContainEqual(expect.objectContaining({ code: 'not-stored', clientId: 'much' }));
});

test(
  'guarantee 6: a hundred hostile connections, and a device that connects all the time, take bounded memory',
  TIMEOUT,
  async ({ own }) => {
    const [devices, connectionsEach, packetsEach, reconnects] = [25, 4, 40, 300];
    await homeIn(own, await own.gateway({ kind: 'process', env: NO_LIMITS }));
    const [sensor, live, store] = [await home.sensor(), await home.nurse(), await home.store()];
    const hostile = await times(devices, () => home.device());
    const clients = await times(devices * connectionsEach, async (at) => {
      const device = hostile[at % devices] ?? sensor.device;
      const client = await home.client(device, { clientId: `hostile-${at}` });
      return { client, topic: `devices/${device.id}` };
    });
    const before = await residentBytes(home.gateway.processId);
    store.freeze();
    own.onEnd(() => store.thaw());
    for (const { client, topic } of clients) {
      for (let n = 1; n <= packetsEach; n++) {
        client.send(
          { ...publishPacket(`${topic}/x`, '1'), qos: 1, messageId: n },
          { ...publishPacket(`${topic}/x/${n}`, '1'), retain: true },
          publishPacket(`${topic}/alarms`, '{"kind":"noise"}'),
          publishPacket(`${topic}/alarms`, 'x'.repeat(200)),
        );
      }
    }
    await expect.poll(unstoredBytes).toBeGreaterThan(4 * MIB);
    for (let n = 0; n < reconnects; n++) {
      (await Client.connect(home.gateway, sensor.device, { clientId: 'restless' })).vanish();
    }
    await live.until(sensor.alarm());
    expect(await unstoredBytes()).toBeLessThan(MAX_UNSTORED_BYTES);
    expect((await residentBytes(home.gateway.processId)) - before).toBeLessThan(150 * MIB);
    store.thaw();
    await sensor.untilAcknowledged();
    await expect.poll(unstoredBytes).toBe(0);
  },
);

/** The gateway with a store of its own that may hold this much. */
const SMALL_STORE = { GATEWAY_REDIS_MAX_MEMORY_BYTES: String(32 * MIB) };
const NOT_STORED = /^gateway_not_stored_total\{kind="(.*)"\} (\d+)$/gm;
const FILLER = 'x'.repeat(100_000);

test(
  'guarantee 7: a store that fills up says so, keeps its last part for alarms, and loses none when that is full too',
  TIMEOUT,
  async ({ own }) => {
    await homeIn(
      own,
      await own.gateway({ env: { ...SMALL_STORE, ...NO_LIMITS }, isHurried: true }),
    );
    const { redis } = await home.store();
    const [sensor, live] = [await home.sensor(), await home.nurse({ filters: [home.filter()] })];
    const readyz = () => home.ask('GET', '/readyz');
    const says = (fault: RegExp) =>
      expect.poll(async () => (await home.faults()).join()).toMatch(fault);
    const memory = async (field: string) =>
      Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(await redis.info('memory'))?.[1]);
    const fillTo = async (part: number) => {
      const used = async () =>
        (await memory('used_memory')) - (await memory('mem_not_counted_for_evict'));
      for (let n = 0; (await used()) < part * (await memory('maxmemory')); n++) {
        await redis.set(`filler:${part}:${n}`, FILLER);
      }
    };

    // Nothing is denied yet, but `/readyz` warns.
    await fillTo(0.81);
    await says(/memory is 8\d % full; from 90 % on only alarms/);
    expect((await readyz()).status).toBe(200);

    await fillTo(0.92);
    await says(/memory is 9\d % full, and only alarms are stored/);
    await sensor.publish('value', '21');
    await live.until(() => live.messages('/value').length === 1);
    await sensor.publish('level', '5', { retain: true });
    await sensor.publish('alarms', 'no alarm');
    const kinds = (await home.must('GET', '/metrics')).text.matchAll(NOT_STORED);
    const notStored = Object.fromEntries(Array.from(kinds, ([, kind, count]) => [kind, count]));
    expect(notStored).toMatchObject({ retained: '1', invalid_publish: '1' });
    expect((await home.ask('POST', '/care-homes', { json: { name: 'more' } })).status).toBe(503);
    await sensor.raise();

    await redis.config('SET', 'maxmemory', '1');
    await says(/nothing is stored/);
    const alarm = sensor.alarm();
    await live.until(alarm);
    expect([alarm.isAcknowledged, (await readyz()).status]).toEqual([false, 503]);

    await redis.config('SET', 'maxmemory', String(64 * MIB));
    await sensor.untilAcknowledged();
    await expect.poll(() => home.faults()).toEqual([]);
    await absent.connect();
    await home.settled();
  },
);

test(
  'guarantee 7: telemetry that floods an absent session costs no alarm, and takes no room in the store',
  TIMEOUT,
  async ({ own }) => {
    const small = await own.redis();
    await small.redis.config('SET', 'maxmemory', 32 * MIB);
    const env = { ...NO_LIMITS, GATEWAY_REDIS_URL: small.url };
    await homeIn(own, await own.gateway({ env, isHurried: true }));
    const [sensor, ...loud] = await times(4, () => home.sensor());
    const dumps = loud.map(async (one) => {
      for (let n = 0; n < 80; n++) await one.publish('dump', FILLER);
    });
    let isOver = false;
    const flooded = Promise.all(dumps).then(() => {
      isOver = true;
    });
    while (!isOver) await sensor?.raise();
    await flooded;
    expect((await home.account(absent.clientId, 'messages'))?.dropped).toBeGreaterThan(50);
    await absent.connect();
    await home.settled();
  },
);
