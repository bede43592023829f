import type { TestDevice } from '../../former/clients/api.js';
import { credentials, type RawClient } from '../../former/clients/raw-client.js';

/** A text as MQTT writes it, from characters or any bytes: the length comes first, in two bytes. */
export function text(...parts: (string | readonly number[])[]): Buffer {
  const bytes = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))),
  );
  return Buffer.concat([uint16(bytes.length), bytes]);
}

export function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

/** A packet of less than 16,384 bytes. */
export function packet(header: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length =
    body.length < 128 ? [body.length] : [(body.length & 0x7f) | 0x80, body.length >> 7];
  return Buffer.concat([Buffer.from([header, ...length]), body]);
}

export interface Connect {
  readonly protocol?: string;
  readonly level?: number;
  readonly flags?: number;
  readonly clientId?: Buffer;
  /** Topic and payload of a will, if the flags announce one. */
  readonly will?: readonly Buffer[];
  readonly username?: Buffer;
  readonly behind?: Buffer;
}

export const CLEAN = 0x02;
export const WILL = 0x04;
export const PASSWORD = 0x40;
export const USER_NAME = 0x80;

/** A CONNECT with the credentials of the device, and these options. */
export function connectOf(device: TestDevice, options: Connect = {}): Buffer {
  const { username, password } = credentials(device);
  const flags = options.flags ?? USER_NAME | PASSWORD | CLEAN | (options.will ? WILL : 0);
  return packet(
    0x10,
    text(options.protocol ?? 'MQTT'),
    Buffer.from([options.level ?? 4, flags]),
    uint16(60),
    options.clientId ?? text('wire'),
    ...(options.will ?? []),
    ...(flags & USER_NAME ? [options.username ?? text(username)] : []),
    ...(flags & PASSWORD ? [text([...password])] : []),
    options.behind ?? Buffer.alloc(0),
  );
}

export function publish(header: number, topic: Buffer, messageId?: number): Buffer {
  const identifier = messageId === undefined ? [] : [uint16(messageId)];
  return packet(header, topic, ...identifier, Buffer.from('"wire"'));
}

export function subscribe(messageId: number, ...filters: readonly Buffer[]): Buffer {
  const each = filters.map((filter) => Buffer.concat([filter, Buffer.from([1])]));
  return packet(0x82, uint16(messageId), ...each);
}
export const gone = Buffer.from('"gone"');

/** Sends the bytes. Resolves to the answers once the connection has ended. */
export async function endedBy(client: RawClient, bytes: Buffer): Promise<unknown[]> {
  client.stream.write(bytes);
  await client.closed();
  return client.packets.map((one) => ('returnCode' in one ? [one.cmd, one.returnCode] : one.cmd));
}
