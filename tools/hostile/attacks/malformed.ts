/** Bytes that are no protocol, and packets that are wrong or in the wrong order. */
import { randomBytes, randomInt } from 'node:crypto';
import { generate, type Packet } from 'mqtt-packet';
import { connectBytes } from '../../../test/harness/load/connection.js';
import type { Attack, Listener } from '../attack.js';

const AT_A_TIME = 20;
const MAX_RANDOM_BYTES = 16_384;
const ANSWER_MS = 200;

/** All rows: sends something, and hangs up if the other side does not. */
function row(
  name: string,
  what: string,
  bytes: (device: string) => Buffer,
  rest: Partial<Attack> = {},
): Attack {
  return {
    name,
    what: `${what}, ${AT_A_TIME} connections at a time`,
    connections: AT_A_TIME,
    has: { devices: 1 },
    isUnnamed: true,
    expects: 'closed',
    sends: async function* (line, { closed }) {
      yield bytes(line.deviceId());
      await Promise.race([closed, line.pause(ANSWER_MS)]);
      yield '';
    },
    ...rest,
  };
}

function randomBytesTo(to: Listener): Attack {
  const bytes = () => randomBytes(randomInt(1, MAX_RANDOM_BYTES));
  const rest = {
    to,
    isPlain: true,
    ...(to === 'mqtts' && { needs: () => ({ tls: 'ecdsa' }) as const }),
  };
  return row(`random-bytes-${to}`, `random bytes to the listener of ${to}`, bytes, rest);
}

/** Packets that a client may send, but not in an order that MQTT allows. */
function packetsOf(device: string): Packet[] {
  const topic = `devices/${device}/t`;
  const head = { cmd: 'publish', topic, payload: '21', dup: false, retain: false } as const;
  const subscriptions = [{ topic: `devices/${device}/rejected`, qos: 1 as const }];
  return [
    { ...head, qos: 0 },
    { ...head, qos: 1, messageId: 1 },
    { ...head, qos: 2, messageId: 2 },
    { cmd: 'pubrel', messageId: 9 },
    { cmd: 'puback', messageId: 9 },
    { cmd: 'pubrec', messageId: 9 },
    { cmd: 'pubcomp', messageId: 9 },
    { cmd: 'pingreq' },
    { cmd: 'unsubscribe', messageId: 3, unsubscriptions: ['a'] },
    { cmd: 'subscribe', messageId: 4, subscriptions },
    { cmd: 'disconnect' },
  ];
}

function inWrongOrder(device: string): Buffer {
  const login = { clientId: device, username: device, password: 'wrong' };
  const packets = [...packetsOf(device).map((packet) => generate(packet)), connectBytes(login)];
  const pick = () => packets[randomInt(packets.length)] ?? Buffer.alloc(0);
  return Buffer.concat(Array.from({ length: 20 }, pick));
}

function mutated(device: string): Buffer {
  const valid = packetsOf(device)
    .slice(0, -1)
    .map((packet) => generate(packet));
  const bytes = Buffer.concat(valid);
  for (let changes = randomInt(1, 4); changes > 0; changes--) {
    bytes[randomInt(bytes.length)] = randomInt(256);
  }
  return bytes;
}

export const MALFORMED: readonly Attack[] = [
  randomBytesTo('mqtt'),
  randomBytesTo('http'),
  randomBytesTo('mqtts'),
  row('wrong-order', 'valid packets in random order without a CONNECT', inWrongOrder),
  row('wrong-order-admitted', 'valid packets in random order after a CONNECT', inWrongOrder, {
    as: 'device',
  }),
  row(
    'mutated-packets',
    'packets of a connected device with some bytes changed at random',
    mutated,
    {
      as: 'device',
    },
  ),
];
