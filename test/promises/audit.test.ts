/**
 * The audit trail (contract 2): each change leaves one record, by one row for each route. A new route that changes
 * something and has no row fails.
 */
import { randomUUID } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Answer,
  createToken,
  expect,
  type Gateway,
  Home,
  NO_LIMITS,
  testWith,
} from '../harness/index.js';
import { fill, neededQuery, protectedRoutesOf } from './routes.js';

const WEBHOOK = { type: 'webhook', url: 'http://127.0.0.1:1/', secret: 'x', topics: ['x'] };
const OUTPUTS = [{ name: 'region', ...WEBHOOK }];
const test = testWith({ config: { outputs: OUTPUTS }, env: NO_LIMITS, isHurried: true });

const LATER = '2100-01-01T00:00:00.000Z';
const VIEWER = [{ location: '*', role: 'viewer' }];
const HOME = '/care-homes/:locationId';
const [GROUP, ROOM] = [`${HOME}/groups/:groupId`, `${HOME}/rooms/:roomId`];
const [DEVICE, ALARM] = [`${HOME}/devices/:deviceId`, `${HOME}/alarms/:alarmId`];
const TOKEN = '/access-tokens/:tokenId';
const [NEW, OLD, RENAMED] = [
  { name: 'Neu' },
  { name: 'Alt' },
  { name: 'Neu', previousName: 'Alt' },
];
const [IN_GROUP, OF_DEVICE] = [{ groupId: '{groupId}' }, { deviceId: '{deviceId}' }];
const PRIVATE = { note: 'Frau Krause is well' };

/** What a route leaves: `{name}` and a resource's name stand for an id of `siteOf`, `created` for that in the answer. */
type Change = readonly [
  route: string,
  json: object | undefined,
  action: string,
  resource: string,
  details: object,
  more?: {
    /** Names for the path, where they are not the parameters' own. */
    readonly of?: Readonly<Record<string, string>>;
    /** Makes the change possible. Resolves to further names. */
    readonly after?: (gateway: Gateway, ids: Ids) => Promise<object>;
    readonly location?: string;
  },
];

const CHANGES: readonly Change[] = [
  [
    'POST /care-homes',
    { name: ' Neu ' },
    'location.created',
    'created',
    NEW,
    { location: 'created' },
  ],
  [`PATCH ${HOME}`, NEW, 'location.changed', 'locationId', RENAMED],
  [
    `DELETE ${HOME}`,
    undefined,
    'location.deleted',
    'otherLocationId',
    {
      groups: '[{"id":"{goneGroupId}","name":"Alt"}]',
      rooms: '[{"id":"{goneRoomId}","name":"Alt"}]',
      ...OLD,
    },
    { of: { locationId: 'otherLocationId' } },
  ],
  [`POST ${HOME}/groups`, NEW, 'group.created', 'created', NEW],
  [`PATCH ${GROUP}`, NEW, 'group.changed', 'groupId', RENAMED],
  [
    `DELETE ${GROUP}`,
    undefined,
    'group.deleted',
    'otherGroupId',
    OLD,
    { of: { groupId: 'otherGroupId' } },
  ],
  [
    `POST ${GROUP}/rooms/:roomId/move`,
    { targetGroupId: '{otherGroupId}' },
    'room.moved',
    'roomId',
    { groupId: '{otherGroupId}', previousGroupId: '{groupId}' },
  ],
  [
    `POST ${HOME}/rooms`,
    { ...NEW, ...IN_GROUP },
    'room.created',
    'created',
    { ...NEW, ...IN_GROUP },
  ],
  [`PATCH ${ROOM}`, NEW, 'room.changed', 'roomId', RENAMED],
  [
    `PATCH ${ROOM}`,
    { groupId: null },
    'room.changed',
    'roomId',
    { groupId: null, previousGroupId: '{groupId}' },
  ],
  [
    `DELETE ${ROOM}`,
    undefined,
    'room.deleted',
    'emptyRoomId',
    { ...OLD, ...IN_GROUP },
    { of: { roomId: 'emptyRoomId' } },
  ],
  [`POST ${HOME}/devices`, NEW, 'device.created', 'created', NEW],
  [`PATCH ${DEVICE}`, NEW, 'device.changed', 'deviceId', RENAMED],
  [`DELETE ${DEVICE}`, undefined, 'device.deleted', 'deviceId', { ...OLD, roomId: '{roomId}' }],
  [`POST ${DEVICE}/secret`, undefined, 'device.secret-replaced', 'deviceId', {}],
  [
    `DELETE ${DEVICE}/alarms`,
    undefined,
    'alarms.erased',
    'deviceId',
    { before: '2026-01-01T00:00:00.000Z' },
  ],
  [`POST ${DEVICE}/test-alarm`, { kind: 'fall' }, 'alarm.tested', 'deviceId', { kind: 'fall' }],
  [
    `POST ${DEVICE}/move`,
    { targetRoomId: '{emptyRoomId}' },
    'device.moved',
    'deviceId',
    { roomId: '{emptyRoomId}', previousRoomId: '{roomId}' },
  ],
  [
    `POST ${DEVICE}/move`,
    { targetLocationId: '{otherLocationId}' },
    'device.moved',
    'deviceId',
    {
      locationId: '{otherLocationId}',
      previousLocationId: '{locationId}',
      roomId: null,
      previousRoomId: '{roomId}',
    },
  ],
  [`PATCH ${DEVICE}/custom-data`, PRIVATE, 'custom-data.changed', 'deviceId', { mode: 'replace' }],
  [`POST ${HOME}/drills`, undefined, 'alarm.tested', 'deviceId', { kind: 'helpCall' }],
  [`POST ${ALARM}/acknowledge`, PRIVATE, 'alarm.acknowledged', 'alarmId', OF_DEVICE],
  [`POST ${ALARM}/resolve`, undefined, 'alarm.resolved', 'alarmId', OF_DEVICE],
  [
    'POST /access-tokens',
    { ...NEW, grants: VIEWER, expiresAt: LATER },
    'access-token.created',
    'created',
    { ...NEW, grants: VIEWER, expiresAt: LATER },
  ],
  [
    `PATCH ${TOKEN}`,
    { ...NEW, expiresAt: LATER },
    'access-token.changed',
    'tokenId',
    { ...RENAMED, expiresAt: LATER, previousExpiresAt: null },
  ],
  [`POST ${TOKEN}/secret`, undefined, 'access-token.secret-replaced', 'tokenId', OLD],
  [`DELETE ${TOKEN}`, undefined, 'access-token.deleted', 'tokenId', { ...OLD, grants: VIEWER }],
  ['DELETE /bridges/:name', undefined, 'bridge.deleted', 'name', {}, { after: removeABridge }],
  ['POST /outputs/:name/dead-letters/send-again', undefined, 'output.sent-again', 'name', {}],
  [
    'POST /faults/:code/acknowledge',
    undefined,
    'fault.acknowledged',
    'code',
    { message: '{fault}' },
    { after: loseAnAlarm },
  ],
];

