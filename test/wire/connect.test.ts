/**
 * How a connection begins and ends: the answer to a CONNECT, what is sent with it, sessions and client ids, takeover,
 * keep-alive. Packets that break a rule are in `packets.ts`, credentials that end in `promises/rights`.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { generate, type Packet } from 'mqtt-packet';
import { createWebSocketStream, WebSocket } from 'ws';
import {
  ADMIN_TOKEN,
  Client,
  type ConnectOptions,
  type Credentials,
  connectPacket,
  credentials,
  describe,
  expect,
  type Gateway,
  type Home,
  NO_LIMITS,
  publishPacket,
  type TestDevice,
  testWith,
} from '../harness/index.js';
import { bytesOf } from './packets.js';

const CERTIFICATE = 'test/harness/tls/localhost.crt';
const OLDER = { protocolId: 'MQIsdp', protocolVersion: 3 } as const;
const FALL = '{"kind":"fall"}';
/** No packet. */
const GARBAGE = Buffer.from('f789afcbf1', 'hex');

const test = testWith({
  env: {
    ...NO_LIMITS,
    GATEWAY_TLS_HOST: '127.0.0.1',
    GATEWAY_TLS_CERT_FILE: CERTIFICATE,
    GATEWAY_TLS_KEY_FILE: 'test/harness/tls/localhost.key',
    GATEWAY_MQTT_TLS_PORT: '0',
    GATEWAY_HTTP_TLS_PORT: '0',
  },
});

/** The answer to a CONNECT, on a connection that then ends; after a refusal, the gateway ends it [MQTT-3.2.2-5]. */
async function connack(gateway: Gateway, who: Credentials, options: ConnectOptions = {}) {
  const client = await Client.open(gateway, options);
  const code = await client.login(who);
  if (code === 0) await client.end();
  else await client.closed();
  const [answer] = client.packets;
  if (answer?.cmd !== 'connack') throw new Error('no CONNACK');
  return { code, isPresent: answer.sessionPresent, reason: answer.properties?.reasonString };
}

type Login = (home: Home, device: TestDevice) => readonly [Credentials, ConnectOptions?];

const wrong = (username: string): Login => {
  return () => [{ username, password: 'wrong' }];
};
const as = (options: ConnectOptions): Login => {
  return ({ viewer }) => [viewer, options];
};

/**
 * What is sent, and the codes in CONNACK of 3.1.1 (3.2.2.3) and of MQTT 5 (3.2.2.2); undefined is not tried, as many
 * failed logins slow the next ones down.
 */
const LOGINS: readonly (readonly [string, number, number | undefined, Login])[] = [
  ['no credentials', 5, 0x87, () => [{}]],
  ['a user name without a password', 5, 0x87, (_, { id }) => [{ username: id }]],
  ['the wrong secret', 4, 0x86, (_, device) => [{ ...device, secret: `${device.secret}x` }]],
  [
    'the secret of a device as a token',
    4,
    undefined,
    (home, { secret }) => [{ ...home.viewer, token: secret }],
  ],
  ['an unknown user name', 4, 0x86, wrong('__proto__')],
  ['a client id of bridges', 2, 0x85, as({ clientId: 'bridge/region' })],
  ['a client id of shared subscriptions', 2, 0x85, as({ clientId: '$share/ward/x' })],
  ['a client id of 257 bytes', 2, 0x85, as({ clientId: `${'ü'.repeat(128)}x` })],
  ['a client id of 256 bytes', 0, 0, as({ clientId: 'ü'.repeat(128) })],
  ['an empty client id and a clean session', 0, 0, as({ clientId: '' })],
  ['the secret of a device', 0, 0, (_, device) => [device]],
  [
    'the id of a device in upper case',
    0,
    0,
    (_, device) => [{ ...device, id: device.id.toUpperCase() }],
  ],
  ['an access token', 0, 0, as({})],
  ['the token of the administrator', 0, 0, () => [{ username: 'admin', password: ADMIN_TOKEN }]],
  ...[0, 1, 300, 301, 65_535].map(
    (keepalive) => [`a keep-alive of ${keepalive}`, 0, 0, as({ keepalive })] as const,
  ),
];

