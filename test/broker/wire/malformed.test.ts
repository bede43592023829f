import fc from 'fast-check';
import { generate, type Packet } from 'mqtt-packet';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { anyText } from '../../former/any-text.js';
import type { TestDevice } from '../../former/clients/api.js';
import { connectionListOf } from '../../former/clients/connection-list.js';
import { connectPacket, credentials, RawClient } from '../../former/clients/raw-client.js';
import type { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';

let home: Home<GatewayProcess>;
let device: TestDevice;
let processId: number;
/** A connection that survives whatever comes on others. */
let witness: RawClient;
const WITNESS = 'witness';

beforeAll(async () => {
  home = await Home.startProcess();
  device = await home.device();
  processId = home.gateway.processId;
  witness = await RawClient.connect(home.gateway, await home.device(), { clientId: WITNESS });
});

afterAll(() => home.remove());

/** Sends the chunks, then FIN; resolves when the gateway has closed the connection. */
async function sendAndEnd(chunks: readonly Uint8Array[]): Promise<void> {
  const { stream } = await RawClient.open(home.gateway);
  // Not `once`: a reset by the gateway is just as good an end.
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  for (const chunk of chunks) {
    if (!stream.destroyed) await new Promise<void>((next) => stream.write(chunk, () => next()));
  }
  stream.end();
  await closed;
}

/** Checks that the gateway is still the same process and serves, whatever was sent. */
function holds(chunks: fc.Arbitrary<readonly Uint8Array[]>, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(chunks, async (bytes) => {
    await sendAndEnd(bytes);
    await witness.ping();
  });
  return fc.assert(property, { numRuns, endOnFailure: true });
}

const uint16 = fc.integer({ min: 0, max: 65_535 });
const qos = fc.constantFrom<(0 | 1 | 2)[]>(0, 1, 2);

/** Topics and filters of every sort; those with a device id name the device. */
function topics(): fc.Arbitrary<string> {
  const own = `devices/${device.id}`;
  return fc.oneof(
    fc.constantFrom(`${own}/alarms`, `${own}/x`, `${own}/commands/#`, `${own}/rejected`),
    fc.constantFrom('#', '+', '+/#', '$SYS/#', '$share/a/b', 'a//b', '/', '', 'a\u0000b', 'a#b'),
    fc.constantFrom('__proto__', 'constructor', `${own}/__proto__`, `${own}/constructor/x`),
    anyText({ maxLength: 40 }).map((text) => `${own}/${text}`),
    fc.integer({ min: 90, max: 300 }).map((levels) => `${own}${'/a'.repeat(levels)}`),
    fc.integer({ min: 1000, max: 3000 }).map((length) => `${own}/`.padEnd(length, 'x')),
    anyText(),
  );
}

function payloads(): fc.Arbitrary<Buffer> {
  return fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    fc.constantFrom('{"kind":"fall"}', '{"kind":"fall","id":5}', '').map((one) => Buffer.from(one)),
  );
}

function connects(): fc.Arbitrary<Packet> {
  const will = fc.record({ topic: topics(), payload: payloads(), qos, retain: fc.boolean() });
  const login = fc.constantFrom(
    credentials(device),
    credentials(device),
    credentials(home.viewer),
    {},
    { username: device.id },
  );
  return fc
    .record({
      login,
      clientId: fc.oneof(fc.constantFrom('a', 'b', '__proto__'), anyText({ minLength: 1 })),
      clean: fc.boolean(),
      keepalive: fc.oneof(fc.constant(60), fc.constant(60), uint16),
      protocolVersion: fc.constantFrom<(3 | 4 | 5)[]>(4, 4, 4, 4, 3, 5),
      will: fc.option(will, { nil: undefined }),
    })
    .map(({ login: who, protocolVersion, will: last, ...rest }) => ({
      ...connectPacket({ ...rest, ...who, protocolVersion, ...(last && { will: last }) }),
      protocolId: protocolVersion === 3 ? ('MQIsdp' as const) : ('MQTT' as const),
    }));
}