/** Two locations, the first with a device in a room of a group, and what the rows name. */
async function siteOf(home: Home, other: Home) {
  const groupId = await home.group('Alt');
  const roomId = await home.room('Alt', groupId);
  const device = await home.deviceIn(roomId, 'Alt');
  const goneGroupId = await other.group('Alt');
  const alarmId = randomUUID();
  await home.publish(device, 'alarms', JSON.stringify({ kind: 'fall', id: alarmId }));
  const { id: tokenId } = await createToken(home.gateway, VIEWER, 'Alt');
  return {
    locationId: home.locationId,
    otherLocationId: other.locationId,
    deviceId: device.id,
    groupId,
    roomId,
    alarmId,
    tokenId,
    emptyRoomId: await home.room('Alt', groupId),
    otherGroupId: await home.group('Alt'),
    goneGroupId,
    goneRoomId: await other.room('Alt', goneGroupId),
    code: 'store-lost-data',
    name: 'region',
    device,
  };
}
type Ids = Awaited<ReturnType<typeof siteOf>>;

async function removeABridge(gateway: Gateway): Promise<object> {
  for (const bridges of [[{ name: 'region', url: 'mqtt://127.0.0.1:1' }], []]) {
    await gateway.configure({ outputs: OUTPUTS, bridges });
    await gateway.reload();
  }
  return {};
}

/** Puts the store of before an alarm in the place of the present one. */
async function loseAnAlarm(gateway: Gateway, { device }: Ids): Promise<object> {
  const [store, earlier] = [join(gateway.dataDir, 'redis'), join(gateway.dataDir, 'earlier')];
  await gateway.stop();
  await cp(store, earlier, { recursive: true });
  await gateway.start();
  const home = await Home.at(gateway);
  await home.publish(device, 'alarms', '{"kind":"fall"}');
  await gateway.stop();
  await rm(store, { recursive: true });
  await cp(earlier, store, { recursive: true });
  await gateway.start();
  const [fault] = (await home.faults()).filter((text) => text.includes('lost'));
  return { fault };
}

/** The records that match, oldest first. */
async function recordsOf(home: Home, query: string) {
  return (await home.must('GET', `/audit?order=asc&limit=100&${query}`)).list('events');
}