test.for(LOGINS)(
  'a CONNECT with %s is answered with %s, or %s in MQTT 5',
  async (row, { home }) => {
    const [, before, ofFive, login] = row;
    const [who, options] = login(home, await home.device());
    expect(await connack(home.gateway, who, options)).toMatchObject({
      code: before,
      isPresent: false,
    });
    if (ofFive === undefined) return;
    const five = await connack(home.gateway, who, { ...options, protocolVersion: 5 });
    expect(five.code).toBe(ofFive);
    // A stranger does not learn whether a user name exists.
    const hidden = 'The user name or the password is wrong.';
    expect(five.reason).toEqual(
      ofFive === 0 ? undefined : ofFive === 0x86 ? hidden : expect.stringMatching(/^.{5,}\.$/),
    );
  },
);

test('a session that persists needs a client id [MQTT-3.1.3-8]', async ({ home }) => {
  const client = await Client.open(home.gateway);
  // No library sends this.
  client.write(bytesOf(`10: "MQTT" 04 c0 003c "" "${home.viewer.id}" "${home.viewer.token}"`));
  expect((await client.next('connack')).returnCode).toBe(2);
  await client.closed();
});

test('a client of MQTT 3.1 is told nothing of its session, and may have a long client id', async ({
  home,
}) => {
  const options = { ...OLDER, clientId: randomUUID(), clean: false };
  for (let time = 0; time < 2; time++) {
    const client = await Client.open(home.gateway, options);
    const answer = once(client.stream, 'data');
    await client.login(home.viewer);
    expect(await answer).toEqual([Buffer.from([0x20, 2, 0, 0])]);
    client.vanish();
  }
});

test('a second CONNECT in the write of the first gets no answer [MQTT-3.1.0-2]', async ({
  home,
}) => {
  const client = await Client.open(home.gateway);
  client.send(connectPacket(credentials(home.viewer)), connectPacket(credentials(home.viewer)));
  await client.closed();
  expect(client.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
});

test('a PUBLISH before CONNECT ends its connection, and nothing else [MQTT-3.1.0-1]', async ({
  home,
}) => {
  const device = await home.device();
  const client = await Client.open(home.gateway);
  client.send(
    publishPacket(`devices/${device.id}/alarms`, FALL),
    connectPacket(credentials(device)),
  );
  await client.closed();
  expect(client.packets).toEqual([]);
  expect(await home.alarms(device)).toEqual([]);
});

describe('a session that persists', () => {
  const session = () => ({ clientId: randomUUID(), clean: false });

  test('is there at the next connection, also without a filter and after a restart, until a clean one', async ({
    home,
    gateway,
  }) => {
    // Paho discards messages that are not acknowledged when CONNACK says that there is no session.
    const [device, kept] = [await home.device(), session()];
    const isPresent = async () => (await connack(gateway, device, kept)).isPresent;
    expect([await isPresent(), await isPresent()]).toEqual([false, true]);
    await gateway.restart();
    expect(await isPresent()).toBe(true);
    await connack(gateway, device, { ...kept, clean: true });
    expect(await isPresent()).toBe(false);
  });

  test('is there when its only filter was denied, and when its last one is removed', async ({
    home,
  }) => {
    const kept = session();
    const first = await home.client(home.viewer, kept);
    expect(await first.subscribe(['elsewhere/x', '$session'])).toEqual([0x80, 0x80]);
    first.vanish();
    const second = await home.client(home.viewer, kept);
    expect(second.sessionPresent).toBe(true);
    await second.subscribe(home.filter());
    await second.unsubscribe(home.filter());
    second.vanish();
    expect(await connack(home.gateway, home.viewer, kept)).toMatchObject({ isPresent: true });
  });

  test.for(['constructor', '__proto__', 'a:b/c+#', '名前'])(
    'may be called %s',
    async (name, { home }) => {
      const kept = { clientId: name, clean: false };
      const first = await home.client(home.viewer, kept);
      expect(await first.subscribe(home.filter())).toEqual([1]);
      first.vanish();
      expect(await connack(home.gateway, home.viewer, kept)).toMatchObject({ isPresent: true });
    },
  );
});

describe('a client id belongs to its principal', () => {
  test('two homes’ nurse-call systems have the same, and each its own alarms', async ({
    home,
    own,
  }) => {
    const homes = [home, await own.homeAt(home.gateway)];
    const clientId = randomUUID();
    const nurses = [];
    for (const one of homes) nurses.push(await one.nurse({ isDurable: true, clientId }));
    for (const nurse of nurses) await nurse.leave();
    for (const one of homes) await (await one.sensor()).raise();
    for (const nurse of nurses) await nurse.connect();
    for (const [index, nurse] of nurses.entries()) {
      await nurse.untilRecords(1);
      await nurse.flush();
      expect(nurse.received).toHaveLength(1);
      expect(nurse.received[0]?.topic).toContain(homes[index]?.locationId);
    }
  });

  test('each of two has its own will, takeover and QoS 2 identifiers', async ({ home, own }) => {
    const other = await own.homeAt(home.gateway);
    const [one, two] = [await home.device(), await other.device()];
    const clientId = randomUUID();
    const nurse = await home.nurse({ filters: [home.filter(one, 'x'), home.filter(one, 'gone')] });
    const topic = `devices/${one.id}/x`;
    const message = { ...publishPacket(topic, '1'), qos: 2, messageId: 7 } as const;
    const will = {
      topic: `devices/${one.id}/gone`,
      payload: Buffer.from('1'),
      qos: 1,
      retain: false,
    } as const;
    const first = await home.client(one, { clientId, clean: false, will, acknowledges: false });
    first.send(message);
    await first.next('pubrec');
    const second = await other.client(two, { clientId });
    await second.publish(`devices/${two.id}/x`, '2', { qos: 2, messageId: 7 });
    await first.ping();
    second.vanish();
    first.vanish();
    await nurse.until(({ received }) => received.some((came) => came.topic.endsWith('/gone')));
    const again = await home.client(one, { clientId, clean: false });
    again.send({ ...message, dup: true });
    await again.next('pubcomp');
    await again.publish(topic, '"last"');
    await nurse.until(() => nurse.messages('/x').length >= 2);
    expect(nurse.messages('/x').map(({ data }) => data)).toEqual([1, 'last']);
  });

  test('it is free again after a client that gave up before its CONNACK', async ({ home }) => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => Client.open(home.gateway)));
    // The gateway reads CONNECT and the end of most of them at the same time.
    for (const [number, client] of clients.entries()) {
      client.send(connectPacket({ ...credentials(home.viewer), clientId: `gave-up-${number}` }));
      client.vanish();
    }
    for (const number of clients.keys()) {
      const options = { clientId: `gave-up-${number}` };
      expect((await connack(home.gateway, home.viewer, options)).code).toBe(0);
    }
  });
});

