/** Each limit of `limits.ts`: who reaches it is named, counted and held, and nobody else notices. */
import { generate } from 'mqtt-packet';
import {
  Client,
  connectPacket,
  credentials,
  type Environment,
  expect,
  type Home,
  type TestDevice,
  test,
  times,
} from '../harness/index.js';
import { residentBytes } from '../harness/program.js';
import { acknowledged, LIMITS, type LimitRow, type Offence, values } from './limits.js';

const MIB = 2 ** 20;

/** The variables of keys below `limits`. */
function variablesOf(limits: Readonly<Record<string, number>> = {}): Environment {
  const nameOf = (key: string) =>
    key.replace(/[A-Z.]/g, (one) => (one === '.' ? '_' : `_${one}`)).toUpperCase();
  const entries = Object.entries(limits);
  return Object.fromEntries(
    entries.map(([key, value]) => [`GATEWAY_LIMITS_${nameOf(key)}`, String(value)]),
  );
}

/** What the operator sees while the limit is reached. */
async function expectReported(row: LimitRow, { home, device }: Offence): Promise<void> {
  const { fault, subject = 'device', quota, denied, slowed } = row;
  const named = { device: device.id, token: home.manager.id, nobody: '' }[subject];
  const faults = async () => (await home.faults()).filter((text) => text.includes(fault)).join();
  await expect.poll(faults).toContain(fault);
  expect(await faults()).toContain(named);
  const { text } = await home.must('GET', '/metrics');
  if (quota !== undefined) {
    const count = () =>
      new RegExp(`^gateway_quota_exceeded_total\\{quota="${quota}"\\} [1-9]`, 'm');
    // The metrics are renewed only now and then.
    await expect.poll(async () => (await home.must('GET', '/metrics')).text).toMatch(count());
  }
  if (slowed !== undefined) {
    expect(text).toMatch(/^gateway_slowed_principals 1$/m);
    expect(text).toMatch(/^gateway_held_back_total [1-9]\d*$/m);
    const connections = (await home.must('GET', '/connections')).list('connections');
    const shown = connections.find(({ clientId }) => clientId === `over-${device.id}`);
    expect(shown).toMatchObject({ slowed: { limit: slowed } });
    const said = home.gateway.lines.filter((line) => line.includes('slowed a client over a limit'));
    expect(said).toEqual([expect.stringContaining(`"limit":"${slowed}"`)]);
  }
  if (denied === undefined) return;
  const one = expect.objectContaining({ code: denied, clientId: `over-${device.id}` });
  expect((await home.must('GET', '/connections/denied')).list()).toContainEqual(one);
}

test.for(LIMITS.map((row) => [row.name, row] as const))('%s', async ([, row], { own }) => {
  const home = await own.home({ env: variablesOf(row.limits) });
  const [device, other] = [await home.device('Bett 1'), await home.device('Bett 2')];
  const quiet = await home.client(other);
  const within = await row.offend({ home, device });
  await expectReported(row, { home, device });
  await quiet.publish(`devices/${other.id}/alarms`, '{"kind":"fall"}');
  expect(await home.alarms(other)).toHaveLength(1);
  await within?.();
});

test('a device is held to its limit over all its connections', async ({ own }) => {
  const limits = { 'device.messagesPerSecond': 5 };
  const home = await own.home({ env: variablesOf(limits) });
  const device = await home.device();
  const clients = await times(10, () => home.client(device));
  for (const client of clients) client.send(...values(`devices/${device.id}/t`, 200));
  await expect.poll(() => home.faults()).toContainEqual(expect.stringContaining(device.id));
  // Each had one turn before it was known that all of them would send.
  const total = clients.reduce((sum, client) => sum + acknowledged(client), 0);
  expect(total).toBeLessThan(50 + 10 * 25 + 100);
});

test('acknowledgements are taken of a token whose other clients send more than it may', async ({
  own,
}) => {
  const limits = { 'token.messagesPerSecond': 2 };
  const home = await own.home({ env: variablesOf(limits) });
  const device = await home.device();
  const nurse = await home.client(home.manager);
  await nurse.subscribe(home.filter(device, 'alarms/#'));
  // From its first acknowledgement on it counts as one that only acknowledges.
  await home.publish(device, 'alarms', '{"kind":"fall"}');
  await nurse.untilCount(1);
  const other = await home.client(home.manager);
  other.send(...values(home.filter(device, 'commands/light'), 100));
  await expect.poll(() => home.faults()).toContainEqual(expect.stringContaining('is slowed'));
  // More than may be in flight.
  await home.publish(device, 'alarms', Array(250).fill('{"kind":"fall"}'));
  await nurse.untilCount(251);
});

