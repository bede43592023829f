import { createDevice, moveDevice, replaceDeviceSecret } from '../../../api.js';
import { type Failure, failureOf } from '../../../request.js';

/** A device to create. */
interface WantedDevice {
  /** Generated here, so that the same request can be sent again if its answer is lost. */
  readonly id: string;
  readonly name: string;
  readonly room: { readonly id: string; readonly name: string } | undefined;
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
  const issued = { id, name, secret };
  if (room === undefined) return { ...issued, roomName: undefined, moveFailure: undefined };
  try {
    await moveDevice({ locationId, deviceId: id }, { targetRoomId: room.id });
  } catch (error) {
    return { ...issued, roomName: undefined, moveFailure: failureOf(error) };
  }
  return { ...issued, roomName: room.name, moveFailure: undefined };
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
