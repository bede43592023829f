/**
 * The HTTP interface as the console uses it: the members of the answers that it reads, and a function for each
 * operation that it calls, by the name of the operation.
 *
 * A test holds types and paths against the routes of the gateway.
 */

import type { Kind } from './kinds.js';
import { ANY_TAG, call, callTagged, type RequestOptions, send, type Tagged } from './request.js';
import type { Grant } from './session.js';

export type { Grant };
export type Named = { id: string; name: string };
type Page<Row> = { events: Row[]; nextCursor: string | null };

// Homes

export type Location = Named & { devices: string[] };
export type Group = Named & { rooms: string[] };
export type Room = Named & { groupId: string | null; devices: string[] };
export type Device = Named & {
  locationId: string;
  roomId: string | null;
  online: boolean;
  lastSeenAt: string | null;
  /** The hub through which it was last heard. */
  via?: Named;
  createdAt: string;
  /** A time of its own after which it is silent. */
  supervision?: { silentAfterSeconds: number };
};
export type SilentDevice = { device: Named; room: Named | null };
export type RejectedPublish = {
  deviceId: string;
  reason: string;
  topic: string;
  base64: string;
  receivedAt: string;
};

type InHome = { locationId: string };
type OfDevice = InHome & { deviceId: string };
/** A home, or something in it that has a name and an entity tag. */
export type Part = InHome & { kind: 'location' | 'group' | 'room' | 'device'; id: string };

const home = ({ locationId }: InHome) => `care-homes/${encodeURIComponent(locationId)}`;
const part = ({ kind, id, ...at }: Part) =>
  kind === 'location' ? home(at) : `${home(at)}/${kind}s/${encodeURIComponent(id)}`;
const device = ({ deviceId, ...at }: OfDevice) => part({ kind: 'device', id: deviceId, ...at });
const json = (body: object) => ({ body: JSON.stringify(body) });

export const listLocations = (options?: RequestOptions) =>
  call<Location[]>('GET', 'care-homes', options);
export const getLocation = (at: InHome) => call<Location>('GET', home(at));
export const listGroups = (at: InHome) => call<Group[]>('GET', `${home(at)}/groups`);
export const listRooms = (at: InHome) => call<Room[]>('GET', `${home(at)}/rooms`);
export const listDevices = (at: InHome) => call<Device[]>('GET', `${home(at)}/devices`);
export const getPart = (at: Part) => callTagged('GET', part(at));

export const createLocation = (body: { name: string }) =>
  call<Location>('POST', 'care-homes', json(body));
export const createGroup = (at: InHome, body: { name: string }) =>
  call<Group>('POST', `${home(at)}/groups`, json(body));
export const createRoom = (at: InHome, body: { name: string; groupId: string | null }) =>
  call<Room>('POST', `${home(at)}/rooms`, json(body));
export const createDevice = (at: InHome, body: { name: string; id?: string }) =>
  call<Device & { secret: string }>('POST', `${home(at)}/devices`, json(body));

export const renamePart = (at: Part, body: { name: string }, ifMatch: string) =>
  callTagged('PATCH', part(at), { ...json(body), ifMatch });
export const deletePart = (at: Part, ifMatch: string) => call('DELETE', part(at), { ifMatch });
export const updateRoom = (
  { roomId: id, ...at }: InHome & { roomId: string },
  body: { name?: string; groupId: string | null },
  ifMatch: string = ANY_TAG,
) => call<Room>('PATCH', part({ kind: 'room', id, ...at }), { ...json(body), ifMatch });
export const superviseDevice = (
  { deviceId: id, ...at }: OfDevice,
  body: { supervision: { silentAfterSeconds: number | null } },
) => call<Device>('PATCH', part({ kind: 'device', id, ...at }), json(body));
export const moveDevice = (
  at: OfDevice,
  body: { targetLocationId: string } | { targetRoomId: string | null },
  ifMatch: string = ANY_TAG,
) => call('POST', `${device(at)}/move`, { ...json(body), ifMatch });
export const replaceDeviceSecret = (at: OfDevice) =>
  call<{ secret: string }>('POST', `${device(at)}/secret`, json({}));