describe('a second connection with the client id', () => {
  const subscribe = (home: Home): Packet => {
    const subscriptions = [{ topic: home.filter(undefined, 'alarms/#'), qos: 1 as const }];
    return { cmd: 'subscribe', messageId: 1, subscriptions };
  };

  /** Expects that the next alarm of the home reaches the client. */
  async function getsAlarms(client: Client, home: Home): Promise<void> {
    await (await home.sensor()).raise();
    expect((await client.next('publish')).topic).toMatch(/\/alarms\/fall$/);
  }

  /** The open connection, once only one is left. */
  async function theOneLeft(all: readonly Client[]): Promise<Client> {
    const left = () => all.filter(({ isClosed }) => !isClosed);
    await expect.poll(() => left().length).toBe(1);
    const [client] = left();
    if (client === undefined) throw new Error('none is left');
    return client;
  }

  test.for([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ] as const)(
    'takes over, from a clean session: %s, to a clean one: %s',
    async ([from, to], { home }) => {
      const clientId = randomUUID();
      const before = await home.client(home.viewer, { clientId, clean: from });
      await before.subscribe('gateway/status');
      const after = await home.client(home.viewer, { clientId, clean: to });
      await before.closed();
      await after.subscribe(home.filter(undefined, 'alarms/#'));
      await getsAlarms(after, home);
    },
  );

  test('gets what the first had not acknowledged', async ({ home }) => {
    const session = { clientId: randomUUID(), clean: false, acknowledges: false };
    const before = await home.client(home.viewer, session);
    await before.subscribe(home.filter(undefined, 'alarms/#'));
    await getsAlarms(before, home);
    const all = await Promise.all([1, 2, 3].map(() => Client.open(home.gateway, session)));
    for (const client of all)
      client.send(connectPacket({ ...credentials(home.viewer), ...session }));
    expect(await (await theOneLeft(all)).next('publish')).toMatchObject({ dup: true, qos: 1 });
  });

  test.for([true, false])(
    'is the only one that is left of 21 at once, and has its filters (clean: %s)',
    async (clean, { home }) => {
      const session = { clientId: randomUUID(), clean };
      const all = await Promise.all(Array.from({ length: 21 }, () => Client.open(home.gateway)));
      const connect = connectPacket({ ...credentials(home.viewer), ...session });
      for (const client of all) client.send(connect, subscribe(home));
      const last = await theOneLeft(all);
      await last.next('suback');
      await getsAlarms(last, home);
      last.vanish();
      expect((await connack(home.gateway, home.viewer, session)).code).toBe(0);
    },
  );

  test('takes over even if it then breaks a rule, and keeps the filters of the session', async ({
    home,
  }) => {
    const session = { clientId: randomUUID(), clean: false };
    const first = await home.client(home.viewer, session);
    await first.subscribe(home.filter(undefined, 'alarms/#'));
    const second = await Client.open(home.gateway);
    const connect = generate(connectPacket({ ...credentials(home.viewer), ...session }));
    second.write(Buffer.concat([connect, GARBAGE]));
    await Promise.all([first.closed(), second.closed()]);
    await getsAlarms(await home.client(home.viewer, session), home);
  });

  test('keeps the device online until it ends', async ({ home }) => {
    const device = await home.device();
    const options = { clientId: device.id };
    const before = await home.client(device, options);
    const after = await home.client(device, options);
    await before.closed();
    await after.ping();
    const isOnline = async () => (await home.must('GET', `./devices/${device.id}`)).at('online');
    expect(await isOnline()).toBe(true);
    await after.end();
    await expect.poll(isOnline).toBe(false);
  });
});

