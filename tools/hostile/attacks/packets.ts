import { generate } from 'mqtt-packet';
import type { Field } from '../attacker/field.js';
import { MqttSocket } from '../mqtt-socket.js';
import { asClient } from '../site.js';

/** Connects as one of the attacker's devices, with its own client id for each connection. */
export async function connectDevice(field: Field, index: number): Promise<MqttSocket> {
  const { devices } = field.arms;
  const device = devices[index % devices.length];
  if (device === undefined) throw new Error('the attack has no device');
  const login = asClient(device, `${device.username}-${index}`);
  return admitted(field, await MqttSocket.connect(field.endpoint('mqtt', index), login));
}

/** Connects as one of the attacker's subscribers, with its own client id for each connection. */
export async function connectToken(
  field: Field,
  index: number,
  options: { readonly clean?: boolean } = {},
): Promise<MqttSocket> {
  const { tokens } = field.arms;
  const token = tokens[index % tokens.length];
  if (token === undefined) throw new Error('the attack has no token');
  const login = asClient(token, `hostile-${index}`);
  return admitted(field, await MqttSocket.connect(field.endpoint('mqtt', index), login, options));
}

function admitted(field: Field, mqtt: MqttSocket | undefined): MqttSocket {
  if (mqtt === undefined) throw new Error('not connected');
  field.count('connected');
  return mqtt;
}

export interface Publish {
  readonly topic: string;
  readonly payload: string | Buffer;
  /** Omitted: 0. */
  readonly qos?: 0 | 1 | 2;
  readonly retain?: boolean;
  readonly messageId?: number;
}

export function publishOf({ qos = 0, retain = false, messageId, ...rest }: Publish): Buffer {
  const identifier = qos === 0 ? {} : { messageId: messageId ?? 1 };
  return generate({ cmd: 'publish', dup: false, qos, retain, ...identifier, ...rest });
}

export function subscribeOf(topic: string, messageId = 1): Buffer {
  return generate({ cmd: 'subscribe', messageId, subscriptions: [{ topic, qos: 1 }] });
}

export function repeated(packet: Buffer, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => packet));
}