test('a client that reads none of its messages for five seconds is closed', async ({ own }) => {
  const home = await own.home();
  const device = await home.device();
  const nurse = await home.client(home.viewer, { clientId: 'frozen' });
  await nurse.subscribe(home.filter(device, 'photo'));
  nurse.stream.pause();
  const sensor = await home.client(device);
  const photo = 'x'.repeat(200_000);
  const ended = expect.objectContaining({ code: 'messages-unread', clientId: 'frozen' });
  await expect
    .poll(async () => {
      // More than the network takes without a reader.
      await sensor.publish(`devices/${device.id}/photo`, photo);
      return (await home.must('GET', '/connections/denied')).list();
    })
    .toContainEqual(ended);
  const unread = 'Too many unread bytes';
  await expect.poll(() => home.faults()).toContainEqual(expect.stringContaining(unread));
});

test('of incomplete CONNECTs with too many bytes together the oldest go', async ({ own }) => {
  const home = await own.home();
  // 200,000 bytes are announced, and nearly all of them come.
  const part = Buffer.concat([Buffer.from([0x10, 0xc0, 0x9a, 0x0c]), Buffer.alloc(190_000)]);
  const clients = await times(Math.ceil((33 * MIB) / part.length), () => Client.open(home.gateway));
  for (const client of clients) client.write(part);
  const [oldest] = clients;
  await oldest?.closed();
  expect(clients.at(-1)?.isClosed).toBe(false);
  // Not for the time that it took.
  expect((await home.must('GET', '/connections/denied')).list()).toEqual([]);
  for (const client of clients) client.vanish();
});

test('a slowed device is not taken for gone while its PINGREQ waits behind what it has sent', async ({
  own,
}) => {
  const limits = { 'device.messagesPerSecond': 20 };
  const home = await own.home({ env: variablesOf(limits) });
  const device = await home.device();
  const client = await home.client(device, { keepalive: 1 });
  client.send(...values(`devices/${device.id}/t`, 250), { cmd: 'pingreq' });
  await client.next('pingresp');
  expect(acknowledged(client)).toBe(250);
});

test('connections are free again when their clients broke off before admission', async ({
  own,
}) => {
  const home = await own.home({ env: variablesOf({ 'token.connections': 3 }) });
  const token = await home.token();
  for (let time = 0; time < 10; time++) {
    const client = await Client.open(home.gateway);
    const connect = generate(connectPacket(credentials(token)));
    // The bytes behind CONNECT end the connection while that is being answered.
    client.write(Buffer.concat([connect, Buffer.from('f789afcbf1', 'hex')]));
    await client.closed();
  }
  await home.client(token);
});

test('connections are free again when their clients were refused after their credentials', async ({
  own,
}) => {
  const home = await own.home({ env: variablesOf({ 'token.connections': 3 }) });
  const token = await home.token();
  for (let time = 0; time < 10; time++) {
    const client = await Client.open(home.gateway, { clientId: 'bridge/mine' });
    expect(await client.login(token)).toBe(2);
    client.vanish();
  }
  await home.client(token);
});

test('a device that is over its limit of alarms for hours is gone when it hangs up', async ({
  own,
}) => {
  const home = await own.home({ env: variablesOf({ 'device.alarmsPerDay': 10 }) });
  const device = await home.device();
  const client = await home.client(device);
  const alarms = Array.from({ length: 11 }, (_, n) => `{"kind":"noise","n":${n}}`);
  client.send(...alarms.flatMap((alarm) => values(`devices/${device.id}/alarms`, 1, alarm)));
  await client.until((one) => acknowledged(one) === 11, '11 acknowledgements');
  client.vanish();
  const connections = async () => (await home.must('GET', '/connections')).list('connections');
  await expect.poll(connections).toEqual([]);
});