describe('packets in one write with CONNECT', () => {
  test('are handled in order', async ({ home }) => {
    const device = await home.device();
    const manager = await Client.open(home.gateway);
    const [topic, qos] = [home.filter(device, 'x'), 1 as const];
    manager.send(
      connectPacket(credentials(home.manager)),
      { ...publishPacket(home.filter(device, 'commands/light'), 'on'), qos, messageId: 1 },
      { cmd: 'subscribe', messageId: 2, subscriptions: [{ topic, qos }] },
      { cmd: 'unsubscribe', messageId: 3, unsubscriptions: [topic] },
      { cmd: 'subscribe', messageId: 4, subscriptions: [{ topic, qos }] },
      { cmd: 'pingreq' },
    );
    for (const cmd of ['suback', 'unsuback', 'suback', 'puback', 'pingresp'] as const) {
      await manager.next(cmd);
    }
    expect(manager.packets[0]?.cmd).toBe('connack');
    await home.publish(device, 'x', '"after"');
    expect((await manager.next('publish')).payload.toString()).toContain('"after"');
    manager.vanish();
  });

  test('are not handled when CONNECT is refused', async ({ home }) => {
    const device = await home.device();
    const client = await Client.open(home.gateway);
    const alarm = publishPacket(`devices/${device.id}/alarms`, FALL);
    const connect = connectPacket({ ...credentials(device), clientId: 'bridge/x' });
    client.send(connect, { ...alarm, qos: 1, messageId: 1 });
    await client.closed();
    expect(client.packets).toMatchObject([{ cmd: 'connack', returnCode: 2 }]);
    await (await home.sensor({ device })).raise();
    expect(await home.alarms(device)).toHaveLength(1);
  });

  test('a SUBSCRIBE is stored, however soon it follows', async ({ home }) => {
    for (let turns = 0; turns < 5; turns++) {
      const session = { clientId: randomUUID(), clean: false };
      const early = await Client.open(home.gateway);
      early.send(connectPacket({ ...credentials(home.viewer), ...session }));
      // The gateway, in this process, reads it with the CONNECT, or some turns of its loop later.
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      expect(await early.subscribe(home.filter(undefined, 'alarms/#'))).toEqual([1]);
      early.vanish();
      await (await home.sensor()).raise();
      const back = await home.client(home.viewer, session);
      await back.next('publish');
      back.vanish();
    }
  });
});

const DISCONNECT = { cmd: 'disconnect' } as const;