/** Custom data as text: the digits and the order are those that someone wrote. */
export const getCustomData = (at: OfDevice): Promise<Tagged> =>
  callTagged('GET', `${device(at)}/custom-data`);
export const setCustomData = (at: OfDevice, body: string, ifMatch: string): Promise<Tagged> =>
  callTagged('PATCH', `${device(at)}/custom-data`, { body, ifMatch });

export const raiseTestAlarm = (at: OfDevice, body: { kind: Kind }) =>
  call<{ id: string }>('POST', `${device(at)}/test-alarm`, json(body));
export const listSilentDevices = (at: InHome) =>
  call<SilentDevice[]>('GET', `${home(at)}/supervision`);
export const listRejectedPublishes = (at: InHome) =>
  call<RejectedPublish[]>('GET', `${home(at)}/rejected`);

// Alarms

export type AlarmState = 'raised' | 'acknowledged' | 'resolved';
/** Who took which step, and when. */
export type AlarmStates = {
  id: string;
  state: AlarmState;
  acknowledgedBy?: Named;
  acknowledgedAt?: string;
  resolvedBy?: Named;
  resolvedAt?: string;
  /** The newest note. */
  note?: string;
};
type Media = 'video' | 'audio';
export type Alarm = AlarmStates & {
  detectedAt: string;
  receivedAt: string;
  kind: Kind;
  /** The recordings that exist, as a list of media or as signed URLs that are valid for ten minutes. */
  footage: Media[] | Record<Media, string | null>;
  deviceId: string;
  device: Named;
  room: Named | null;
  group: Named | null;
  data: unknown;
  base64?: string;
  test?: true;
  customData: Record<string, unknown>;
};
export type Destination = Named & { type: 'session' | 'bridge' | 'webhook' };
export type AlarmDeliveries = {
  deliveries: {
    destination: Destination;
    state: 'queued' | 'delivered' | 'expired' | 'dropped';
    at: string;
  }[];
};
export type AlarmCounts = { buckets: { start: string; counts: Partial<Record<Kind, number>> }[] };
export type Drill = {
  id: string;
  at: string;
  /** Null: the schedule. */
  by: Named | null;
  state: 'running' | 'passed' | 'failed';
  destinations: { destination: Destination; acknowledgedAfterMs: number | null }[];
  silent: Named[];
};

type OfAlarm = InHome & { alarmId: string };
/** Devices choose the ids of their alarms: another's may be the same. */
type WithDevice = { device: string };
/** Which alarms are counted. */
export type CountQuery = {
  before?: string;
  after?: string;
  kinds?: readonly Kind[];
  state?: readonly AlarmState[];
  device?: readonly string[];
  room?: readonly string[];
  group?: readonly string[];
  test?: 'false';
};
/** Which alarms are listed, and how. */
export type AlarmQuery = CountQuery & {
  order?: 'desc';
  limit?: number;
  cursor?: string;
  footage?: 'list';
  /** Of CSV. */
  separator?: ',' | ';';
  timeZone?: string;
};

const alarms = (at: InHome | undefined) => (at === undefined ? 'alarms' : `${home(at)}/alarms`);
const alarm = ({ alarmId, ...at }: OfAlarm) => `${alarms(at)}/${encodeURIComponent(alarmId)}`;

export const listAlarms = (query: AlarmQuery, options?: RequestOptions) =>
  call<Page<Alarm & { location: Named }>>('GET', alarms(undefined), { query, ...options });
export const listLocationAlarms = (at: InHome, query: AlarmQuery, options?: RequestOptions) =>
  call<Page<Alarm>>('GET', alarms(at), { query, ...options });
/** All alarms as CSV, however long it takes; undefined: those of all homes. */
export const exportAlarms = (at: InHome | undefined, query: AlarmQuery, options: RequestOptions) =>
  send('GET', alarms(at), { query, accept: 'text/csv', mayTakeLong: true, ...options });
