import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { startGateway, type TestGateway } from '../harness.js';

const redis = useRedis();

/** Two locations with a group, two rooms and a device each: few, so that requests collide. */
interface World {
  readonly locations: readonly string[];
  readonly groups: readonly string[];
  readonly rooms: readonly string[];
  readonly devices: readonly string[];
}

async function populate(gateway: TestGateway): Promise<World> {
  const locations = [await gateway.createLocation(), await gateway.createLocation()];
  const [groups, rooms, devices]: [string[], string[], string[]] = [[], [], []];
  for (const location of locations) {
    const group = await gateway.createGroup(location);
    groups.push(group, await gateway.createGroup(location));
    rooms.push(await gateway.createRoom(location, group), await gateway.createRoom(location));
    devices.push(await gateway.createDevice(location));
  }
  return { locations, groups, rooms, devices };
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly json?: object;
}

const location = fc.constantFrom('L0', 'L1');
const group = fc.constantFrom('G0', 'G1', 'G2', 'G3');
const room = fc.constantFrom('R0', 'R1', 'R2', 'R3');
const device = fc.constantFrom('D0', 'D1');
const groupOrNone = fc.option(group);
const roomOrNone = fc.option(room);

const requests: fc.Arbitrary<Request> = fc.oneof(
  location.map((l) => ({ method: 'DELETE', path: `/care-homes/${l}` })),
  fc.tuple(location, fc.oneof(group, room, device)).map(([l, id]) => ({
    method: 'DELETE',
    path: `/care-homes/${l}/${{ G: 'groups', R: 'rooms' }[id.slice(0, 1)] ?? 'devices'}/${id}`,
  })),
  fc.tuple(location, fc.constantFrom('groups', 'rooms', 'devices')).map(([l, kind]) => ({
    method: 'POST',
    path: `/care-homes/${l}/${kind}`,
    json: { name: 'new' },
  })),
  fc.tuple(location, group).map(([l, groupId]) => ({
    method: 'POST',
    path: `/care-homes/${l}/rooms`,
    json: { name: 'new', groupId },
  })),
  fc.tuple(location, room, groupOrNone).map(([l, r, groupId]) => ({
    method: 'PATCH',
    path: `/care-homes/${l}/rooms/${r}`,
    json: { groupId },
  })),
  fc.tuple(location, group, room, group).map(([l, g, r, targetGroupId]) => ({
    method: 'POST',
    path: `/care-homes/${l}/groups/${g}/rooms/${r}/move`,
    json: { targetGroupId },
  })),
  fc.tuple(location, device, roomOrNone).map(([l, d, targetRoomId]) => ({
    method: 'POST',
    path: `/care-homes/${l}/devices/${d}/move`,
    json: { targetRoomId },
  })),
  fc.tuple(location, device, location).map(([l, d, targetLocationId]) => ({
    method: 'POST',
    path: `/care-homes/${l}/devices/${d}/move`,
    json: { targetLocationId },
  })),
);

/** Ids in the order of creation. */
function inOrder(stored: readonly { readonly id: string; readonly order: number }[]): string[] {
  return stored.toSorted((one, other) => one.order - other.order).map(({ id }) => id);
}

/** The request with the ids of this world instead of the names. */
function inWorld(request: Request, world: World): Request {
  const ids = { L: world.locations, G: world.groups, R: world.rooms, D: world.devices };
  const text = JSON.stringify(request).replaceAll(
    /\b([LGRD])([0-3])\b/g,
    (name, kind: keyof typeof ids, index: string) => ids[kind][Number(index)] ?? name,
  );
  return JSON.parse(text);
}

/** Whether the request moves a device to the location that it is in. */
function staysWhereItIs({ path, json }: Request): boolean {
  const target: unknown = json === undefined ? undefined : Reflect.get(json, 'targetLocationId');
  return path.split('/')[2] === target;
}