test('a half-open connection gives way to a new one once it has missed its keep-alive', async ({
  own,
}) => {
  const home = await own.home({ env: variablesOf({ 'token.connections': 3 }) });
  const token = await home.token();
  const open = () => home.client(token, { keepalive: 4 });
  const [gone, ...alive] = [await open(), await open(), await open()];
  const pings = setInterval(() => {
    for (const client of alive) client.send({ cmd: 'pingreq' });
  }, 500);
  home.onClose(() => clearInterval(pings));
  const isAdmitted = async () => {
    // After the keep-alive, and before one and a half of them, when the gateway would end it anyway.
    const wasOpen = !gone.isClosed;
    const code = await (await Client.open(home.gateway)).login(token);
    return code === 0 && wasOpen;
  };
  expect(await isAdmitted()).toBe(false);
  await expect.poll(isAdmitted, { interval: 100 }).toBe(true);
  await gone.closed();
  expect(alive.map(({ isClosed }) => isClosed)).toEqual([false, false]);
});

test('an eighth of the connections is for those who log in; of those without CONNECT the oldest go', async ({
  own,
}) => {
  // 65 % of the files.
  const [FILES, TOTAL] = [197, 128];
  const home = await own.home({ kind: 'process', maxOpenFiles: FILES });
  const hostile = await home.device();
  const held: Client[] = [];
  for (let code = 0; code === 0; ) {
    const client = await Client.open(home.gateway);
    code = await client.login(hostile);
    if (code === 0) held.push(client);
  }
  expect(held).toHaveLength(TOTAL - TOTAL / 8);
  const inUse = 'Nearly all connections of the gateway are in use';
  await expect.poll(() => home.faults()).toContainEqual(expect.stringContaining(inUse));
  for (const client of held) client.vanish();
  const silent = await times(3 * TOTAL, () => Client.open(home.gateway));
  await (await home.client(await home.device())).ping();
  await expect.poll(() => silent.filter(({ isClosed }) => !isClosed).length).toBeLessThan(TOTAL);
  await expect.poll(() => home.faults()).toContainEqual(expect.stringContaining('without a login'));
  for (const client of silent) client.vanish();
});

test('retained messages count for their device, also after a restart, and until they go', async ({
  own,
}) => {
  const MAX = 500;
  const home = await own.home();
  const device = await home.device();
  const retained = async () => (await home.retained(home.filter(undefined, 'level/#'))).size;
  const retain = (rest: string, value = '1') =>
    home.publish(device, `level/${rest}`, value, { retain: true });
  await Promise.all(Array.from({ length: MAX + 1 }, (_, n) => retain(`${n}`)));
  expect(await retained()).toBe(MAX);
  await home.gateway.restart();
  await retain('e');
  expect(await retained()).toBe(MAX);
  await retain('0', '');
  await retain('e');
  expect(await retained()).toBe(MAX);
  await home.must('DELETE', `./devices/${device.id}`);
  await expect.poll(retained).toBe(0);
});

test('the metrics show the consumers with the largest backlogs, and the sum of the others', {
  timeout: 60_000,
}, async ({ own }) => {
  const [MAX_CONSUMERS, MORE] = [250, 10];
  const sessions = MAX_CONSUMERS + MORE;
  const limits = { 'token.persistentSessions': sessions, 'total.persistentSessions': sessions };
  const home = await own.home({ env: variablesOf(limits) });
  const device = await home.device();
  await times(sessions, async (n) => {
    const clientId = `nurse-${n}`;
    const nurse = await home.client(home.viewer, { clientId, clean: false });
    await nurse.subscribe(home.filter(device, n < 3 ? 'alarms/#' : 'alarms/fall'));
    nurse.vanish();
  });
  await home.publish(device, 'alarms', ['{"kind":"fall"}', '{"kind":"noise"}']);
  const { text } = await home.must('GET', '/metrics');
  const backlogs = text.matchAll(
    /^gateway_consumer_queued\{consumer="(.+)",log="alarms"\} (\d+)$/gm,
  );
  const queued = new Map(Array.from(backlogs, ([, name, count]) => [name, count]));
  expect(queued.size).toBe(MAX_CONSUMERS);
  for (const n of [0, 1, 2]) expect(queued.get(`nurse-${n}`)).toBe('2');
  const others = `gateway_other_consumers_messages{log="alarms",state="queued"} ${MORE}`;
  expect(text.split('\n')).toContain(others);
});

