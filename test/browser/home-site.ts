import { z } from 'zod';
import { Api, type TestDevice } from '../harness/api.js';
import type { RunningGateway } from '../harness/running-gateway.js';

const idSchema = z.object({ id: z.string() });

/** A home with two groups, four rooms (one in no group) and three devices (one in no room). */
export interface HomeSite {
  readonly api: Api;
  readonly locationId: string;
  readonly path: string;
  readonly groups: { readonly ground: string; readonly upper: string };
  readonly rooms: { readonly seven: string; readonly eight: string; readonly twelve: string };
  readonly bed: TestDevice;
  readonly mat: TestDevice;
  readonly loose: TestDevice;
}

/** Makes the home; each test has one of its own. */
export async function makeHomeSite(gateway: RunningGateway, name: string): Promise<HomeSite> {
  const api = new Api(gateway);
  const { id: locationId } = await api.createLocation(name);
  const path = `/care-homes/${locationId}`;
  const make = async (kind: string, body: object) =>
    idSchema.parse(await api.json('POST', `${path}/${kind}`, body)).id;
  const ground = await make('groups', { name: 'Ground floor' });
  const upper = await make('groups', { name: 'Upper floor' });
  const seven = await make('rooms', { name: 'Room 7', groupId: ground });
  const eight = await make('rooms', { name: 'Room 8', groupId: ground });
  const twelve = await make('rooms', { name: 'Room 12', groupId: upper });
  await make('rooms', { name: 'Lounge' });
  const bed = await api.createDevice(locationId, 'Fall sensor, bed 1');
  const mat = await api.createDevice(locationId, 'Bed mat');
  const loose = await api.createDevice(locationId, 'Spare sensor');
  await api.json('POST', `${path}/devices/${bed.id}/move`, { targetRoomId: seven });
  await api.json('POST', `${path}/devices/${mat.id}/move`, { targetRoomId: twelve });
  return {
    ...{ api, locationId, path, bed, mat, loose },
    groups: { ground, upper },
    rooms: { seven, eight, twelve },
  };
}

const deviceSchema = z.object({ name: z.string(), roomId: z.string().nullable() });
const roomSchema = z.object({ id: z.string(), name: z.string(), groupId: z.string().nullable() });

/** The devices of the home as the gateway has them. */
export async function devicesOf({ api, path }: HomeSite) {
  return z.array(deviceSchema).parse(await api.json('GET', `${path}/devices`));
}

/** The rooms of the home as the gateway has them. */
export async function roomsOf({ api, path }: HomeSite) {
  return z.array(roomSchema).parse(await api.json('GET', `${path}/rooms`));
}
