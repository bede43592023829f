import { setTimeout as delay } from 'node:timers/promises';
import { generate } from 'mqtt-packet';
import type { Attack } from '../attack.js';
import type { Field } from '../attacker/field.js';
import { MqttSocket } from '../mqtt-socket.js';
import { asClient, type Site } from '../site.js';
import { connectDevice, type Publish, publishOf } from './packets.js';

const ALARM_BYTES = 16 * 1024;
const VALUE_BYTES = 250 * 1024;
const RETAINED_BYTES = 200 * 1024;
const RETAINED_TOPICS = 3_000;
const BURST = 10_050;
const BURST_MS = 1_500;
const UNACKNOWLEDGED_BYTES = 32 * 1024 * 1024;
const PUBACK = 4;

/** Publishes at QoS 1 at a rate; the bytes in flight are bounded, as a device's memory is. */
async function publishAtRate(field: Field, perSecond: number, publish: (n: number) => Publish) {
  const mqtt = await connectDevice(field, 0);
  let unacknowledgedBytes = 0;
  const sizes = new Map<number, number>();
  mqtt.take = (header, bytes, start) => {
    if (header >> 4 !== PUBACK) return;
    const identifier = bytes.readUInt16BE(start);
    unacknowledgedBytes -= sizes.get(identifier) ?? 0;
    field.count('acknowledged');
  };
  await field.atRate(perSecond, (n) => {
    if (unacknowledgedBytes > UNACKNOWLEDGED_BYTES || !mqtt.isOpen) return;
    const messageId = (n % 65_535) + 1;
    const packet = publishOf({ qos: 1, messageId, ...publish(n) });
    unacknowledgedBytes += packet.length;
    sizes.set(messageId, packet.length);
    mqtt.wire.socket.write(packet);
    field.count('published');
  });
}

/** A valid alarm of this size that repeats no other. */
export function alarmOf(bytes = 0): string {
  return `{"kind":"noise","id":"${crypto.randomUUID()}","note":"${'x'.repeat(Math.max(0, bytes - 120))}"}`;
}

const largeAlarms: Attack = {
  name: 'large-alarms',
  finding: 'S1',
  surface: 'mqtt',
  what: 'one device publishes 900 alarms of 16 kB a second',
  isForMosquitto: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    publishAtRate(field, 900, () => ({
      topic: `devices/${field.arms.devices[0]?.username}/alarms`,
      payload: alarmOf(ALARM_BYTES),
    })),
};

const largeRetained: Attack = {
  name: 'large-retained',
  finding: 'S1',
  surface: 'mqtt',
  what: 'one device retains values of 200 kB on 3,000 topics',
  isForMosquitto: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    publishAtRate(field, RETAINED_TOPICS / 10, (n) => ({
      topic: `devices/${field.arms.devices[0]?.username}/photo/${n % RETAINED_TOPICS}`,
      payload: Buffer.alloc(RETAINED_BYTES, 'x'),
      retain: true,
    })),
};

/** Leaves behind a durable session of the attacker's home, for which everything queues. */
async function leaveSession(site: Site, filter: string): Promise<void> {
  const { tokens } = await site.arms(0, 1);
  const [token] = tokens;
  if (token === undefined) throw new Error('no token was created');
  const login = asClient(token, 'hostile-absent');
  const endpoint = { host: '127.0.0.1', port: site.ports.mqtt };
  const mqtt = await MqttSocket.connect(endpoint, login, { clean: false });
  if (mqtt === undefined) throw new Error('not connected');
  const subscribed = new Promise<void>((resolve) => {
    mqtt.take = () => resolve();
  });
  const subscriptions = [{ topic: filter, qos: 1 as const }];
  mqtt.wire.socket.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions }));
  await subscribed;
  await mqtt.end();
}

const largeBacklog: Attack = {
  name: 'large-backlog',
  finding: 'S1',
  surface: 'mqtt',
  what: 'one device publishes values of 250 kB at QoS 1 as fast as they are stored, while a durable subscriber of its home is away',
  isForMosquitto: true,
  arm: async (site) => {
    const arms = await site.arms(1);
    await leaveSession(site, arms.filter);
    return arms;
  },
  run: (field) =>
    publishAtRate(field, 400, () => ({
      topic: `devices/${field.arms.devices[0]?.username}/photo`,
      payload: Buffer.alloc(VALUE_BYTES, 'x'),
    })),
};

const alarmBurst: Attack = {
  name: 'alarm-burst',
  finding: 'S2',
  surface: 'mqtt',
  what: 'one device publishes 10,050 alarms in 1.5 s while the durable subscriber of both homes is away; it may lose none of the other home',
  isForMosquitto: true,
  isDurableAway: true,
  areSubscribersShared: true,
  isUnnamed: true,
  arm: (site) => site.arms(1),
  run: async (field) => {
    const mqtt = await connectDevice(field, 0);
    mqtt.take = (header) => field.count(header >> 4 === PUBACK ? 'acknowledged' : 'other');
    const topic = `devices/${field.arms.devices[0]?.username}/alarms`;
    const ticks = BURST_MS / 10;
    for (let tick = 0; tick < ticks; tick++) {
      const batch = Array.from({ length: BURST / ticks }, (_, index) => {
        const messageId = tick * (BURST / ticks) + index + 1;
        return publishOf({ topic, payload: alarmOf(), qos: 1, messageId });
      });
      field.count('published', batch.length);
      await mqtt.wire.write(Buffer.concat(batch));
      await delay(10);
    }
  },
};

export const STORAGE: readonly Attack[] = [largeAlarms, largeRetained, largeBacklog, alarmBurst];
