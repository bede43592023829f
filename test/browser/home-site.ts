import { z } from 'zod';
import type { Api, TestDevice } from '../former/clients/api.js';
import type { RunningGateway } from '../former/gateway/running-gateway.js';
import { Home } from '../former/home.js';

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

/** Creates the home; each test has its own. */
export async function makeHomeSite(gateway: RunningGateway, name: string): Promise<HomeSite> {
  const home = await Home.at(gateway, name);
  const { api, locationId, path } = home;
  const ground = await home.group('Ground floor');
  const upper = await home.group('Upper floor');
  const seven = await home.room('Room 7', ground);
  const eight = await home.room('Room 8', ground);
  const twelve = await home.room('Room 12', upper);
  await home.room('Lounge');
  const bed = await home.deviceIn(seven, 'Fall sensor, bed 1');
  const mat = await home.deviceIn(twelve, 'Bed mat');
  const loose = await home.device('Spare sensor');
  return {
    api,
    locationId,
    path,
    bed,
    mat,
    loose,
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
