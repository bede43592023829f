/** What the console knows of the HTTP interface is true: the types of its client, and the paths. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import * as api from '../../src/console/api.js';
import type { Tagged } from '../../src/console/request.js';
import { allRoutes } from '../../src/http/app.js';
import type { Name } from '../../src/http/fields.js';
import type { AlarmDeliveries, AlarmStateChange } from '../../src/http/routes/alarm-states.js';
import type {
  AlarmPage,
  AlarmStates,
  AlarmsPage,
  LocationAlarm,
  LocationAlarmPage,
} from '../../src/http/routes/alarm-views.js';
import type {
  AlarmCounts,
  CountsQuery,
  DeviceQuery,
  PlacedQuery,
} from '../../src/http/routes/alarms.js';
import type { AuditPage, Query as AuditQuery } from '../../src/http/routes/audit.js';
import type {
  ConnectionPage,
  DeniedConnection,
  Sessions,
} from '../../src/http/routes/connections.js';
import type {
  CreatedDevice,
  DeviceChange,
  DeviceMove,
  DeviceSecret,
  DeviceView,
  NewDevice,
  NewTestAlarm,
  RejectedPublish,
  SilentDevice,
  TestAlarm,
} from '../../src/http/routes/devices.js';
import type { Drill } from '../../src/http/routes/drills.js';
import type { AdvisedFault, Findings } from '../../src/http/routes/operation.js';
import type {
  BridgeView,
  DeadLetterView,
  OutputView,
  SentAgain,
} from '../../src/http/routes/queues.js';
import type {
  GroupView,
  LocationView,
  NewRoom,
  RoomChange,
  RoomView,
} from '../../src/http/routes/site.js';
import type {
  AccessTokenChange,
  AccessTokenView,
  CurrentAccessToken,
  IssuedAccessToken,
  NewAccessToken,
} from '../../src/http/routes/tokens.js';
import type { HttpServices } from '../../src/http/services.js';

/** Without optional members: an optional one that does not exist would fit, too. */
type Whole<Type> = Type extends readonly (infer Item)[]
  ? Whole<Item>[]
  : Type extends object
    ? { [Key in keyof Type]-?: Whole<Exclude<Type[Key], undefined>> }
    : Type;

/** Whether every answer of the schema is what the console reads. */
type Reads<Answer, Schema extends z.ZodType> =
  z.output<Schema> extends Answer
    ? Whole<z.output<Schema>> extends Whole<Answer>
      ? true
      : 'reads a member that no answer has'
    : 'reads an answer as something else';

/** Whether the schema takes all that the console sends. */
type Sends<Sent, Schema extends z.ZodType> =
  Sent extends z.input<Schema> ? Asks<Sent, Schema> : 'sends something else';

/** Whether there is each parameter; all are texts, whatever the console makes them from. */
type Asks<Query, Schema extends z.ZodType> = Query extends unknown
  ? keyof Query extends keyof z.input<Schema>
    ? true
    : 'sends an unknown member'
  : never;

type Api = typeof api;
type Call = (...given: never[]) => Promise<unknown>;
type Answer<Of extends Call> = Awaited<ReturnType<Of>>;
type Body<Of extends Call> = NonNullable<Parameters<Of>[1]>;

/** What the gateway answers, to a list the schema of a row. */
type Answers = {
  listLocations: typeof LocationView;
  getLocation: typeof LocationView;
  createLocation: typeof LocationView;
  listGroups: typeof GroupView;
  createGroup: typeof GroupView;
  listRooms: typeof RoomView;
  createRoom: typeof RoomView;
  updateRoom: typeof RoomView;
  listDevices: typeof DeviceView;
  createDevice: typeof CreatedDevice;
  replaceDeviceSecret: typeof DeviceSecret;
  superviseDevice: typeof DeviceView;
  raiseTestAlarm: typeof TestAlarm;
  listSilentDevices: typeof SilentDevice;
  listRejectedPublishes: typeof RejectedPublish;
  listAlarms: typeof AlarmsPage;
  listLocationAlarms: typeof LocationAlarmPage;
  getAlarm: typeof LocationAlarm;
  listDeviceAlarms: typeof AlarmPage;
  countAlarms: typeof AlarmCounts;
  listAlarmDeliveries: typeof AlarmDeliveries;
  acknowledgeAlarm: typeof AlarmStates;
  resolveAlarm: typeof AlarmStates;
  beginDrill: typeof Drill;
  listDrills: typeof Drill;
  updateAccessToken: typeof AccessTokenView;
  replaceAccessTokenSecret: typeof IssuedAccessToken;
  getCurrentAccessToken: typeof CurrentAccessToken;
  listAccessTokens: typeof AccessTokenView;
  createAccessToken: typeof IssuedAccessToken;
  listAuditRecords: typeof AuditPage;
  listBridges: typeof BridgeView;
  listDeadLetters: typeof DeadLetterView;
  listOutputs: typeof OutputView;
  listOutputDeadLetters: typeof DeadLetterView;
  sendOutputDeadLettersAgain: typeof SentAgain;
  listConnections: typeof ConnectionPage;
  listDeniedConnections: typeof DeniedConnection;
  listSessions: typeof Sessions;
  listFaults: typeof AdvisedFault;
  examineGateway: typeof Findings;
};
type Read = {
  [Name in keyof Answers]: Reads<RowOf<Answer<Api[Name]>>, Answers[Name]>;
};
type RowOf<Answered> = Answered extends readonly (infer Row)[] ? Row : Answered;
/** Functions that answer nothing, or no JSON with a type. */
type Untyped = {
  // biome-ignore lint/suspicious/noConfusingVoidType: that is what they answer
  [Name in keyof Api]: Answer<Api[Name]> extends void | Tagged | Response ? Name : never;
}[keyof Api];

