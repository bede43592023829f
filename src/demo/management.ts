import { z } from 'zod';
import type { CareHome, HomeDevice } from './care-home.js';
import { DemoError } from './demo-error.js';

/** A device of the home with its credentials. */
export interface InstalledDevice extends HomeDevice {
  readonly id: string;
  readonly secret: string;
}

/** An access token as issued. */
export interface IssuedToken {
  readonly id: string;
  readonly token: string;
}

/** The home as set up in the gateway. */
export interface InstalledHome {
  readonly locationId: string;
  readonly name: string;
  readonly devices: readonly InstalledDevice[];
  /** The token of the nurse-call system, which may read this one location. */
  readonly nurseCallToken: IssuedToken;
}

const REQUEST_DEADLINE_MS = 10_000;

const createdLocation = z.object({ id: z.string() });
const createdDevice = z.object({ id: z.string(), secret: z.string() });
const issuedToken = z.object({ id: z.string(), token: z.string() });

/** Sets the home up over HTTP, as its administrator would. */
export async function installHome(
  httpUrl: string,
  adminToken: string,
  home: CareHome,
): Promise<InstalledHome> {
  const send = async (method: string, path: string, body: object): Promise<unknown> => {
    const response = await fetch(httpUrl + path, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new DemoError(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };

  const { name } = home;
  const { id: locationId } = createdLocation.parse(await send('POST', '/care-homes', { name }));
  const devices: InstalledDevice[] = [];
  for (const device of home.devices) {
    const path = `/care-homes/${locationId}/devices`;
    const credentials = createdDevice.parse(await send('POST', path, { name: device.name }));
    await send('PATCH', `${path}/${credentials.id}/custom-data`, device.customData);
    devices.push({ ...device, ...credentials });
  }
  const grants = [{ location: locationId, role: 'viewer' }];
  const token = await send('POST', '/access-tokens', { name: 'Nurse call', grants });
  return { locationId, name, devices, nurseCallToken: issuedToken.parse(token) };
}