test('the largest packet is taken, and forwarded', async ({ home }) => {
  const device = await home.device();
  const nurse = await home.nurse({ filters: [home.filter(device, 'x')] });
  const topic = `devices/${device.id}/x`;
  // Fixed header, length of the topic, packet identifier.
  const text = 'x'.repeat(MIB / 4 - topic.length - 4 - 2 - 2);
  await (await home.client(device)).publish(topic, text);
  await nurse.untilCount(1);
  expect(nurse.messages()).toMatchObject([{ base64: Buffer.from(text).toString('base64') }]);
});

test('packets of 2 MiB on many connections take no memory', { timeout: 60_000 }, async ({
  own,
}) => {
  const home = await own.home({ kind: 'process' });
  const device = await home.device();
  const packet = Buffer.concat([Buffer.from('3080808001', 'hex'), Buffer.alloc(2 * MIB)]);
  for (const isConnected of [false, true]) {
    const clients = await times(50, () =>
      isConnected ? home.client(device) : Client.open(home.gateway),
    );
    const before = await residentBytes(home.gateway.processId);
    // Each write ends when the bytes have gone out or never will.
    const write = ({ stream }: Client) =>
      new Promise((resolve) => {
        stream.once('close', resolve);
        stream.write(packet, resolve);
      });
    await Promise.all(clients.map(write));
    // The ping is answered after everything that the gateway reads of them.
    await (await home.client(device)).ping();
    const more = (await residentBytes(home.gateway.processId)) - before;
    expect([isConnected, more < 40 * MIB]).toEqual([isConnected, true]);
    for (const client of clients) client.vanish();
  }
});

/** What a client can do to fill the log, by the text of its line. */
const FLOODS: readonly (readonly [
  string,
  (home: Home, device: TestDevice, n: number) => Promise<unknown>,
])[] = [
  [
    'invalid publish',
    async (home, device) =>
      (await home.client(device)).publish(`devices/${device.id}/alarms`, 'no JSON'),
  ],
  ['subscription denied', async (home, _, n) => (await home.client()).subscribe(`elsewhere/${n}`)],
  ['permission denied', async (home, _, n) => (await home.client()).publish(`elsewhere/${n}`, 'x')],
  [
    'connection ended',
    async (home, device, n) => {
      const client = await home.client(device, { clientId: `broken ${n}` });
      client.write(Buffer.from([0x40, 0]));
      await client.closed();
    },
  ],
  [
    'connect error',
    async ({ gateway }, device, n) => {
      const client = await Client.open(gateway, { clientId: `${n}`.padStart(300, 'x') });
      expect(await client.login(device)).toBe(2);
      client.vanish();
    },
  ],
  [
    'http request',
    (home, _, n) => home.ask('POST', `/care-homes?x=${n}`, { token: null, json: {} }),
  ],
];

test('a flood of any kind is one line in the log, and a count at the end', async ({ own }) => {
  const TIMES = 30;
  const home = await own.home();
  const { gateway } = home;
  const device = await home.device();
  for (const [, once] of FLOODS) for (let n = 1; n <= TIMES; n++) await once(home, device, n);
  const counts = () =>
    FLOODS.map(([text]) => {
      const lines = gateway.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === text);
      // The administrator who created the home asked over HTTP, too.
      const ofStrangers = lines.filter((line) => text !== 'http request' || !('principal' in line));
      return [text, ofStrangers.map(({ repeated }) => repeated)];
    });
  const names = FLOODS.map(([text]) => text);
  expect(counts()).toEqual(names.map((text) => [text, [undefined]]));
  expect(gateway.lines.length).toBeLessThan(50);
  await gateway.stop();
  expect(counts()).toEqual(names.map((text) => [text, [undefined, TIMES - 1]]));
  expect(gateway.lines.join('\n').length).toBeLessThan(20_000);
  await gateway.start();
});

test('retained commands over a quota are a fault about their device', async ({ own }) => {
  const home = await own.home();
  const device = await home.device();
  const manager = await home.client(home.manager);
  const topics = Array.from({ length: 501 }, (_, index) =>
    home.filter(device, `commands/light-${index}`),
  );
  await Promise.all(topics.map((topic) => manager.publish(topic, 'on', { retain: true })));
  const named = expect.stringMatching(`Too many retained messages.*: device .*${device.id}`);
  await expect.poll(() => home.faults()).toContainEqual(named);
});
