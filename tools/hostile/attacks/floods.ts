import { NO_LIMITS } from '../../../test/former/no-limits.js';
import type { Attack } from '../attack.js';
import type { Field } from '../attacker/field.js';
import { connectDevice, publishOf, repeated } from './packets.js';

const BATCH_BYTES = 32 * 1024;
const MAX_TOPIC_BYTES = 65_535;

/** Writes the same packet over this many connections as fast as they take it. */
function flood(field: Field, connections: number, packets: (device: string) => Buffer) {
  return field.repeat(connections, async (index) => {
    const mqtt = await connectDevice(field, index);
    const { devices } = field.arms;
    const packet = packets(devices[index % devices.length]?.username ?? '');
    const batch = repeated(packet, Math.max(1, Math.floor(BATCH_BYTES / packet.length)));
    while (!field.isOver && (await mqtt.wire.write(batch))) {
      field.count('published', batch.length / packet.length);
    }
  });
}

/** Publishes tiny values at QoS 0 as fast as the socket takes them. */
function tinyValues(connections: number): Attack {
  return {
    name: `tiny-values-${connections}`,
    finding: 'S3',
    surface: 'mqtt',
    what: `one device publishes 2-byte values at QoS 0 over ${connections} connections, as fast as they are read`,
    isForMosquitto: true,
    arm: (site) => site.arms(1),
    run: (field) =>
      flood(field, connections, (device) =>
        publishOf({ topic: `devices/${device}/t`, payload: '21' }),
      ),
  };
}

/** Publishes alarms of an unknown kind, which are acknowledged and reported. */
function invalidAlarms(connections: number, finding: string): Attack {
  return {
    name: `invalid-alarms-${connections}`,
    finding,
    surface: 'mqtt',
    what: `one device publishes alarms of no known kind at QoS 1 over ${connections} connection${connections === 1 ? '' : 's'}, as fast as it is read`,
    isForMosquitto: true,
    arm: (site) => site.arms(1),
    run: (field) =>
      flood(field, connections, (device) =>
        publishOf({ topic: `devices/${device}/alarms`, payload: '{"kind":"x"}', qos: 1 }),
      ),
  };
}

const validAlarms: Attack = {
  name: 'valid-alarms-4',
  finding: 'S3',
  surface: 'mqtt',
  what: 'one device publishes valid alarms at QoS 1 over 4 connections, as fast as they are read',
  isForMosquitto: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    field.repeat(4, async (index) => {
      const mqtt = await connectDevice(field, index);
      const topic = `devices/${field.arms.devices[0]?.username}/alarms`;
      let messageId = 0;
      while (!field.isOver) {
        const batch = Array.from({ length: 50 }, () => {
          messageId = (messageId % 65_535) + 1;
          const payload = `{"kind":"noise","id":"${crypto.randomUUID()}"}`;
          return publishOf({ topic, payload, qos: 1, messageId });
        });
        if (!(await mqtt.wire.write(Buffer.concat(batch)))) break;
        field.count('published', batch.length);
      }
    }),
};

const longTopics: Attack = {
  name: 'long-topics',
  surface: 'mqtt',
  what: 'one device publishes at QoS 0 to topics of 65,535 bytes over 10 connections',
  isForMosquitto: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    flood(field, 10, (device) => {
      const head = `devices/${device}/`;
      return publishOf({ topic: head.padEnd(MAX_TOPIC_BYTES, 'x'), payload: '21' });
    }),
};

/** Each topic is one that no cache knows. */
const manyTopics: Attack = {
  name: 'many-topics',
  surface: 'mqtt',
  what: 'one device publishes at QoS 0, each value to a topic of its own, over 10 connections',
  isForMosquitto: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    field.repeat(10, async (index) => {
      const mqtt = await connectDevice(field, index);
      const head = `devices/${field.arms.devices[0]?.username}/${index}`;
      for (let n = 0; !field.isOver; n += 100) {
        const batch = Array.from({ length: 100 }, (_, at) =>
          publishOf({ topic: `${head}/${n + at}`, payload: '21' }),
        );
        if (!(await mqtt.wire.write(Buffer.concat(batch)))) break;
        field.count('published', batch.length);
      }
    }),
};

/** The same attack on a gateway whose budgets slow nothing down: fair reading alone must hold. */
function unlimited(attack: Attack): Attack {
  return {
    ...attack,
    name: `${attack.name}-unlimited`,
    what: `${attack.what}; no budget slows it`,
    needs: () => ({ environment: NO_LIMITS }),
    isForMosquitto: false,
    isUnnamed: true,
  };
}

export const FLOODS: readonly Attack[] = [
  tinyValues(5),
  tinyValues(20),
  tinyValues(100),
  invalidAlarms(20, 'S3'),
  invalidAlarms(1, 'S14'),
  validAlarms,
  longTopics,
  manyTopics,
  unlimited(tinyValues(20)),
  unlimited(invalidAlarms(20, 'S3')),
  unlimited(validAlarms),
];
