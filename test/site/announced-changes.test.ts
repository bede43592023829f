import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccessTokens } from '../../src/site/access/access-tokens.js';
import { GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { Devices } from '../../src/site/devices.js';
import { Groups } from '../../src/site/groups.js';
import { Locations } from '../../src/site/locations.js';
import { Rooms } from '../../src/site/rooms.js';
import { RedisServer } from '../former/servers/redis-server.js';
import { SiteWorld } from '../store/site-world.js';

const NO_USE = { note: () => undefined, lastUsedAtMs: () => null };
const MAX_CHANGES = 12;
const TOKEN = {
  name: 'board',
  expiresAtMs: null,
  grants: [{ location: '*' as const, role: 'viewer' as const }],
};

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.remove());

async function start() {
  const world = await SiteWorld.create(server);
  await world.changes.start();
  const { changes, model, location, device, placed } = world;
  return {
    world,
    locations: new Locations(changes, model),
    groups: new Groups(changes, model),
    rooms: new Rooms(changes, model),
    devices: new Devices(changes, model, () => 1),
    accessTokens: new AccessTokens(changes, model, 'the admin token', NO_USE, () => 1),
    loose: { locationId: location.id, deviceId: device.id },
    inRoom: { locationId: location.id, deviceId: placed.id },
  };
}

it('announces the old and new place of a device when its location changes, but not when its room does', async () => {
  const { world, locations, devices, loose, inRoom } = await start();
  const moves: unknown[] = [];
  world.events.on('deviceMoved', (move) => moves.push(move));
  await devices.moveToRoom(GATEWAY_ACTOR, loose, world.room.id);
  await devices.moveToLocation(GATEWAY_ACTOR, loose, world.location.id);
  expect(moves).toEqual([]);
  const target = await locations.create(GATEWAY_ACTOR, 'Haus Ahorn');
  await devices.moveToLocation(GATEWAY_ACTOR, inRoom, target.id);
  const after = { ...world.placed, locationId: target.id, roomId: null };
  expect(moves).toEqual([{ before: world.placed, after }]);
});

it('announces the end of a credential when a device gets a new secret or a token is deleted', async () => {
  const { world, devices, accessTokens, loose } = await start();
  const ended: string[] = [];
  world.events.on('credentialEnded', (principal) => ended.push(principal));
  const secret = await devices.replaceSecret(GATEWAY_ACTOR, loose);
  expect(ended).toEqual([`device:${loose.deviceId}`]);
  expect(devices.authenticate(loose.deviceId, Buffer.from(secret))?.id).toBe(loose.deviceId);
  await accessTokens.delete(GATEWAY_ACTOR, world.token.id);
  expect(ended).toEqual([`device:${loose.deviceId}`, `token:${world.token.id}`]);
});

it('tells every listener of a change, and makes it, even if one of them fails', async () => {
  const { world, accessTokens } = await start();
  const failure = new Error('no socket');
  const ended: string[] = [];
  world.events.on('credentialEnded', () => {
    throw failure;
  });
  world.events.on('credentialEnded', (principal) => ended.push(principal));
  await accessTokens.delete(GATEWAY_ACTOR, world.token.id);
  expect(ended).toEqual([`token:${world.token.id}`]);
  expect(world.failures).toEqual([failure]);
  expect(world.model.accessTokens()).toEqual([]);
});

function inOrder<Record extends { readonly order: number }>(records: readonly Record[]) {
  return records.toSorted((one, other) => one.order - other.order);
}

/** The site in the model and in the store, in the order of creation. */
async function held(world: SiteWorld) {
  const { model } = world;
  const locations = model.locations();
  const { records, findings } = await world.load();
  expect(findings).toEqual([]);
  return {
    modelled: {
      locations,
      devices: model.devices(),
      accessTokens: model.accessTokens(),
      groups: inOrder(locations.flatMap(({ id }) => model.groupsOf(id))),
      rooms: inOrder(locations.flatMap(({ id }) => model.roomsOf(id))),
    },
    stored: {
      locations: inOrder(records.locations),
      groups: inOrder(records.groups),
      rooms: inOrder(records.rooms),
      devices: inOrder(records.devices),
      accessTokens: inOrder(records.accessTokens),
    },
  };
}

it('keeps the same records in the model and in the store, field by field, after any changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 9 }), { maxLength: MAX_CHANGES }), async (chosen) => {
      const { world, locations, groups, rooms, devices, accessTokens, loose } = await start();
      const { location, group, room } = world;
      const [actor, locationId] = [GATEWAY_ACTOR, location.id];
      const roomKey = { locationId, roomId: room.id };
      const operations: readonly (() => Promise<unknown>)[] = [
        () => locations.rename(actor, locationId, 'Haus am Meer'),
        () => groups.create(actor, locationId, 'Süd'),
        () => groups.rename(actor, { locationId, groupId: group.id }, 'Ost'),
        () => rooms.create(actor, locationId, 'Bad', group.id),
        () => rooms.change(actor, roomKey, { groupId: null }),
        () => devices.create(actor, locationId, 'Bett 2'),
        () => devices.change(actor, loose, { name: 'Bett 3', limits: { alarmsPerDay: 10 } }),
        () => devices.moveToRoom(actor, loose, room.id),
        () => devices.setCustomData(actor, loose, '{"phone":4711}', 'merge'),
        () => accessTokens.create(actor, TOKEN),
      ];
      for (const index of chosen) await operations[index]?.();
      const { modelled, stored } = await held(world);
      expect(modelled).toEqual(stored);
    }),
    { numRuns: 30 },
  );
});