export const listDeviceAlarms = (at: OfDevice, query: { limit: number }) =>
  call<Page<Pick<Alarm, 'id' | 'kind' | 'detectedAt'>>>('GET', `${device(at)}/alarms`, { query });
export const countAlarms = (
  at: InHome,
  query: CountQuery & { by: 'hour' | 'day'; timeZone: string },
) => call<AlarmCounts>('GET', `${home(at)}/alarm-counts`, { query });
export const getAlarm = (at: OfAlarm, query: WithDevice & { footage?: 'list' }) =>
  call<Alarm>('GET', alarm(at), { query });
export const listAlarmDeliveries = (at: OfAlarm, query: WithDevice) =>
  call<AlarmDeliveries>('GET', `${alarm(at)}/deliveries`, { query });
export const acknowledgeAlarm = (
  { device, ...at }: OfAlarm & WithDevice,
  body: { note?: string },
  options?: RequestOptions,
) =>
  call<AlarmStates>('POST', `${alarm(at)}/acknowledge`, {
    query: { device },
    ...json(body),
    ...options,
  });
export const resolveAlarm = (
  { device, ...at }: OfAlarm & WithDevice,
  body: { note?: string },
  options?: RequestOptions,
) =>
  call<AlarmStates>('POST', `${alarm(at)}/resolve`, {
    query: { device },
    ...json(body),
    ...options,
  });
export const beginDrill = (at: InHome) => call<Drill>('POST', `${home(at)}/drills`, json({}));
export const listDrills = (at: InHome) => call<Drill[]>('GET', `${home(at)}/drills`);

// Access tokens and the audit trail

export type CurrentAccessToken = Named & { grants: Grant[] };
export type AccessToken = CurrentAccessToken & {
  createdAt: string;
  expiresAt: string | null;
  /** Null: never. */
  lastUsedAt: string | null;
  /** Outside of which it does not exist. */
  networks?: string[];
};
export type IssuedAccessToken = AccessToken & { token: string };
export type NewAccessToken = {
  name: string;
  grants: Grant[];
  expiresAt?: string | null;
  networks?: string[] | null;
};
export type AuditEvent = {
  id: string;
  at: string;
  action: string;
  actor: {
    type: 'access-token' | 'device' | 'gateway' | 'anonymous';
    id: string | null;
    /** The present name; null where it is gone, or has none. */
    name: string | null;
    address: string | null;
    requestId: string | null;
  };
  locationId: string | null;
  locationName: string | null;
  resourceId: string | null;
  resourceName: string | null;
  details: Record<string, string | null | Grant[] | string[]>;
};
export type AuditQuery = {
  order: 'asc' | 'desc';
  limit: number;
  actions?: readonly string[];
  location?: string;
  actor?: string;
  resource?: string;
  after?: string;
  before?: string;
  cursor?: string;
};

export const getCurrentAccessToken = () => call<CurrentAccessToken>('GET', 'access-tokens/current');
export const listAccessTokens = () => call<AccessToken[]>('GET', 'access-tokens');
export const createAccessToken = (body: NewAccessToken) =>
  call<IssuedAccessToken>('POST', 'access-tokens', json(body));
export const updateAccessToken = (
  { tokenId }: { tokenId: string },
  body: Partial<NewAccessToken>,
) => call<AccessToken>('PATCH', `access-tokens/${encodeURIComponent(tokenId)}`, json(body));
/** Renews the secret: the one before ends at once. */
export const replaceAccessTokenSecret = ({ tokenId }: { tokenId: string }) =>
  call<{ token: string }>('POST', `access-tokens/${encodeURIComponent(tokenId)}/secret`, json({}));
export const deleteAccessToken = ({ tokenId }: { tokenId: string }) =>
  call('DELETE', `access-tokens/${encodeURIComponent(tokenId)}`);
export const listAuditRecords = (query: AuditQuery) =>
  call<Page<AuditEvent>>('GET', 'audit', { query });