function packets(): fc.Arbitrary<Packet> {
  const messageId = uint16;
  const command = fc.constantFrom('puback', 'pubrec', 'pubrel', 'pubcomp', 'unsuback');
  const bare = fc.constantFrom('pingreq', 'pingresp', 'disconnect');
  const subscriptions = fc.array(fc.record({ topic: topics(), qos }), { maxLength: 8 });
  return fc.oneof(
    fc.record({
      cmd: fc.constant('publish' as const),
      topic: topics(),
      payload: payloads(),
      qos,
      messageId,
      dup: fc.boolean(),
      retain: fc.boolean(),
    }),
    fc.record({ cmd: fc.constant('subscribe' as const), messageId, subscriptions }),
    fc.record({
      cmd: fc.constant('unsubscribe' as const),
      messageId,
      unsubscriptions: fc.array(topics(), { maxLength: 8 }),
    }),
    fc.record({ cmd: command, messageId }).map((packet): Packet => Object(packet)),
    fc.record({ cmd: bare }).map((packet): Packet => Object(packet)),
    connects(),
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

/** A conversation that begins with a CONNECT, in one chunk or in many. */
function conversations(): fc.Arbitrary<Buffer[]> {
  return fc
    .tuple(connects(), fc.array(packets(), { maxLength: 12 }), fc.boolean())
    .map(([first, rest, inOne]) => {
      const all = [first, ...rest].map(bytesOf);
      return inOne ? [Buffer.concat(all)] : all;
    });
}

beforeEach(() => {
  expect(home.gateway.processId).toBe(processId);
});

describe('the gateway survives', () => {
  it('random bytes', async () => {
    await holds(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 }), 50);
  });

  it('random bytes after a CONNECT', async () => {
    const admitted = () => generate(connectPacket(credentials(device)));
    const bytes = fc.uint8Array({ maxLength: 300 });
    const both = fc.tuple(bytes, fc.boolean()).map(([tail, inOne]) => {
      const all = [admitted(), tail];
      return inOne ? [Buffer.concat(all)] : all;
    });
    await holds(both, 80);
  });

  it('every kind of packet, in any order', async () => {
    await holds(conversations(), 100);
  });

  it('truncated packets', async () => {
    const cut = fc.tuple(conversations(), fc.nat()).map(([chunks, at]) => {
      const all = Buffer.concat(chunks);
      return [all.subarray(0, at % (all.length + 1))];
    });
    await holds(cut, 60);
  });

  it('packets with a flipped bit', async () => {
    const turned = fc
      .tuple(conversations(), fc.nat(), fc.nat({ max: 7 }))
      .map(([chunks, at, bit]) => {
        const all = Buffer.concat(chunks);
        const index = at % all.length;
        all.writeUInt8(all.readUInt8(index) ^ (1 << bit), index);
        return [all];
      });
    await holds(turned, 100);
  });

  it('a packet of each type of length 0, with all flags', async () => {
    const connecting = generate(connectPacket(credentials(device)));
    for (let header = 0; header <= 0xff; header++) {
      const packet = Buffer.from([header, 0]);
      await Promise.all([sendAndEnd([packet]), sendAndEnd([Buffer.concat([connecting, packet])])]);
    }
    await witness.ping();
  });

  it('and frees every connection and its will', async () => {
    (await RawClient.connect(home.gateway, device)).vanish();
    const connected = () => connectionListOf(home.gateway);
    await expect.poll(connected).toMatchObject([{ clientId: WITNESS }]);
    const store = await Store.of(home.gateway);
    await expect.poll(() => store.keys('*:will*')).toEqual([]);
    store.close();
  });

  it('without an unhandled rejection or fatal log line', () => {
    const wrong = home.gateway.lines.filter((line) => /unhandled rejection|"level":60/.test(line));
    expect(wrong).toEqual([]);
  });
});

describe('a subscriber', () => {
  it('gets only well-formed messages meanwhile', async () => {
    const nurse = await home.nurse(device, '#');
    await holds(conversations(), 50);
    await home.publishLast(device, 'last', '"last"');
    await nurse.until((received) => received.some(({ text }) => text.includes('"last"')));
    expect(nurse.client.connected).toBe(true);
    for (const { topic, text } of nurse.received) {
      expect(topic).toMatch(new RegExp(`^${home.filter(device, '[^+#\\u0000]+')}$`, 'u'));
      if (text !== '') expect(JSON.parse(text)).toHaveProperty('device.id', device.id);
    }
    await nurse.end();
  });
});
