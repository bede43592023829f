import { generate } from 'mqtt-packet';
import { identified } from '../../../test/harness/load/publisher.js';
import type { Attack } from '../attack.js';
import { MqttSocket } from '../mqtt-socket.js';
import { asClient } from '../site.js';
import { connectDevice, connectToken, publishOf, subscribeOf } from './packets.js';

const FILTERS = 1_000;
const RETAINED = 2_000;
const PUBACK_HEADER = 0x40;
const PUBLISH = 3;
const UNRELEASED = 65_535;

const subscribeStorm: Attack = {
  name: 'subscribe-storm',
  surface: 'mqtt',
  what: `one token subscribes to ${FILTERS} filters and unsubscribes again without a pause, over 5 connections`,
  isForMosquitto: true,
  arm: (site) => site.arms(0, 1),
  run: (field) => {
    const head = field.arms.filter.replace('#', '');
    const filters = Array.from({ length: FILTERS }, (_, index) => `${head}+/+/x/${index}`);
    const subscriptions = filters.map((topic) => ({ topic, qos: 1 as const }));
    const subscribe = generate({ cmd: 'subscribe', messageId: 1, subscriptions });
    const unsubscribe = generate({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: filters });
    const both = Buffer.concat([subscribe, unsubscribe]);
    return field.repeat(5, async (index) => {
      const mqtt = await connectToken(field, index);
      mqtt.take = () => field.count('answers');
      while (!field.isOver && (await mqtt.wire.write(both))) field.count('packets', 2);
    });
  },
};

const durableSubscribeStorm: Attack = {
  ...subscribeStorm,
  name: 'durable-subscribe-storm',
  what: 'one token subscribes and unsubscribes in 5 persistent sessions, one filter a packet, without a pause',
  run: (field) => {
    const topic = field.arms.filter.replace('#', '+/+/x');
    const unsubscriptions = [topic];
    const unsubscribe = generate({ cmd: 'unsubscribe', messageId: 2, unsubscriptions });
    const both = Buffer.concat([subscribeOf(topic), unsubscribe]);
    const batch = Buffer.concat(Array.from({ length: 50 }, () => both));
    return field.repeat(5, async (index) => {
      const mqtt = await connectToken(field, index, { clean: false });
      mqtt.take = () => field.count('answers');
      while (!field.isOver && (await mqtt.wire.write(batch))) field.count('packets', 100);
    });
  },
};

const retainedSubscribe: Attack = {
  name: 'subscribe-retained',
  finding: 'S15',
  surface: 'mqtt',
  what: `one token subscribes again and again to everything of a home with ${RETAINED} retained values of 1 kB, over 5 connections`,
  isForMosquitto: true,
  arm: async (site) => {
    const arms = await site.arms(10, 1);
    const endpoint = { host: '127.0.0.1', port: site.ports.mqtt };
    for (const device of arms.devices) {
      const mqtt = await MqttSocket.connect(endpoint, asClient(device, `${device.username}-arm`));
      if (mqtt === undefined) throw new Error('not connected');
      let acknowledged = 0;
      const perDevice = RETAINED / arms.devices.length;
      const all = new Promise<void>((resolve) => {
        mqtt.take = () => {
          acknowledged++;
          if (acknowledged === perDevice) resolve();
        };
      });
      for (let n = 1; n <= perDevice; n++) {
        const topic = `devices/${device.username}/setting/${n}`;
        const payload = 'x'.repeat(1_024);
        mqtt.wire.socket.write(publishOf({ topic, payload, qos: 1, retain: true, messageId: n }));
      }
      await Promise.race([all, mqtt.wire.closed]);
      await mqtt.end();
    }
    return arms;
  },
  run: (field) =>
    field.repeat(5, async (index) => {
      const mqtt = await connectToken(field, index);
      mqtt.take = (header, bytes, start) => {
        if (header >> 4 !== PUBLISH) return;
        field.count('received');
        if ((header & 0x06) === 0) return;
        const identifier = bytes.readUInt16BE(start + 2 + bytes.readUInt16BE(start));
        mqtt.wire.socket.write(identified(PUBACK_HEADER, [identifier]));
      };
      while (!field.isOver && (await mqtt.wire.write(subscribeOf(field.arms.filter)))) {
        field.count('subscribed');
        await field.pause(20);
      }
    }),
};

const unreleased: Attack = {
  name: 'qos2-unreleased',
  surface: 'mqtt',
  what: 'one device publishes 65,535 alarms at QoS 2 on each of 5 connections and releases none',
  isForMosquitto: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    field.repeat(5, async (index) => {
      const mqtt = await connectDevice(field, index);
      mqtt.take = () => field.count('received');
      const topic = `devices/${field.arms.devices[0]?.username}/alarms`;
      for (let messageId = 1; messageId <= UNRELEASED && !field.isOver; messageId++) {
        const payload = `{"kind":"noise","id":"${crypto.randomUUID()}"}`;
        if (!(await mqtt.wire.write(publishOf({ topic, payload, qos: 2, messageId })))) return;
        field.count('published');
      }
      await mqtt.wire.closed;
    }),
};

const wills: Attack = {
  name: 'wills',
  surface: 'mqtt',
  what: 'one device connects with a will of 64 kB and vanishes, 50 connections at a time, without a pause',
  isForMosquitto: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    field.repeat(50, async (index) => {
      const [device] = field.arms.devices;
      if (device === undefined) return;
      const login = asClient(device, `${device.username}-${index}`);
      const topic = `devices/${device.username}/gone`;
      const will = { topic, payload: Buffer.alloc(65_000, 'x'), qos: 1, retain: false } as const;
      const mqtt = await MqttSocket.connect(field.endpoint('mqtt', index), login, { will });
      field.count(mqtt === undefined ? 'refused' : 'connected');
      mqtt?.wire.cut();
    }),
};

export const SUBSCRIPTIONS: readonly Attack[] = [
  subscribeStorm,
  durableSubscribeStorm,
  retainedSubscribe,
  unreleased,
  wills,
];