/** The secrets in an answer, which are shown only once. */
function secretsIn(answer: Answer): string[] {
  if (!answer.text.startsWith('{')) return [];
  return [answer.at('secret'), answer.at('token')].filter((one) => typeof one === 'string');
}

const CHANGING = protectedRoutesOf().flatMap(({ method, path }) => {
  const rows = CHANGES.filter(([route]) => route === `${method} ${path}`);
  return method === 'GET' ? [] : [{ method, path, rows }];
});

test.for(CHANGING)(
  '$method $path leaves one record',
  async ({ method, path, rows }, { home, gateway, own }) => {
    expect(rows, `What does ${method} ${path} leave?`).not.toEqual([]);
    for (const [, json, action, resource, details, { of = {}, after, location } = {}] of rows) {
      const ids = await siteOf(await own.homeAt(gateway, 'Alt'), await own.homeAt(gateway, 'Alt'));
      const further: Record<string, unknown> = {};
      const idOf = (name: string): string => Object({ ...ids, ...further })[name];
      const filled = (value: object): unknown =>
        JSON.parse(JSON.stringify(value).replaceAll(/\{(\w+)\}/g, (_, name) => idOf(name)));
      const actor = await createToken(gateway, [{ location: '*', role: 'admin' }], 'Anna');
      Object.assign(further, await after?.(gateway, ids));
      const named = Object.entries(of).map(([parameter, name]) => [parameter, idOf(name)]);
      const target = fill(path, { ...ids, ...Object.fromEntries(named) });
      const body = json === undefined ? {} : { json: filled(json) };
      const begunMs = gateway.clock.now();
      const url = target + neededQuery({ method, path });
      const answer = await home.must(method, url, { token: actor.token, ...body });
      const records = await recordsOf(home, `actor=${actor.id}`);
      const { id: _, at, locationName: _l, resourceName: _r, ...record } = records[0] ?? {};
      const resourceId = resource === 'created' ? answer.id : idOf(resource);
      expect([records.length, record]).toEqual([
        1,
        {
          action,
          actor: {
            type: 'access-token',
            id: actor.id,
            name: 'Anna',
            address: '127.0.0.1',
            requestId: answer.headers['x-request-id'],
          },
          locationId:
            location === 'created'
              ? resourceId
              : (/^\/care-homes\/([^/]+)/.exec(target)?.[1] ?? null),
          resourceId,
          details: filled(details),
        },
      ]);
      expect(Date.parse(String(at))).toBeGreaterThanOrEqual(begunMs);
      expect(Date.parse(String(at))).toBeLessThanOrEqual(gateway.clock.now());
      for (const secret of ['Krause', ...secretsIn(answer)]) {
        expect(JSON.stringify(records)).not.toContain(secret);
      }
    }
  },
);

test('a request that fails or changes nothing leaves no record', async ({ home, gateway, own }) => {
  const ids = await siteOf(home, await own.homeAt(gateway));
  const { deviceId, groupId, roomId, locationId } = ids;
  const { id: actor, token } = await home.token([{ location: '*', role: 'admin' }]);
  const missing = randomUUID();
  const failing: readonly (readonly [string, string, object | undefined, number])[] = [
    ['DELETE', home.path, undefined, 409],
    ['DELETE', `./rooms/${roomId}`, undefined, 409],
    ['DELETE', `./groups/${groupId}`, undefined, 409],
    ['POST', './devices', { name: 'twice', id: deviceId }, 409],
    ['POST', './rooms', { name: 'r', groupId: missing }, 404],
    ['POST', `./devices/${deviceId}/move`, { targetRoomId: missing }, 404],
    ['POST', `./devices/${deviceId}/move`, { targetLocationId: locationId }, 204],
    ['PATCH', home.path, { name: '' }, 400],
    ['DELETE', `/access-tokens/${missing}`, undefined, 404],
    ['POST', '/faults/store-full/acknowledge', undefined, 404],
  ];
  for (const [method, path, json, status] of failing) {
    const answer = await home.ask(method, path, { token, ...(json !== undefined && { json }) });
    expect([method, path, answer.status]).toEqual([method, path, status]);
  }
  expect(await recordsOf(home, `actor=${actor}`)).toEqual([]);
});

test('concurrent changes are recorded in the order in which they were made', async ({ home }) => {
  const names = Array.from({ length: 20 }, (_, index) => String(index));
  await Promise.all(names.map((name) => home.must('PATCH', home.path, { json: { name } })));
  const records = await recordsOf(home, `resource=${home.locationId}&actions=location.changed`);
  let current: unknown = home.name;
  for (const { details } of records) {
    expect(Object(details).previousName).toBe(current);
    current = Object(details).name;
  }
  expect(records).toHaveLength(20);
});
