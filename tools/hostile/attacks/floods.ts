/** One device that sends as fast as it is read. */
import { generate, type Packet } from 'mqtt-packet';
import { NO_LIMITS } from '../../../test/harness/gateway.js';
import type { Attack } from '../attack.js';
import { alarmOf, batches, identifierOf, publishOf, repeated } from './packets.js';

const BATCH_BYTES = 32 * 1024;
const MAX_TOPIC_BYTES = 65_535;

/** The same packet over this many connections. */
function flood(
  name: string,
  connections: number,
  what: string,
  packet: (device: string) => Buffer,
  rest: Partial<Attack> = {},
): Attack {
  return {
    name,
    connections,
    what: `one device sends ${what} over ${connections} connections, as fast as they are read`,
    as: 'device',
    has: { devices: 1 },
    expects: 'served',
    sends: (line) => {
      const bytes = packet(line.deviceId());
      return line.endless(repeated(bytes, Math.max(1, Math.floor(BATCH_BYTES / bytes.length))));
    },
    ...rest,
  };
}

function tinyValues(connections: number): Attack {
  return flood(`tiny-values-${connections}`, connections, '2-byte values at QoS 0', (device) =>
    publishOf({ topic: `devices/${device}/t`, payload: '21' }),
  );
}

/** Alarms of an unknown kind, which are acknowledged and reported. */
function invalidAlarms(connections: number): Attack {
  return flood(`invalid-alarms-${connections}`, connections, 'alarms of no known kind', (device) =>
    publishOf({ topic: `devices/${device}/alarms`, payload: '{"kind":"x"}', qos: 1 }),
  );
}

/** A packet without a payload; some cost an answer. */
function smallPackets(name: string, what: string, packet: Packet): Attack {
  return flood(name, 20, what, () => generate(packet));
}

const validAlarms: Attack = {
  ...flood('valid-alarms-4', 4, 'valid alarms at QoS 1', () => Buffer.alloc(0)),
  sends: (line) =>
    batches(line, 50, (n) => {
      const topic = `devices/${line.deviceId()}/alarms`;
      return publishOf({ topic, payload: alarmOf(), qos: 1, messageId: identifierOf(n) });
    }),
};

const manyTopics: Attack = {
  ...flood('many-topics', 10, 'values, each to a topic of its own,', () => Buffer.alloc(0)),
  sends: (line) =>
    batches(line, 100, (n) => {
      const topic = `devices/${line.deviceId()}/${line.index}/${line.round}-${n}`;
      return publishOf({ topic, payload: '21' });
    }),
};

/** The same on a gateway whose budgets slow nothing down: fair reading alone must hold. */
function unlimited(attack: Attack): Attack {
  return {
    ...attack,
    name: `${attack.name}-unlimited`,
    what: `${attack.what}; no budget slows it`,
    needs: () => ({ env: numbersIn(NO_LIMITS) }),
    isUnnamed: true,
  };
}

function numbersIn(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? '']));
}

export const FLOODS: readonly Attack[] = [
  tinyValues(5),
  tinyValues(20),
  tinyValues(100),
  invalidAlarms(20),
  invalidAlarms(1),
  validAlarms,
  flood(
    'long-topics',
    10,
    'values to topics of 65,535 bytes',
    (device) => {
      const topic = `devices/${device}/`.padEnd(MAX_TOPIC_BYTES, 'x');
      return publishOf({ topic, payload: '21' });
    },
    { expects: 'closed' },
  ),
  manyTopics,
  flood('foreign-topics', 20, "alarms to another device's topic", () =>
    publishOf({
      topic: `devices/${crypto.randomUUID()}/alarms`,
      payload: '{"kind":"fall"}',
      qos: 1,
    }),
  ),
  smallPackets('ping-flood', 'PINGREQ', { cmd: 'pingreq' }),
  smallPackets('acknowledgement-flood', 'PUBACK for nothing', { cmd: 'puback', messageId: 9 }),
  smallPackets('release-flood', 'PUBREL for nothing', { cmd: 'pubrel', messageId: 9 }),
  unlimited(tinyValues(20)),
  unlimited(invalidAlarms(20)),
  unlimited(validAlarms),
];
