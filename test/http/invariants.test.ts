import fc from 'fast-check';
import { expect, it } from 'vitest';
import { startGateway, type TestGateway, useRedis } from './harness.js';

const redis = useRedis();

/** Two locations with a group, two rooms and a device each: few, so that requests meet. */
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

/** The request with the ids of this world instead of their names. */
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

/** Asserts that nothing is in two places or a missing one, and that model and store agree (CONTRACT 2). */
async function check(gateway: TestGateway, world: World): Promise<void> {
  const { model } = gateway;
  const { records, findings } = await gateway.store.load();
  expect(findings).toEqual([]);
  const { locations, groups, rooms, devices } = records;
  const sorted = <T extends { readonly order: number }>(records: readonly T[]) =>
    records.toSorted((one, other) => one.order - other.order);
  expect(model.locations()).toEqual(sorted(locations));
  expect(model.devices()).toEqual(sorted(devices));
  for (const { id } of locations) {
    expect(model.groupsOf(id)).toEqual(sorted(groups.filter((one) => one.locationId === id)));
    expect(model.roomsOf(id)).toEqual(sorted(rooms.filter((one) => one.locationId === id)));
  }
  for (const id of world.groups) expect(model.group(id)).toEqual(groups.find((g) => g.id === id));
  for (const id of world.rooms) expect(model.room(id)).toEqual(rooms.find((r) => r.id === id));

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
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(requests, { minLength: 2, maxLength: 8 })),
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
          await check(gateway, world);
        }
        for (const id of gateway.model.devices()) {
          await gateway.admin('DELETE', `/care-homes/${id.locationId}/devices/${id.id}`);
        }
        for (const { id } of gateway.model.locations()) {
          expect((await gateway.admin('DELETE', `/care-homes/${id}`)).status).toBe(204);
        }
        await check(gateway, world);
        // Only the audit trail and the number of changes outlive the resources.
        const lasting = /:(log:audit|sequence:(audit|site))$/;
        const left = (await gateway.keys()).filter((key) => !lasting.test(key));
        expect(left).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
}, 120_000);
