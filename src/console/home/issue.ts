/** A new device with its secret: made once however often it is tried, and the text of its QR code. */

import { createDevice, moveDevice, type Named, replaceDeviceSecret } from '../api.js';
import { type Failure, failureOf, ownValues } from '../request.js';

/** A device to create. */
interface WantedDevice {
  /** Generated here, so that the same request can be sent again if its answer is lost. */
  readonly id: string;
  readonly name: string;
  readonly room: Named | undefined;
}

/** A device with its secret, which is shown only once. */
export interface IssuedDevice {
  readonly id: string;
  readonly name: string;
  readonly secret: string;
  /** The room that it is in. */
  readonly roomName: string | undefined;
  /** Why it is not in its room, if it could not be moved there. */
  readonly moveFailure: Failure | undefined;
}

/**
 * Creates a device and moves it into its room.
 *
 * Repeating it after a failure does not create a second device.
 */
export async function issueDevice(
  locationId: string,
  { id, name, room }: WantedDevice,
): Promise<IssuedDevice> {
  const secret = await createdSecret(locationId, id, name);
  const issued = { id, name, secret, roomName: room?.name, moveFailure: undefined };
  if (room === undefined) return issued;
  try {
    await moveDevice({ locationId, deviceId: id }, { targetRoomId: room.id });
  } catch (error) {
    return { ...issued, roomName: undefined, moveFailure: failureOf(error) };
  }
  return issued;
}

async function createdSecret(locationId: string, id: string, name: string): Promise<string> {
  try {
    return (await createDevice({ locationId }, { id, name })).secret;
  } catch (error) {
    // No other device has this id: an earlier attempt created it, and the answer was lost.
    if (failureOf(error).code !== 'device-id-in-use') throw error;
    return (await replaceDeviceSecret({ locationId, deviceId: id })).secret;
  }
}

/** A random UUID. `crypto.randomUUID` exists only on pages served over TLS. */
export function newDeviceId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte, index) => {
    // Version 4, variant 1 (RFC 9562, 5.4).
    if (index === 6) return (byte & 0x0f) | 0x40;
    return index === 8 ? (byte & 0x3f) | 0x80 : byte;
  }).map((byte) => byte.toString(16).padStart(2, '0'));
  const part = (from: number, to: number) => hex.slice(from, to).join('');
  return [part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 16)].join('-');
}

/** Where devices reach the gateway, as typed: a host and a port. */
const HOST_AND_PORT = /^(?<host>\[[^\]]+\]|[^:]+):(?<port>\d{1,5})$/;

/** Where a device reaches the gateway. */
export interface MqttAddress {
  readonly host: string;
  readonly mqttPort: number;
  readonly tls: boolean;
}

/** Reads an address as typed: a host, or a host and a port; without one it is the gateway's own. */
export function mqttAddress(typed: string, tls: boolean): MqttAddress {
  const trimmed = typed.trim();
  const { host = trimmed, port } = HOST_AND_PORT.exec(trimmed)?.groups ?? {};
  const { ports } = ownValues();
  const own = tls ? ports.tls : ports.plain;
  return { host, mqttPort: port === undefined ? own : Number(port), tls };
}

interface Setup extends MqttAddress {
  readonly deviceId: string;
  readonly secret: string;
}

/** The text of a device's QR code: a JSON object with everything that the device needs to connect. */
export function setupText({ host, mqttPort, tls, deviceId, secret }: Setup): string {
  return JSON.stringify({ host, mqttPort, tls, deviceId, secret });
}

/** Whether the name is a loopback name or address, which leads every machine to itself. */
export function isLocalAddress(address: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(address.trim());
}