test.for([
  ['in the same write', (before: Packet, behind: Packet) => [[before, DISCONNECT, behind]]],
  ['in a later write', (before: Packet, behind: Packet) => [[before, DISCONNECT], [behind]]],
] as const)(
  'a packet after DISCONNECT is not handled, %s [MQTT-3.14.4-2]',
  async (row, { home }) => {
    const [, writes] = row;
    for (const isWithConnect of [false, true]) {
      const device = await home.device();
      const client = await Client.open(home.gateway);
      const alarm = { ...publishPacket(`devices/${device.id}/alarms`, FALL), qos: 1 as const };
      if (!isWithConnect) await client.login(device);
      const connect = isWithConnect ? [connectPacket(credentials(device))] : [];
      for (const [index, packets] of writes(
        { ...alarm, messageId: 1 },
        { ...alarm, messageId: 2 },
      ).entries()) {
        client.send(...(index === 0 ? connect : []), ...packets);
      }
      await client.closed();
      await (await home.sensor({ device })).raise(1, { kind: 'noise' });
      const kinds = (await home.alarms(device)).map(({ kind }) => kind);
      expect(kinds).toEqual(['noise', 'fall']);
    }
  },
);

async function openTls({ addresses }: Gateway): Promise<Duplex> {
  const place = { host: '127.0.0.1', servername: 'localhost', port: addresses.mqtts?.port ?? 0 };
  const socket = connectTls({ ca: readFileSync(CERTIFICATE), ...place });
  await once(socket, 'secureConnect');
  return socket;
}

async function openWebSocket({ httpPort }: Gateway): Promise<Duplex> {
  const socket = new WebSocket(`ws://127.0.0.1:${httpPort}/mqtt`, ['mqtt']);
  await once(socket, 'open');
  return createWebSocketStream(socket);
}

/** Sends the bytes, and ends in an orderly way, or closes at once: anything sent to it then is answered with a reset. */
async function sendAndEnd(stream: Duplex, bytes: Buffer, isOrderly: boolean): Promise<void> {
  stream.on('error', () => undefined).resume();
  if (isOrderly) stream.end(bytes);
  else stream.write(bytes, () => stream.destroy());
  await once(stream, 'close');
}

/** The bytes of a client that connects and publishes an alarm with each of the ids. */
function bytesWith(
  device: TestDevice,
  ids: readonly string[],
  { qos, version, last = [] }: { qos: 0 | 1 | 2; version: 4 | 5; last?: readonly Packet[] },
): Buffer {
  const alarms = ids.map((id, index): Packet => {
    const payload = JSON.stringify({ kind: 'fall', id });
    const alarm = publishPacket(`devices/${device.id}/alarms`, payload);
    return { ...alarm, qos, messageId: index + 1 };
  });
  const connect = connectPacket({ ...credentials(device), protocolVersion: version });
  const packets = [connect, ...alarms, ...last];
  return Buffer.concat(packets.map((one) => generate(one, { protocolVersion: version })));
}

function idsOf(count: number): string[] {
  return Array.from({ length: count }, () => randomUUID());
}

async function recordedIds(home: Home, device: TestDevice): Promise<string[]> {
  return (await home.alarms(device)).map(({ id }) => id).reverse();
}

describe.each([
  ['TCP', async (gateway: Gateway) => (await Client.open(gateway)).stream],
  ['TLS', openTls],
  ['WebSocket', openWebSocket],
] as const)('an alarm that is sent with CONNECT over %s', (_, open) => {
  const TIMES = 10;

  test.for([0, 1, 2] as const)(
    'is recorded, though nobody waits for its answer, at QoS %i',
    async (qos, { home }) => {
      for (const [last, isOrderly] of [
        [[DISCONNECT], true],
        [[], true],
        [[], false],
      ] as const) {
        const [device, ids] = [await home.device(), idsOf(3 * TIMES)];
        for (let at = 0; at < TIMES; at++) {
          const version = at % 2 === 0 ? 4 : 5;
          const bytes = bytesWith(device, ids.slice(3 * at, 3 * at + 3), { qos, version, last });
          await sendAndEnd(await open(home.gateway), bytes, isOrderly);
        }
        await expect
          .poll(async () => (await recordedIds(home, device)).sort())
          .toEqual(ids.toSorted());
      }
    },
  );

  test('is recorded when the store is frozen meanwhile', async ({ home }) => {
    const [device, store, ids] = [await home.device(), await home.store(), idsOf(TIMES)];
    store.freeze();
    try {
      for (const id of ids) {
        const bytes = bytesWith(device, [id], { qos: 1, version: 4, last: [DISCONNECT] });
        await sendAndEnd(await open(home.gateway), bytes, true);
      }
    } finally {
      store.thaw();
    }
    await expect.poll(async () => (await recordedIds(home, device)).sort()).toEqual(ids.toSorted());
  });
});

