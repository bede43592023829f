import { generate } from 'mqtt-packet';
import type { Login } from '../../../test/harness/load/plan.js';
import { type Endpoint, MqttSocket } from '../mqtt-socket.js';

const PUBACK = 4;
/** A sensor gives up on a connection after this. */
const TIMEOUT_MS = 5_000;

/** Connects, publishes one alarm and disconnects. @throws Error that tells how far it came */
export async function publishAsNewcomer(
  endpoint: Endpoint,
  login: Login,
  topic: string,
): Promise<void> {
  const mqtt = new MqttSocket(endpoint);
  const expired = setTimeout(() => mqtt.wire.cut(), TIMEOUT_MS);
  try {
    const acknowledged = new Promise<boolean>((resolve) => {
      mqtt.take = (header) => {
        if (header >> 4 === PUBACK) resolve(true);
      };
    });
    const code = await mqtt.logIn(login);
    if (code !== 0) throw new Error(code < 0 ? 'no CONNACK' : `CONNACK ${code}`);
    const head = { cmd: 'publish', qos: 1, dup: false, retain: false } as const;
    const publish = generate({ ...head, topic, payload: '{"kind":"helpCall"}', messageId: 1 });
    mqtt.wire.socket.write(publish);
    const isAcknowledged = await Promise.race([acknowledged, mqtt.wire.closed.then(() => false)]);
    if (!isAcknowledged) throw new Error('no PUBACK');
    await mqtt.end();
  } finally {
    clearTimeout(expired);
  }
}
