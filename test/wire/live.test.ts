/**
 * What a client sees of a packet that breaks a rule, and that nobody else does: one conversation for each kind of
 * refusal in `packets.ts`. Then random bytes and packets, at which the gateway stays up.
 */
import fc from 'fast-check';
import { generate, type Packet } from 'mqtt-packet';
import { anyText } from '../harness/any-text.js';
import {
  Client,
  connectPacket,
  credentials,
  expect,
  type Home,
  publishPacket,
  type TestDevice,
  test,
} from '../harness/index.js';
import { PACKETS, type PacketRow, textOf } from './packets.js';

const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const UNKNOWN_VERSION = 0x84;
const OLDER = { protocolId: 'MQIsdp', protocolVersion: 3 } as const;

/** One row of each kind of refusal, and every packet that is right. */
const rows = PACKETS.filter((row, index) => {
  const isSame = ({ version, state, code, reason }: PacketRow) =>
    version === row.version && state === row.state && code === row.code && reason === row.reason;
  return row.code === undefined || PACKETS.findIndex(isSame) === index;
}).filter(({ state, code }) => code !== undefined || state !== 'first');

/** The last packet that a client gets, with the code and, in MQTT 5, the reason. */
function farewell({ version, state, code = 0, reason }: PacketRow): Buffer {
  const isConnect = state === 'first' || state === 'login';
  if (version !== 5) {
    // A CONNACK of 3.1.1 has a code for the version, but none for a malformed packet.
    return isConnect && code === UNKNOWN_VERSION ? Buffer.from([0x20, 2, 0, 1]) : Buffer.alloc(0);
  }
  const property = Buffer.concat([Buffer.from([0x1f]), textOf(Buffer.from(reason))]);
  const body = Buffer.concat([
    Buffer.from(isConnect ? [0, code, property.length] : [code, property.length]),
    property,
  ]);
  return Buffer.concat([Buffer.from([isConnect ? 0x20 : 0xe0, body.length]), body]);
}

/** What the gateway sends from now on. */
function bytesTo({ stream }: Client): Buffer[] {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return chunks;
}

test.for(rows.map((row) => [row.name, row] as const))('%s', async ([, row], { home }) => {
  const { version, state, bytes, code } = row;
  const device = await home.device();
  const options = version === 3 ? OLDER : { protocolVersion: version };
  const isFirst = state === 'first' || state === 'login';
  const client = await Client.open(home.gateway, { ...options, clientId: device.id });
  if (!isFirst) await client.login(device);
  const chunks = bytesTo(client);
  // What follows a packet that is wrong is not read.
  const alarm = publishPacket(`devices/${device.id}/alarms`, '{"kind":"fall"}');
  client.write(
    Buffer.concat([
      bytes,
      generate({ ...alarm, qos: 1, messageId: 9 }, { protocolVersion: version }),
    ]),
  );
  if (code === undefined) {
    await client.next('puback');
    return;
  }
  await client.closed();
  expect(Buffer.concat(chunks)).toEqual(farewell(row));
  expect(await home.alarms(device)).toEqual([]);
  if (isFirst) return;
  const denied = (await home.must('GET', '/connections/denied')).list();
  expect(denied.find(({ clientId }) => clientId === device.id)).toMatchObject({
    operation: 'connection',
    code: 'malformed-packet',
    returnCode: version === 5 ? code : null,
    mqttVersion: version === 5 ? '5' : '3.1.1',
  });
});

const uint16 = fc.integer({ min: 0, max: 65_535 });
const qos = fc.constantFrom(0 as const, 1 as const, 2 as const);

/** Topics and filters of every sort. */
function topicsOf(device: TestDevice): fc.Arbitrary<string> {
  const own = `devices/${device.id}`;
  return fc.oneof(
    fc.constantFrom(`${own}/alarms`, `${own}/x`, `${own}/commands/#`, `${own}/rejected`),
    fc.constantFrom('#', '+', '+/#', '$SYS/#', '$share/a/b', 'a//b', '/', '', 'a\u0000b', 'a#b'),
    fc.constantFrom('__proto__', 'constructor', `${own}/__proto__`, `${own}/constructor/x`),
    anyText({ maxLength: 40 }).map((text) => `${own}/${text}`),
    fc.integer({ min: 90, max: 300 }).map((levels) => `${own}${'/a'.repeat(levels)}`),
    anyText(),
  );
}

const payloads = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc.constantFrom('{"kind":"fall"}', '{"kind":"fall","id":5}', '').map((one) => Buffer.from(one)),
);

