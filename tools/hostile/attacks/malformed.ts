import { randomBytes, randomInt } from 'node:crypto';
import { generate, type Packet } from 'mqtt-packet';
import type { Attack } from '../attack.js';
import type { Field } from '../attacker/field.js';
import { connectBytes, Wire } from '../mqtt-socket.js';
import { connectDevice, publishOf, repeated } from './packets.js';

const AT_A_TIME = 20;
const MAX_RANDOM_BYTES = 16_384;
const ANSWER_MS = 200;
const BATCH = 500;

async function dial(field: Field, listener: 'mqtt' | 'http' | 'mqtts', index: number) {
  // Random bytes to a TLS listener do not start with a handshake.
  const wire = new Wire({ ...field.endpoint(listener, index), isTls: false });
  wire.socket.resume();
  if (!(await wire.opened())) throw new Error('not connected');
  field.count('opened');
  return wire;
}

/** Writes, and hangs up if the other side does not. */
async function send(field: Field, wire: Wire, bytes: Buffer): Promise<void> {
  await wire.write(bytes);
  await Promise.race([wire.closed, field.pause(ANSWER_MS)]);
  wire.cut();
}

function randomBytesTo(listener: 'mqtt' | 'http' | 'mqtts'): Attack {
  return {
    name: `random-bytes-${listener}`,
    surface: listener === 'mqtt' ? 'mqtt' : listener === 'http' ? 'http' : 'tls',
    what: `random bytes to the listener of ${listener.toUpperCase()}, ${AT_A_TIME} connections at a time`,
    isForMosquitto: listener === 'mqtt',
    isUnnamed: true,
    ...(listener === 'mqtts' ? { needs: () => ({ tls: 'ecdsa' }) } : {}),
    arm: (site) => site.arms(0),
    run: (field) =>
      field.repeat(AT_A_TIME, async (index) => {
        const wire = await dial(field, listener, index);
        await send(field, wire, randomBytes(randomInt(1, MAX_RANDOM_BYTES)));
      }),
  };
}

/** Packets that a client may send, but not in an order that MQTT allows. */
function packetsOf(device: string): Packet[] {
  const topic = `devices/${device}/t`;
  const head = { dup: false, retain: false } as const;
  return [
    { cmd: 'publish', topic, payload: '21', qos: 0, ...head },
    { cmd: 'publish', topic, payload: '21', qos: 1, messageId: 1, ...head },
    { cmd: 'publish', topic, payload: '21', qos: 2, messageId: 2, ...head },
    { cmd: 'pubrel', messageId: 9 },
    { cmd: 'puback', messageId: 9 },
    { cmd: 'pubrec', messageId: 9 },
    { cmd: 'pubcomp', messageId: 9 },
    { cmd: 'pingreq' },
    { cmd: 'unsubscribe', messageId: 3, unsubscriptions: ['a'] },
    {
      cmd: 'subscribe',
      messageId: 4,
      subscriptions: [{ topic: `devices/${device}/rejected`, qos: 1 }],
    },
    { cmd: 'disconnect' },
  ];
}

const wrongOrder: Attack = {
  name: 'wrong-order',
  surface: 'mqtt',
  what: `valid packets in random order, with and without a CONNECT before them, ${AT_A_TIME} connections at a time`,
  isForMosquitto: true,
  isUnnamed: true,
  arm: (site) => site.arms(1),
  run: (field) => {
    const [device] = field.arms.devices;
    if (device === undefined) throw new Error('the attack has no device');
    const packets = packetsOf(device.username).map((packet) => generate(packet));
    packets.push(connectBytes(device));
    return field.repeat(AT_A_TIME, async (index) => {
      const chosen = Array.from(
        { length: 20 },
        () => packets[randomInt(packets.length)] ?? Buffer.alloc(0),
      );
      const first =
        index % 2 === 0 ? [connectBytes({ ...device, clientId: `order-${index}` })] : [];
      const wire = await dial(field, 'mqtt', index);
      await send(field, wire, Buffer.concat([...first, ...chosen]));
    });
  },
};

const mutated: Attack = {
  name: 'mutated-packets',
  surface: 'mqtt',
  what: `packets of a connected device with some bytes changed at random, ${AT_A_TIME} connections at a time`,
  isForMosquitto: true,
  isUnnamed: true,
  arm: (site) => site.arms(1),
  run: (field) => {
    const packets = packetsOf(field.arms.devices[0]?.username ?? '');
    const valid = Buffer.concat(packets.slice(0, -1).map((packet) => generate(packet)));
    return field.repeat(AT_A_TIME, async (index) => {
      const mqtt = await connectDevice(field, index);
      const bytes = Buffer.from(valid);
      for (let changes = randomInt(1, 4); changes > 0; changes--) {
        bytes[randomInt(bytes.length)] = randomInt(256);
      }
      await send(field, mqtt.wire, bytes);
    });
  },
};

/** Packets without a payload that a device may send as often as it likes; some cost an answer. */
function smallPackets(name: string, what: string, packet: Packet): Attack {
  return {
    name,
    surface: 'mqtt',
    what: `one device sends ${what} over 20 connections, as fast as they are read`,
    isForMosquitto: true,
    arm: (site) => site.arms(1),
    run: (field) => {
      const batch = repeated(generate(packet), BATCH);
      return field.repeat(20, async (index) => {
        const mqtt = await connectDevice(field, index);
        while (!field.isOver && (await mqtt.wire.write(batch))) field.count('sent', BATCH);
      });
    },
  };
}

const foreignTopics: Attack = {
  name: 'foreign-topics',
  surface: 'mqtt',
  what: `one device publishes alarms to another device's topic over ${AT_A_TIME} connections, as fast as they are read`,
  isForMosquitto: false,
  arm: (site) => site.arms(2),
  run: (field) =>
    field.repeat(AT_A_TIME, async (index) => {
      // Even indexes belong to the first device.
      const mqtt = await connectDevice(field, index * 2);
      const topic = `devices/${field.arms.devices[1]?.username}/alarms`;
      const publish = publishOf({ topic, payload: '{"kind":"fall"}', qos: 1 });
      const batch = repeated(publish, BATCH);
      while (!field.isOver && (await mqtt.wire.write(batch))) field.count('published', BATCH);
    }),
};

export const MALFORMED: readonly Attack[] = [
  randomBytesTo('mqtt'),
  randomBytesTo('http'),
  randomBytesTo('mqtts'),
  wrongOrder,
  mutated,
  smallPackets('ping-flood', 'PINGREQ', { cmd: 'pingreq' }),
  smallPackets('acknowledgement-flood', 'PUBACK for nothing', { cmd: 'puback', messageId: 9 }),
  smallPackets('release-flood', 'PUBREL for nothing', { cmd: 'pubrel', messageId: 9 }),
  foreignTopics,
];