test('a thousand alarms of a client that closes at once are recorded in order', async ({
  home,
}) => {
  const [device, ids] = [await home.device(), idsOf(1_000)];
  const { stream } = await Client.open(home.gateway);
  await sendAndEnd(stream, bytesWith(device, ids, { qos: 1, version: 4 }), false);
  await expect.poll(() => recordedIds(home, device)).toEqual(ids);
});

describe('keep-alive', () => {
  /** One and a half keep-alives of a second [MQTT-3.1.2-24], less what a timer may be early. */
  const EARLIEST_MS = 1_450;

  async function silentMs(client: Client): Promise<number> {
    const heardAtMs = performance.now();
    await client.closed();
    return performance.now() - heardAtMs;
  }

  test('ends a silent client after one and a half, and publishes its will; others stay', async ({
    home,
  }) => {
    const [device, store] = [await home.device(), await home.store()];
    const nurse = await home.nurse({ filters: [home.filter(device, 'gone')] });
    const topic = `devices/${device.id}/gone`;
    const will = { topic, payload: Buffer.from('"silent"'), qos: 1, retain: false } as const;
    const keepalive = 1;
    const silence = silentMs(await home.client(device, { keepalive, will }));
    const five = await home.client(home.viewer, { keepalive, protocolVersion: 5 });
    const halfway = await home.client(home.viewer, { keepalive });
    halfway.write(Buffer.from('3014000500', 'hex'));
    const without = await home.client(home.viewer, { keepalive: 0 });
    const alive = await home.client(home.viewer, { keepalive });
    const pings = setInterval(() => alive.send({ cmd: 'pingreq' }), 250);
    home.onClose(() => clearInterval(pings));
    expect(await silence).toBeGreaterThan(EARLIEST_MS);
    expect((await five.next('disconnect')).reasonCode).toBe(0x8d);
    await halfway.closed();
    await nurse.untilCount(1);
    expect(nurse.messages()).toMatchObject([{ data: 'silent' }]);
    const denied = (await home.must('GET', '/connections/denied')).list();
    expect(denied).toContainEqual(expect.objectContaining({ code: 'keep-alive-timeout' }));
    for (const client of [without, alive]) await client.ping();
    expect(await store.keys('*:will*')).toEqual([]);
  });

  test('does not count while the gateway itself was blocked', async ({ home }) => {
    const client = await home.client(home.viewer, { keepalive: 1 });
    for (let round = 0; round < 2; round++) {
      client.send({ cmd: 'pingreq' });
      // Blocks the gateway, which is in this process; the ping waits with the system.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
      await client.next('pingresp');
    }
    expect(client.isClosed).toBe(false);
  });

  test('has a maximum, which also holds for a client that asks for none', async ({ own }) => {
    const strict = await own.home({ env: { GATEWAY_MQTT_MAX_KEEP_ALIVE_SECONDS: '1' } });
    const clients = [0, 60, 600].map((keepalive) => strict.client(strict.viewer, { keepalive }));
    for (const ms of await Promise.all((await Promise.all(clients)).map(silentMs))) {
      expect(ms).toBeGreaterThan(EARLIEST_MS);
    }
  });
});

test('a connection without a whole CONNECT ends after ten seconds', async ({ home }) => {
  const begun = generate(connectPacket({ clientId: 'begun' })).subarray(0, -1);
  const startMs = performance.now();
  const clients = [await Client.open(home.gateway), await Client.open(home.gateway)];
  clients[1]?.write(begun);
  for (const client of clients) await client.closed();
  expect(performance.now() - startMs).toBeGreaterThan(9_500);
  const denied = (await home.must('GET', '/connections/denied')).list();
  expect(denied.filter(({ code }) => code === 'no-connect').length).toBeGreaterThanOrEqual(2);
});