function connectsOf({ viewer }: Home, device: TestDevice): fc.Arbitrary<Packet> {
  const own = credentials(device);
  const will = fc.record({ topic: topicsOf(device), payload: payloads, qos, retain: fc.boolean() });
  const fields = {
    login: fc.constantFrom(own, own, credentials(viewer), {}, { username: device.id }),
    clientId: fc.oneof(fc.constantFrom('a', 'b', '__proto__'), anyText({ minLength: 1 })),
    clean: fc.boolean(),
    keepalive: fc.oneof(fc.constant(60), uint16),
    version: fc.constantFrom(4 as const, 4 as const, 3 as const, 5 as const),
    will: fc.option(will, { nil: undefined }),
  };
  return fc.record(fields).map(({ login, version, will: last, ...rest }) => ({
    ...connectPacket({ ...rest, ...login, protocolVersion: version, ...(last && { will: last }) }),
    protocolId: version === 3 ? ('MQIsdp' as const) : ('MQTT' as const),
  }));
}

function packetsOf(home: Home, device: TestDevice): fc.Arbitrary<Packet> {
  const topic = topicsOf(device);
  const commands = ['puback', 'pubrec', 'pubrel', 'pubcomp', 'pingreq', 'disconnect'] as const;
  return fc.oneof(
    fc.record({
      cmd: fc.constant('publish' as const),
      topic,
      payload: payloads,
      qos,
      messageId: uint16,
      dup: fc.boolean(),
      retain: fc.boolean(),
    }),
    fc.record({
      cmd: fc.constant('subscribe' as const),
      messageId: uint16,
      subscriptions: fc.array(fc.record({ topic, qos }), { maxLength: 8 }),
    }),
    fc.record({
      cmd: fc.constant('unsubscribe' as const),
      messageId: uint16,
      unsubscriptions: fc.array(topic, { maxLength: 8 }),
    }),
    fc.record({ cmd: fc.constantFrom(...commands), messageId: uint16 }),
    connectsOf(home, device),
  );
}

/** The bytes of a packet, or of a ping if the library cannot write the packet. */
function bytesOf(packet: Packet): Buffer {
  try {
    return generate(packet);
  } catch {
    return generate({ cmd: 'pingreq' });
  }
}

/** Conversations that begin with a CONNECT, whole or cut off, with a bit turned or bytes behind them. */
function conversationsOf(home: Home, device: TestDevice): fc.Arbitrary<readonly Uint8Array[]> {
  const packets = fc.tuple(
    connectsOf(home, device),
    fc.array(packetsOf(home, device), { maxLength: 12 }),
  );
  const whole = packets.map(([first, rest]) => [first, ...rest].map(bytesOf));
  const damage = fc.tuple(whole, fc.nat(), fc.nat({ max: 7 }));
  const cut = damage.map(([chunks, at]) => {
    const all = Buffer.concat(chunks);
    return [all.subarray(0, at % (all.length + 1))];
  });
  const turned = damage.map(([chunks, at, bit]) => {
    const all = Buffer.concat(chunks);
    all.writeUInt8(all.readUInt8(at % all.length) ^ (1 << bit), at % all.length);
    return [all];
  });
  const junk = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 });
  const admitted = generate(connectPacket(credentials(device)));
  return fc.oneof(
    whole,
    cut,
    turned,
    junk,
    junk.map((chunks) => [admitted, ...chunks]),
  );
}

/** Sends the chunks, and ends. Resolves when the gateway has ended, too. */
async function converse(home: Home, chunks: readonly Uint8Array[]): Promise<void> {
  const { stream } = await Client.open(home.gateway);
  // A reset by the gateway is as good an end as any.
  const closed = new Promise((resolve) => stream.once('close', resolve));
  for (const chunk of chunks) {
    if (!stream.destroyed) await new Promise((next) => stream.write(chunk, next));
  }
  stream.end();
  await closed;
}

test(`whatever is sent, others are served, and get only what is described (FUZZ_SEED=${SEED})`, async ({
  home,
}) => {
  const device = await home.device();
  const witness = await home.client(await home.device());
  const nurse = await home.nurse({ filters: [home.filter(device)] });
  const property = fc.asyncProperty(conversationsOf(home, device), async (chunks) => {
    await converse(home, chunks);
    await witness.ping();
  });
  await fc.assert(property, { numRuns: 60, seed: SEED, endOnFailure: true });
  await home.publish(device, 'last', '"last"');
  await nurse.until(({ received }) => received.some(({ text }) => text.includes('"last"')));
  const isOpen = async () => {
    const list = (await home.must('GET', '/connections')).list('connections');
    return list.some((one) => JSON.stringify(one).includes(device.id));
  };
  await expect.poll(isOpen).toBe(false);
});