const homeList = z.array(z.looseObject({ id: z.string(), devices: z.array(z.string()) }));
const idList = z.array(z.looseObject({ id: z.string() }));

/** Asserts that nothing is in two places or a missing place, and that answers and store agree (contract.md, 2). */
async function check(gateway: TestGateway): Promise<void> {
  const { findings, locations, groups, rooms, devices } = await gateway.stored();
  expect(findings).toEqual([]);
  /** The ids of the resources in the location, in the order of creation. */
  const idsIn = (
    locationId: string,
    stored: readonly { id: string; locationId: string; order: number }[],
  ) => inOrder(stored.filter((one) => one.locationId === locationId));
  const homes = homeList.parse((await gateway.admin('GET', '/care-homes')).json);
  expect(homes.map(({ id }) => id)).toEqual(inOrder(locations));
  for (const { id, devices: shown } of homes) {
    expect(shown).toEqual(idsIn(id, devices));
    const listed = async (kind: string) =>
      (await gateway.admin('GET', `/care-homes/${id}/${kind}`)).json;
    expect(idList.parse(await listed('groups')).map((one) => one.id)).toEqual(idsIn(id, groups));
    const placed = rooms.filter(({ locationId }) => locationId === id);
    expect(await listed('rooms')).toMatchObject(
      idsIn(id, rooms).map((roomId) => ({
        id: roomId,
        groupId: placed.find((room) => room.id === roomId)?.groupId,
        devices: inOrder(devices.filter((device) => device.roomId === roomId)),
      })),
    );
    expect(await listed('devices')).toMatchObject(
      idsIn(id, devices).map((deviceId) => ({
        id: deviceId,
        locationId: id,
        roomId: devices.find((device) => device.id === deviceId)?.roomId,
      })),
    );
  }

  const locationIds = locations.map(({ id }) => id);
  for (const { locationId } of [...groups, ...rooms, ...devices]) {
    expect(locationIds).toContain(locationId);
  }
  for (const { locationId, groupId } of rooms) {
    if (groupId === null) continue;
    expect(groups.find(({ id }) => id === groupId)?.locationId).toBe(locationId);
  }
  for (const { locationId, roomId } of devices) {
    if (roomId === null) continue;
    expect(rooms.find(({ id }) => id === roomId)?.locationId).toBe(locationId);
  }
}

it('leaves nothing in two places, or in none, whatever the interleaving of requests', async () => {
  const gateway = await startGateway(redis);
  const before = await gateway.keys();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(requests, { minLength: 2, maxLength: 8 }), { maxLength: 6 }),
      async (rounds) => {
        const world = await populate(gateway);
        for (const round of rounds) {
          const requested = round.map((request) => inWorld(request, world));
          const recordsBefore = await gateway.recordCount();
          const statuses = await Promise.all(
            requested.map(async ({ method, path, json }) => {
              return (await gateway.admin(method, path, { json })).status;
            }),
          );
          for (const status of statuses) expect([200, 201, 204, 404, 409]).toContain(status);
          const changes = requested.filter(
            (request, index) => (statuses[index] ?? 0) < 300 && !staysWhereItIs(request),
          );
          expect((await gateway.recordCount()) - recordsBefore).toBe(changes.length);
          await check(gateway);
        }
        const { devices, locations } = await gateway.stored();
        for (const { id, locationId } of devices) {
          await gateway.admin('DELETE', `/care-homes/${locationId}/devices/${id}`);
        }
        for (const { id } of locations) {
          expect((await gateway.admin('DELETE', `/care-homes/${id}`)).status).toBe(204);
        }
        await check(gateway);
        // The gateway's own clock and counters, and the audit trail, outlive the resources.
        const lasting = /:(audit:changes|sequence:(audit|site)|counted-up-to|clock)$/;
        const left = (await gateway.keys()).filter((key) => !lasting.test(key));
        expect(left.filter((key) => !before.includes(key))).toEqual([]);
      },
    ),
    { numRuns: 10 },
  );
});