// Bridges and webhooks

type Queue = {
  name: string;
  state: 'delivering' | 'failing' | 'refusing';
  queued: number;
  oldestQueuedAt: string | null;
  delivered: number;
  dropped: Record<'tooOld' | 'tooMany' | 'refused' | 'lost', number>;
};
export type Bridge = Queue & {
  /** Null while the bridge is missing from the configuration. */
  url: string | null;
  connected: boolean;
  connectedSince: string | null;
  lastAcknowledgedAt: string | null;
  lastError: { at: string; kind: string; detail: string } | null;
};
export type Output = Queue & { host: string; lastError: { at: string; detail: string } | null };
export type DeadLetter = { at: string; topic: string; reason: string; base64: string };
/** How many were sent again, and why the next one was not taken; null: none is left. */
export type DeadLettersSentAgain = { sent: number; reason: string | null };

type OfQueue = { name: string };
const bridge = ({ name }: OfQueue) => `bridges/${encodeURIComponent(name)}`;
const output = ({ name }: OfQueue) => `outputs/${encodeURIComponent(name)}`;

export const listBridges = () => call<Bridge[]>('GET', 'bridges');
export const deleteBridge = (of: OfQueue) => call('DELETE', bridge(of));
export const listDeadLetters = (of: OfQueue) =>
  call<DeadLetter[]>('GET', `${bridge(of)}/dead-letters`);
export const listOutputs = () => call<Output[]>('GET', 'outputs');
export const listOutputDeadLetters = (of: OfQueue) =>
  call<DeadLetter[]>('GET', `${output(of)}/dead-letters`);
export const sendOutputDeadLettersAgain = (of: OfQueue) =>
  call<DeadLettersSentAgain>('POST', `${output(of)}/dead-letters/send-again`, {
    ...json({}),
    mayTakeLong: true,
  });

// The gateway itself

type Client = {
  clientId: string;
  principal: { type: 'access-token' | 'device'; id: string };
  /** The present name of the principal. */
  name: string | null;
};
export type Connection = Client & {
  address: string;
  since: string;
  protocol: string;
  mqttVersion: string | null;
  keepAliveSeconds: number | null;
  slowed: { since: string; limit: string } | null;
};
export type ConnectionPage = { connections: Connection[]; nextCursor: string | null };
export type DeniedConnection = {
  at: string;
  address: string;
  clientId: string | null;
  username: string | null;
  /** The present name of the device or token of the user name. */
  name: string | null;
  operation: 'connect' | 'subscribe' | 'publish' | 'connection';
  topic: string | null;
  code: string;
  /** The reason in words. */
  detail: string;
};
export type StoredSession = Client & {
  connected: boolean;
  awaySince: string | null;
  backlog: { alarms: number; messages: number };
  oldestQueuedAt: string | null;
};
export type Sessions = { total: number; sessions: StoredSession[] };
export type AdvisedFault = {
  code: string;
  /** Whether the gateway is not ready because of it. */
  stops: boolean;
  since: string;
  message: string;
  subject?: Named & { type: string; via?: Named };
  /** Advice. Text in backquotes is code. */
  advice: string;
  acknowledgeable: boolean;
  /** How many faults like it this one stands for, which are not listed one by one. */
  more?: number;
};

export type Finding = {
  check: string;
  state: 'ok' | 'warn' | 'fail';
  finding: string;
  advice?: string;
};

export const examineGateway = () => call<{ findings: Finding[] }>('GET', 'doctor');
export const listConnections = (query: { cursor?: string }) =>
  call<ConnectionPage>('GET', 'connections', { query });
export const listDeniedConnections = () => call<DeniedConnection[]>('GET', 'connections/denied');
export const listSessions = () => call<Sessions>('GET', 'sessions');
export const listFaults = () => call<AdvisedFault[]>('GET', 'faults');
export const acknowledgeFault = ({ code }: { code: string }) =>
  call('POST', `faults/${encodeURIComponent(code)}/acknowledge`, json({}));