type Unread = Exclude<keyof Api, keyof Answers | Untyped>;

function hold<_Checks extends readonly true[] | Readonly<Record<string, true>>>(): void {
  // A check that does not hold does not compile.
}

hold<Read>();
hold<{ [Name in Unread]: 'has no schema here' }>();
hold<
  [
    Sends<Parameters<typeof api.createLocation>[0], typeof Name>,
    Sends<Body<typeof api.createGroup>, typeof Name>,
    Sends<Body<typeof api.createRoom>, typeof NewRoom>,
    Sends<Body<typeof api.createDevice>, typeof NewDevice>,
    Sends<Body<typeof api.renamePart>, typeof Name>,
    Sends<Body<typeof api.renamePart>, typeof RoomChange>,
    Sends<Body<typeof api.renamePart>, typeof DeviceChange>,
    Sends<Body<typeof api.updateRoom>, typeof RoomChange>,
    Sends<Body<typeof api.superviseDevice>, typeof DeviceChange>,
    Sends<Body<typeof api.moveDevice>, typeof DeviceMove>,
    Sends<Body<typeof api.raiseTestAlarm>, typeof NewTestAlarm>,
    Sends<Body<typeof api.acknowledgeAlarm>, typeof AlarmStateChange>,
    Sends<Body<typeof api.resolveAlarm>, typeof AlarmStateChange>,
    Sends<Parameters<typeof api.createAccessToken>[0], typeof NewAccessToken>,
    Sends<Body<typeof api.updateAccessToken>, typeof AccessTokenChange>,
  ]
>();

hold<
  [
    Asks<Parameters<typeof api.listAlarms>[0], typeof PlacedQuery>,
    Asks<Body<typeof api.listLocationAlarms>, typeof PlacedQuery>,
    Asks<Body<typeof api.exportAlarms>, typeof PlacedQuery>,
    Asks<Body<typeof api.listDeviceAlarms>, typeof DeviceQuery>,
    Asks<Body<typeof api.countAlarms>, typeof CountsQuery>,
    Asks<Parameters<typeof api.listAuditRecords>[0], typeof AuditQuery>,
  ]
>();

/** Replaces every part of a gateway: the routes are only looked at. */
const nothing: object = new Proxy(() => undefined, { get: () => nothing });
const ROUTES = allRoutes(z.custom<HttpServices>().parse(nothing));

/** The ids in a path, each by its own name. */
const IDS = Object.fromEntries(
  ['locationId', 'roomId', 'deviceId', 'alarmId', 'tokenId', 'name', 'code'].map((id) => [
    id,
    `{${id}}`,
  ]),
);
const PARTS = ['location', 'group', 'room', 'device'].map((kind) => {
  return { ...IDS, kind, id: `{${kind}Id}` };
});
/** Functions that stand for an operation of each part. */
const OF_PARTS = ['getPart', 'renamePart', 'deletePart'];
const CALLS = Object.entries(api).flatMap(([name, call]) =>
  (OF_PARTS.includes(name) ? PARTS : [IDS]).map((at) => ({ name, call, at })),
);

it.each(CALLS)('$name calls an operation that exists', async ({ name, call, at }) => {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (url: string, { method }: RequestInit) => {
    const [path = ''] = decodeURIComponent(url).split('?');
    asked.push(`${method?.toLowerCase()} ${path.replace('.', '')}`);
    return new Response(null, { status: 204 });
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  await Reflect.apply(call, undefined, [at, {}, {}]);
  const operations = Object.entries(ROUTES).filter(([, { method, path }]) =>
    asked.includes(`${method} ${path}`),
  );
  const ids = operations.map(([id]) => id);
  expect(ids, asked.join()).toHaveLength(1);
  if (name in ROUTES) expect(ids).toEqual([name]);
});
