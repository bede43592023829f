/**
 * Care-home gateway
 * 0.2.0
 * DO NOT MODIFY - This file has been generated using oazapfts.
 * See https://www.npmjs.com/package/oazapfts
 */
import * as Oazapfts from "@oazapfts/runtime";
import * as QS from "@oazapfts/runtime/query";
export const defaults: Oazapfts.Defaults<Oazapfts.CustomHeaders> = {
    headers: {},
    baseUrl: "./"
};
const oazapfts = Oazapfts.runtime(defaults);
export const servers = {
    thisGateway: "./"
};
export type Location = {
    id: string;
    name: string;
    /** Ids of the assigned devices that the access token covers. */
    devices: string[];
};
export type Problem = {
    "type": string;
    title: string;
    status: number;
    detail: string;
    /** The path of the request, if readable. */
    instance?: string;
    /** Stable, kebab-case. */
    code: string;
    /** The value of `X-Request-Id`. */
    requestId: string;
    /** The faults of the input; present with status 400 only. */
    errors?: {
        /** Dotted; empty for the request or its body as a whole. */
        path: string;
        message: string;
    }[];
};
export type Name = {
    /** 1 to 120 characters (code points) after trimming, one of them visible; no control characters, and no directional controls. */
    name: string;
};
export type Group = {
    id: string;
    name: string;
    /** Ids of the rooms in the group. */
    rooms: string[];
};
export type Room = {
    id: string;
    name: string;
    groupId: string | null;
    /** Ids of the devices in the room. */
    devices: string[];
};
export type NewRoom = {
    /** 1 to 120 characters (code points) after trimming, one of them visible; no control characters, and no directional controls. */
    name: string;
    groupId?: string | null;
};
export type RoomChange = {
    /** 1 to 120 characters (code points) after trimming, one of them visible; no control characters, and no directional controls. */
    name?: string;
    /** Null takes the room out of its group. */
    groupId?: string | null;
};
export type Device = {
    id: string;
    name: string;
    locationId: string;
    roomId: string | null;
    online: boolean;
    lastSeenAt: string | null;
    /** The access token of the hub through which it was last heard; if it was. */
    via?: {
        id: string;
        name: string;
    };
    createdAt: string;
    /** A time of its own after which it is silent; if it has one. */
    supervision?: {
        silentAfterSeconds: number;
    };
};
export type NewDevice = {
    /** 1 to 120 characters (code points) after trimming, one of them visible; no control characters, and no directional controls. */
    name: string;
    id?: string;
};
export type CreatedDevice = {
    id: string;
    name: string;
    locationId: string;
    roomId: string | null;
    online: boolean;
    lastSeenAt: string | null;
    /** The access token of the hub through which it was last heard; if it was. */
    via?: {
        id: string;
        name: string;
    };
    createdAt: string;
    /** A time of its own after which it is silent; if it has one. */
    supervision?: {
        silentAfterSeconds: number;
    };
    /** The MQTT password, shown only once. */
    secret: string;
};
export type DeviceChange = {
    /** 1 to 120 characters (code points) after trimming, one of them visible; no control characters, and no directional controls. */
    name?: string;
    supervision?: {
        /** After how many seconds without a packet it is silent; null: as the configuration says. */
        silentAfterSeconds?: number | null;
    };
};
export type DeviceSecret = {
    /** The MQTT password, shown only once. */
    secret: string;
};
export type DeviceMove = {
    targetLocationId?: string;
    /** A room of the location; null takes the device out of its room. */
    targetRoomId?: string | null;
};
export type SilentDevice = {
    device: {
        id: string;
        name: string;
    };
    room: {
        id: string;
        name: string;
    } | null;
    group: {
        id: string;
        name: string;
    } | null;
    since: string;
    lastSeenAt: string;
};
export type RejectedPublish = {
    deviceId: string;
    reason: string;
    topic: string;
    base64: string;
    receivedAt: string;
};
export type NewTestAlarm = {
    kind?: "outOfBed" | "outOfRoom" | "outOfSeat" | "helpCall" | "fall" | "noise" | "wandering" | "inactivity";
};
export type TestAlarm = {
    id: string;
};
export type AlarmState = "raised" | "acknowledged" | "resolved";
export type Alarm = {
    id: string;
    detectedAt: string;
    kind: "outOfBed" | "outOfRoom" | "outOfSeat" | "helpCall" | "fall" | "noise" | "wandering" | "inactivity";
    state: AlarmState;
    footage: {
        /** Signed, valid for 10 minutes. */
        video: string | null;
        /** Signed, valid for 10 minutes. */
        audio: string | null;
    };
};
export type AlarmPage = {
    /** Null on the last page; until then every page has `limit` events. */
    nextCursor: string | null;
    events: Alarm[];
};
export type AlarmStateAuthor = {
    id: string;
    name: string;
};
export type LocationAlarm = {
    id: string;
    detectedAt: string;
    kind: "outOfBed" | "outOfRoom" | "outOfSeat" | "helpCall" | "fall" | "noise" | "wandering" | "inactivity";
    state: AlarmState;
    footage: {
        /** Signed, valid for 10 minutes. */
        video: string | null;
        /** Signed, valid for 10 minutes. */
        audio: string | null;
    } | ("video" | "audio")[];
    deviceId: string;
    roomId: string | null;
    device: {
        id: string;
        name: string;
    };
    room: {
        id: string;
        name: string;
    } | null;
    group: {
        id: string;
        name: string;
    } | null;
    receivedAt: string;
    /** The device's other fields, with the same JSON values; null for none. */
    data: unknown;
    /** The payload, where it was no JSON. */
    base64?: string;
    /** The payload should have been JSON, and only its kind could be read. */
    malformed?: true;
    /** It is a test, or a drill. */
    test?: true;
    /** The device's custom data. */
    customData: {
        [key: string]: unknown;
    };
    acknowledgedBy?: AlarmStateAuthor;
    acknowledgedAt?: string;
    resolvedBy?: AlarmStateAuthor;
    resolvedAt?: string;
    /** The newest note. */
    note?: string;
};
export type LocationAlarmPage = {
    /** Null on the last page; until then every page has `limit` events. */
    nextCursor: string | null;
    events: LocationAlarm[];
};
export type AlarmOfAnyLocation = {
    id: string;
    detectedAt: string;
    kind: "outOfBed" | "outOfRoom" | "outOfSeat" | "helpCall" | "fall" | "noise" | "wandering" | "inactivity";
    state: AlarmState;
    footage: {
        /** Signed, valid for 10 minutes. */
        video: string | null;
        /** Signed, valid for 10 minutes. */
        audio: string | null;
    } | ("video" | "audio")[];
    deviceId: string;
    roomId: string | null;
    device: {
        id: string;
        name: string;
    };
    room: {
        id: string;
        name: string;
    } | null;
    group: {
        id: string;
        name: string;
    } | null;
    receivedAt: string;
    /** The device's other fields, with the same JSON values; null for none. */
    data: unknown;
    /** The payload, where it was no JSON. */
    base64?: string;
    /** The payload should have been JSON, and only its kind could be read. */
    malformed?: true;
    /** It is a test, or a drill. */
    test?: true;
    /** The device's custom data. */
    customData: {
        [key: string]: unknown;
    };
    acknowledgedBy?: AlarmStateAuthor;
    acknowledgedAt?: string;
    resolvedBy?: AlarmStateAuthor;
    resolvedAt?: string;
    /** The newest note. */
    note?: string;
    location: {
        id: string;
        name: string;
    };
};
export type AlarmsPage = {
    /** Null on the last page; until then every page has `limit` events. */
    nextCursor: string | null;
    events: AlarmOfAnyLocation[];
};
export type AlarmCounts = {
    /** Hours or days without alarms are in it, too. 1000 at most. */
    buckets: {
        start: string;
        /** By kind; kinds without alarms are left out. */
        counts: {
            outOfBed?: number;
            outOfRoom?: number;
            outOfSeat?: number;
            helpCall?: number;
            fall?: number;
            noise?: number;
            wandering?: number;
            inactivity?: number;
        };
    }[];
};
export type AlarmStateChange = {
    /** 1 to 500 characters (code points) after trimming, one of them visible; no control characters, and no directional controls. */
    note?: string | null;
};
export type AlarmStates = {
    id: string;
    state: AlarmState;
    acknowledgedBy?: AlarmStateAuthor;
    acknowledgedAt?: string;
    resolvedBy?: AlarmStateAuthor;
    resolvedAt?: string;
    /** The newest note. */
    note?: string;
};
export type Destination = {
    "type": "session" | "bridge" | "webhook";
    /** Of a session its client id, of a bridge or webhook its name. */
    id: string;
    /** Of a session the name of its access token. */
    name: string;
};
export type AlarmDeliveries = {
    deliveries: {
        destination: Destination;
        state: "queued" | "delivered" | "expired" | "dropped";
        /** When it was acknowledged, expired or dropped; of a queued one, received. */
        at: string;
    }[];
};
export type NewDrill = {
    /** The device whose alarm it is; left out: the first of the location. */
    deviceId?: string;
};
export type Drill = {
    id: string;
    at: string;
    /** The access token that asked for it; null: the schedule. */
    by: {
        id: string;
        name: string;
    } | null;
    /** Destinations have 60 s. `passed` once all have acknowledged, `failed` if one of them has not by then, or there is none. */
    state: "running" | "passed" | "failed";
    alarmId: string;
    device: {
        id: string;
        name: string;
    };
    destinations: {
        destination: Destination;
        /** Null: not within 60 s, or not yet. */
        acknowledgedAfterMs: number | null;
    }[];
    /** The devices that were silent. */
    silent: {
        id: string;
        name: string;
    }[];
};
export type AccessToken = {
    id: string;
    name: string;
    grants: {
        /** The id of a location, or `*`. */
        location: string;
        group?: string;
        role: "viewer" | "responder" | "manager" | "admin" | "publisher";
    }[];
    createdAt: string;
    expiresAt: string | null;
    /** When it was last shown, over HTTP or to connect over MQTT; null: never. */
    lastUsedAt: string | null;
};
export type NewGrant = {
    location: "*" | string;
    group?: string;
    role: "viewer" | "responder" | "manager" | "admin" | "publisher";
};
export type NewAccessToken = {
    /** 1 to 120 characters (code points) after trimming, one of them visible; no control characters, and no directional controls. */
    name: string;
    grants: NewGrant[];
    /** In the future; null: never. */
    expiresAt?: string | null;
};
export type IssuedAccessToken = {
    id: string;
    name: string;
    grants: {
        /** The id of a location, or `*`. */
        location: string;
        group?: string;
        role: "viewer" | "responder" | "manager" | "admin" | "publisher";
    }[];
    createdAt: string;
    expiresAt: string | null;
    /** When it was last shown, over HTTP or to connect over MQTT; null: never. */
    lastUsedAt: string | null;
    /** The token itself, shown only once. */
    token: string;
};
export type CurrentAccessToken = {
    /** A UUID, or `admin`. */
    id: string;
    name: string;
    grants: {
        /** The id of a location, or `*`. */
        location: string;
        group?: string;
        role: "viewer" | "responder" | "manager" | "admin" | "publisher";
    }[];
    expiresAt: string | null;
};
export type Actor = {
    "type": "access-token" | "device" | "gateway" | "anonymous";
    /** Id of the access token or device; null for the gateway and for unknown clients. */
    id: string | null;
    address: string | null;
    /** The name that it has now; null where there is none any more. */
    name: string | null;
    /** `X-Request-Id` of the request. */
    requestId: string | null;
};
export type AuditEvent = {
    /** Rises with each record, which is the order of the list. */
    id: string;
    at: string;
    action: "location.created" | "location.changed" | "location.deleted" | "group.created" | "group.changed" | "group.deleted" | "room.created" | "room.changed" | "room.moved" | "room.deleted" | "device.created" | "device.changed" | "device.moved" | "device.deleted" | "device.secret-replaced" | "custom-data.changed" | "alarm.acknowledged" | "alarm.resolved" | "alarm.tested" | "access-token.created" | "access-token.changed" | "access-token.secret-replaced" | "access-token.deleted" | "bridge.deleted" | "output.sent-again" | "fault.acknowledged" | "footage.url-made" | "footage.upload-url-made" | "permission.refused" | "authentication.refused";
    actor: Actor;
    locationId: string | null;
    /** The name that it has now; null where it is gone, or has none. */
    locationName: string | null;
    resourceId: string | null;
    /** The name that it has now; null where it is gone, or has none. */
    resourceName: string | null;
    /** Texts, except `grants` and `keys`, which are lists. */
    details: {
        [key: string]: (string | null) | {
            /** The id of a location, or `*`. */
            location: string;
            group?: string;
            role: "viewer" | "responder" | "manager" | "admin" | "publisher";
        }[] | string[];
    };
};
export type AuditPage = {
    /** Null on the last page; until then every page has `limit` events. */
    nextCursor: string | null;
    events: AuditEvent[];
};
export type Bridge = {
    name: string;
    /** Null while the bridge is missing from the configuration. */
    url: string | null;
    /** Refusing: it has refused an alarm, and taken none since. */
    state: "delivering" | "failing" | "refusing";
    connected: boolean;
    connectedSince: string | null;
    /** When the upstream last acknowledged a message. */
    lastAcknowledgedAt: string | null;
    queued: number;
    oldestQueuedAt: string | null;
    delivered: number;
    dropped: {
        tooOld: number;
        tooMany: number;
        /** Dead letters: messages that are never taken there. */
        refused: number;
        /** Messages that the store has lost. */
        lost: number;
    };
    /** The last failure, even if it is over. */
    lastError: {
        at: string;
        kind: string;
        detail: string;
    } | null;
};
export type DeadLetter = {
    at: string;
    topic: string;
    reason: string;
    base64: string;
};
export type Output = {
    name: string;
    "type": "webhook";
    /** Of its URL, whose path may be secret. */
    host: string;
    /** Refusing: it has refused an alarm, and taken none since. */
    state: "delivering" | "failing" | "refusing";
    queued: number;
    oldestQueuedAt: string | null;
    delivered: number;
    dropped: {
        tooOld: number;
        tooMany: number;
        /** Dead letters: messages that are never taken there. */
        refused: number;
        /** Messages that the store has lost. */
        lost: number;
    };
    /** The last failure since the start, even if it is over. */
    lastError: {
        at: string;
        detail: string;
    } | null;
};
export type DeadLettersSentAgain = {
    sent: number;
    /** Why the next one was not taken; null: none is left. */
    reason: string | null;
};
export type Connection = {
    clientId: string;
    principal: {
        "type": "access-token" | "device";
        /** A UUID, or `admin`. */
        id: string;
    };
    address: string;
    since: string;
    /** TCP (`mqtt`) or WebSocket (`ws`); with an `s`, over TLS. `sse`: an event stream, over HTTP. */
    protocol: "mqtt" | "mqtts" | "ws" | "wss" | "sse";
    /** Null for an event stream. */
    mqttVersion: ("5" | "3.1" | "3.1.1" | null) | ("5" | "3.1" | "3.1.1" | null);
    /** The one that the gateway goes by: at most `mqtt.maxKeepAliveSeconds`. Null for an event stream. */
    keepAliveSeconds: number | null;
    /** Waiting or in flight for the session. */
    backlog: {
        alarms: number;
        messages: number;
    };
    /** The limit because of which it is read later than it sends. */
    slowed: {
        since: string;
        limit: string;
    } | null;
};
export type ConnectionPage = {
    /** Null on the last page. */
    nextCursor: string | null;
    connections: Connection[];
};
export type DeniedConnection = {
    at: string;
    address: string;
    /** Null when it could not be read. */
    clientId: string | null;
    /** Only the id of a device or access token; null for anything else. */
    username: string | null;
    operation: "connect" | "subscribe" | "publish" | "connection";
    /** The filter or topic, 256 characters at most; null where none was denied. */
    topic: string | null;
    /** Null when no CONNECT stated one. */
    mqttVersion: ("5" | "3.1" | "3.1.1" | null) | ("5" | "3.1" | "3.1.1" | null);
    /** The code in CONNACK or SUBACK; with MQTT 5 also in PUBACK, PUBREC or DISCONNECT. Null if none was sent. */
    returnCode: number | null;
    code: "unknown-user-name" | "wrong-password" | "too-many-failed-logins" | "no-credentials" | "client-id-missing" | "client-id-too-long" | "client-id-reserved" | "too-many-connections" | "gateway-full" | "too-many-sessions" | "unknown-version" | "authentication-method" | "malformed-connect" | "no-connect" | "connecting-too-fast" | "tls-handshake-failed" | "websocket-frames" | "malformed-packet" | "keep-alive-timeout" | "messages-unread" | "taken-over" | "credential-ended" | "not-stored" | "filter-not-of-device" | "filter-outside-grants" | "shared-filter-invalid" | "too-many-subscriptions" | "topic-not-of-device" | "topic-not-of-token" | "device-without-grant" | "alarm-state-without-grant" | "command-without-grant";
    /** The reason in words. */
    detail: string;
};
export type Session = {
    clientId: string;
    principal: {
        "type": "access-token" | "device";
        /** A UUID, or `admin`. */
        id: string;
    };
    connected: boolean;
    /** When it was last connected; null while it is. */
    awaySince: string | null;
    /** Waiting or in flight for the session. */
    backlog: {
        alarms: number;
        messages: number;
    };
    /** When the oldest of the backlog was received; null for none, or when unknown. */
    oldestQueuedAt: string | null;
};
export type Sessions = {
    /** Of all persistent sessions. */
    total: number;
    sessions: Session[];
};
export type AdvisedFault = {
    /** What is wrong. Stable; later versions may add to these: account-broken, alarms-waiting, bridge-commands-denied, bridge-down, bridge-missing, bridge-refused, bridge-stuck, certificate-expiring, certificate-unusable, clock-doubtful, clock-jumped, consumer-lagging, data-directory-unusable, device-silent, device-unreadable, disk-full, disk-nearly-full, disk-read-only, drill-failed, hub-away, limit-exceeded, output-failing, record-damaged, replica-missing, retained-full, runtime-unsupported, standing-by, store-full, store-lost-data, store-nearly-full, store-refusing, store-slow, store-unreachable, store-unsafe, unknown-device. */
    code: string;
    /** Whether the gateway is not ready because of it. */
    stops: boolean;
    since: string;
    /** With a valid access token only. */
    message: string;
    /** What it is about, for callers who may see that. */
    subject?: {
        "type": "location" | "room" | "group" | "device" | "access-token" | "bridge" | "session" | "webhook" | "address";
        id: string;
        name: string;
        /** The hub that publishes for it. */
        via?: {
            id: string;
            name: string;
        };
    };
    /** What to do about it. Text in backquotes is code. */
    advice: string;
    /** Whether it stays until an administrator acknowledges it. */
    acknowledgeable: boolean;
};
/**
 * List the locations that the access token covers
 */
export function listLocations(opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Location[];
    } | {
        status: 400;
        data: Problem;
    }>("/care-homes", {
        ...opts
    }));
}
/**
 * Create a location
 */
export function createLocation({ name }: {
    name: Name;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 201;
        data: Location;
    } | {
        status: 400;
        data: Problem;
    }>("/care-homes", oazapfts.json({
        ...opts,
        method: "POST",
        body: name
    })));
}
/**
 * Get a location
 */
export function getLocation({ locationId, ifNoneMatch }: {
    locationId: string;
    ifNoneMatch?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Location;
    } | {
        status: 304;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}`, {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-none-match": ifNoneMatch
        })
    }));
}
/**
 * Rename a location
 */
export function updateLocation({ locationId, ifMatch, ifNoneMatch, name }: {
    locationId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
    name: Name;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Location;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}`, oazapfts.json({
        ...opts,
        method: "PATCH",
        body: name,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    })));
}
/**
 * Delete a location that has no devices, with its rooms and groups
 */
export function deleteLocation({ locationId, ifMatch, ifNoneMatch }: {
    locationId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}`, {
        ...opts,
        method: "DELETE",
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    }));
}
/**
 * List the groups that the access token covers
 */
export function listGroups({ locationId }: {
    locationId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Group[];
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/groups`, {
        ...opts
    }));
}
/**
 * Create a group
 */
export function createGroup({ locationId, name }: {
    locationId: string;
    name: Name;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 201;
        data: Group;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/groups`, oazapfts.json({
        ...opts,
        method: "POST",
        body: name
    })));
}
/**
 * Get a group
 */
export function getGroup({ locationId, groupId, ifNoneMatch }: {
    locationId: string;
    groupId: string;
    ifNoneMatch?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Group;
    } | {
        status: 304;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/groups/${encodeURIComponent(groupId)}`, {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-none-match": ifNoneMatch
        })
    }));
}
/**
 * Rename a group
 */
export function updateGroup({ locationId, groupId, ifMatch, ifNoneMatch, name }: {
    locationId: string;
    groupId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
    name: Name;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Group;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/groups/${encodeURIComponent(groupId)}`, oazapfts.json({
        ...opts,
        method: "PATCH",
        body: name,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    })));
}
/**
 * Delete a group that has no rooms
 */
export function deleteGroup({ locationId, groupId, ifMatch, ifNoneMatch }: {
    locationId: string;
    groupId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/groups/${encodeURIComponent(groupId)}`, {
        ...opts,
        method: "DELETE",
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    }));
}
/**
 * List the rooms that the access token covers
 */
export function listRooms({ locationId }: {
    locationId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Room[];
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/rooms`, {
        ...opts
    }));
}
/**
 * Create a room
 */
export function createRoom({ locationId, newRoom }: {
    locationId: string;
    newRoom: NewRoom;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 201;
        data: Room;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/rooms`, oazapfts.json({
        ...opts,
        method: "POST",
        body: newRoom
    })));
}
/**
 * Get a room
 */
export function getRoom({ locationId, roomId, ifNoneMatch }: {
    locationId: string;
    roomId: string;
    ifNoneMatch?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Room;
    } | {
        status: 304;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/rooms/${encodeURIComponent(roomId)}`, {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-none-match": ifNoneMatch
        })
    }));
}
/**
 * Rename a room, or change its group
 */
export function updateRoom({ locationId, roomId, ifMatch, ifNoneMatch, roomChange }: {
    locationId: string;
    roomId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
    roomChange: RoomChange;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Room;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/rooms/${encodeURIComponent(roomId)}`, oazapfts.json({
        ...opts,
        method: "PATCH",
        body: roomChange,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    })));
}
/**
 * Delete a room that has no devices
 */
export function deleteRoom({ locationId, roomId, ifMatch, ifNoneMatch }: {
    locationId: string;
    roomId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/rooms/${encodeURIComponent(roomId)}`, {
        ...opts,
        method: "DELETE",
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    }));
}
/**
 * List the devices that the access token covers
 */
export function listDevices({ locationId }: {
    locationId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Device[];
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/devices`, {
        ...opts
    }));
}
/**
 * Create a device; only this answer shows its secret
 */
export function createDevice({ locationId, newDevice }: {
    locationId: string;
    newDevice: NewDevice;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 201;
        data: CreatedDevice;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/devices`, oazapfts.json({
        ...opts,
        method: "POST",
        body: newDevice
    })));
}
/**
 * Get a device
 */
export function getDevice({ locationId, deviceId, ifNoneMatch }: {
    locationId: string;
    deviceId: string;
    ifNoneMatch?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Device;
    } | {
        status: 304;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/devices/${encodeURIComponent(deviceId)}`, {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-none-match": ifNoneMatch
        })
    }));
}
/**
 * Rename a device, or set a time of silence of its own
 */
export function updateDevice({ locationId, deviceId, ifMatch, ifNoneMatch, deviceChange }: {
    locationId: string;
    deviceId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
    deviceChange: DeviceChange;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Device;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/devices/${encodeURIComponent(deviceId)}`, oazapfts.json({
        ...opts,
        method: "PATCH",
        body: deviceChange,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    })));
}
/**
 * Delete a device; its alarm history stays
 */
export function deleteDevice({ locationId, deviceId, ifMatch, ifNoneMatch }: {
    locationId: string;
    deviceId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/devices/${encodeURIComponent(deviceId)}`, {
        ...opts,
        method: "DELETE",
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    }));
}
/**
 * Give a device a new secret; the old one stops working at once
 */
export function replaceDeviceSecret({ locationId, deviceId, ifMatch, ifNoneMatch, body }: {
    locationId: string;
    deviceId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
    body?: {};
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: DeviceSecret;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/devices/${encodeURIComponent(deviceId)}/secret`, oazapfts.json({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    })));
}
/**
 * Move a device to another location, into a room, or out of its room
 */
export function moveDevice({ locationId, deviceId, ifMatch, ifNoneMatch, deviceMove }: {
    locationId: string;
    deviceId: string;
    ifMatch?: string;
    ifNoneMatch?: string;
    deviceMove: DeviceMove;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/devices/${encodeURIComponent(deviceId)}/move`, oazapfts.json({
        ...opts,
        method: "POST",
        body: deviceMove,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-match": ifMatch,
            "if-none-match": ifNoneMatch
        })
    })));
}
/**
 * List the devices from which nothing comes any more
 */
export function listSilentDevices({ locationId }: {
    locationId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: SilentDevice[];
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/supervision`, {
        ...opts
    }));
}
/**
 * List the publishes that could not be used, newest first
 */
export function listRejectedPublishes({ locationId }: {
    locationId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: RejectedPublish[];
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/rejected`, {
        ...opts
    }));
}
/**
 * Raise an alarm as the device would, marked as a test
 */
export function raiseTestAlarm({ locationId, deviceId, newTestAlarm }: {
    locationId: string;
    deviceId: string;
    newTestAlarm?: NewTestAlarm;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 202;
        data: TestAlarm;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/devices/${encodeURIComponent(deviceId)}/test-alarm`, oazapfts.json({
        ...opts,
        method: "POST",
        body: newTestAlarm
    })));
}
/**
 * List the alarms of a device
 */
export function listDeviceAlarms({ locationId, deviceId, before, after, order, limit, kinds, state, cursor }: {
    locationId: string;
    deviceId: string;
    before?: string;
    after?: string;
    order?: "asc" | "desc";
    limit?: number;
    kinds?: ("outOfBed" | "outOfRoom" | "outOfSeat" | "helpCall" | "fall" | "noise" | "wandering" | "inactivity")[];
    state?: ("raised" | "acknowledged" | "resolved")[];
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: AlarmPage;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/devices/${encodeURIComponent(deviceId)}/alarms${QS.query(QS.explode({
        before,
        after,
        order,
        limit,
        cursor
    }), QS.form({
        kinds,
        state
    }))}`, {
        ...opts
    }));
}
/**
 * List the alarms of a location
 */
export function listLocationAlarms({ locationId, before, after, order, limit, kinds, state, cursor, separator, timeZone, device, room, group, test, footage }: {
    locationId: string;
    before?: string;
    after?: string;
    order?: "asc" | "desc";
    limit?: number;
    kinds?: ("outOfBed" | "outOfRoom" | "outOfSeat" | "helpCall" | "fall" | "noise" | "wandering" | "inactivity")[];
    state?: ("raised" | "acknowledged" | "resolved")[];
    cursor?: string;
    separator?: "," | ";";
    timeZone?: string;
    device?: string[];
    room?: string[];
    group?: string[];
    test?: "true" | "false";
    footage?: "list";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: LocationAlarmPage;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/alarms${QS.query(QS.explode({
        before,
        after,
        order,
        limit,
        cursor,
        separator,
        timeZone,
        test,
        footage
    }), QS.form({
        kinds,
        state,
        device,
        room,
        group
    }))}`, {
        ...opts
    }));
}
/**
 * List the alarms of all locations that the access token covers
 */
export function listAlarms({ before, after, order, limit, kinds, state, cursor, separator, timeZone, device, room, group, test, footage }: {
    before?: string;
    after?: string;
    order?: "asc" | "desc";
    limit?: number;
    kinds?: ("outOfBed" | "outOfRoom" | "outOfSeat" | "helpCall" | "fall" | "noise" | "wandering" | "inactivity")[];
    state?: ("raised" | "acknowledged" | "resolved")[];
    cursor?: string;
    separator?: "," | ";";
    timeZone?: string;
    device?: string[];
    room?: string[];
    group?: string[];
    test?: "true" | "false";
    footage?: "list";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: AlarmsPage;
    } | {
        status: 400;
        data: Problem;
    }>(`/alarms${QS.query(QS.explode({
        before,
        after,
        order,
        limit,
        cursor,
        separator,
        timeZone,
        test,
        footage
    }), QS.form({
        kinds,
        state,
        device,
        room,
        group
    }))}`, {
        ...opts
    }));
}
/**
 * Get an alarm of a location
 */
export function getAlarm({ locationId, alarmId, footage, device }: {
    locationId: string;
    alarmId: string;
    footage?: "list";
    device?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: LocationAlarm;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/alarms/${encodeURIComponent(alarmId)}${QS.query(QS.explode({
        footage,
        device
    }))}`, {
        ...opts
    }));
}
/**
 * Count the alarms of a location by hour or day
 */
export function countAlarms({ locationId, by, timeZone, before, after, device, room, group, test, kinds, state }: {
    locationId: string;
    by?: "hour" | "day";
    timeZone?: string;
    before?: string;
    after?: string;
    device?: string[];
    room?: string[];
    group?: string[];
    test?: "true" | "false";
    kinds?: ("outOfBed" | "outOfRoom" | "outOfSeat" | "helpCall" | "fall" | "noise" | "wandering" | "inactivity")[];
    state?: ("raised" | "acknowledged" | "resolved")[];
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: AlarmCounts;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/alarm-counts${QS.query(QS.explode({
        by,
        timeZone,
        before,
        after,
        test
    }), QS.form({
        device,
        room,
        group,
        kinds,
        state
    }))}`, {
        ...opts
    }));
}
/**
 * Acknowledge an alarm
 */
export function acknowledgeAlarm({ locationId, alarmId, alarmStateChange }: {
    locationId: string;
    alarmId: string;
    alarmStateChange?: AlarmStateChange;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: AlarmStates;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/alarms/${encodeURIComponent(alarmId)}/acknowledge`, oazapfts.json({
        ...opts,
        method: "POST",
        body: alarmStateChange
    })));
}
/**
 * Resolve an alarm, acknowledged or not
 */
export function resolveAlarm({ locationId, alarmId, alarmStateChange }: {
    locationId: string;
    alarmId: string;
    alarmStateChange?: AlarmStateChange;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: AlarmStates;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/alarms/${encodeURIComponent(alarmId)}/resolve`, oazapfts.json({
        ...opts,
        method: "POST",
        body: alarmStateChange
    })));
}
/**
 * Prove which destination had an alarm when
 */
export function listAlarmDeliveries({ locationId, alarmId, device }: {
    locationId: string;
    alarmId: string;
    device?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: AlarmDeliveries;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/alarms/${encodeURIComponent(alarmId)}/deliveries${QS.query(QS.explode({
        device
    }))}`, {
        ...opts
    }));
}
/**
 * Try whether alarms arrive at every destination
 */
export function beginDrill({ locationId, newDrill }: {
    locationId: string;
    newDrill?: NewDrill;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 202;
        data: Drill;
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/drills`, oazapfts.json({
        ...opts,
        method: "POST",
        body: newDrill
    })));
}
/**
 * List the newest 100 drills of a location, the newest first
 */
export function listDrills({ locationId }: {
    locationId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Drill[];
    } | {
        status: 400;
        data: Problem;
    }>(`/care-homes/${encodeURIComponent(locationId)}/drills`, {
        ...opts
    }));
}
/**
 * List the access tokens, without the tokens themselves
 */
export function listAccessTokens(opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: AccessToken[];
    } | {
        status: 400;
        data: Problem;
    }>("/access-tokens", {
        ...opts
    }));
}
/**
 * Create an access token; only this answer shows the token
 */
export function createAccessToken({ newAccessToken }: {
    newAccessToken: NewAccessToken;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 201;
        data: IssuedAccessToken;
    } | {
        status: 400;
        data: Problem;
    }>("/access-tokens", oazapfts.json({
        ...opts,
        method: "POST",
        body: newAccessToken
    })));
}
/**
 * Show the access token of this request, without the token itself
 */
export function getCurrentAccessToken(opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: CurrentAccessToken;
    } | {
        status: 400;
        data: Problem;
    }>("/access-tokens/current", {
        ...opts
    }));
}
/**
 * Delete an access token; its MQTT connections are closed
 */
export function deleteAccessToken({ tokenId }: {
    tokenId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Problem;
    }>(`/access-tokens/${encodeURIComponent(tokenId)}`, {
        ...opts,
        method: "DELETE"
    }));
}
/**
 * List who did what, when and from where
 */
export function listAuditRecords({ before, after, order, limit, actions, location, actor, resource, cursor, separator, timeZone }: {
    before?: string;
    after?: string;
    order?: "asc" | "desc";
    limit?: number;
    actions?: ("location.created" | "location.changed" | "location.deleted" | "group.created" | "group.changed" | "group.deleted" | "room.created" | "room.changed" | "room.moved" | "room.deleted" | "device.created" | "device.changed" | "device.moved" | "device.deleted" | "device.secret-replaced" | "custom-data.changed" | "alarm.acknowledged" | "alarm.resolved" | "alarm.tested" | "access-token.created" | "access-token.changed" | "access-token.secret-replaced" | "access-token.deleted" | "bridge.deleted" | "output.sent-again" | "fault.acknowledged" | "footage.url-made" | "footage.upload-url-made" | "permission.refused" | "authentication.refused")[];
    location?: string;
    actor?: string;
    resource?: string;
    cursor?: string;
    separator?: "," | ";";
    timeZone?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: AuditPage;
    } | {
        status: 400;
        data: Problem;
    }>(`/audit${QS.query(QS.explode({
        before,
        after,
        order,
        limit,
        location,
        actor,
        resource,
        cursor,
        separator,
        timeZone
    }), QS.form({
        actions
    }))}`, {
        ...opts
    }));
}
/**
 * List the bridges to other brokers with their status
 */
export function listBridges(opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Bridge[];
    } | {
        status: 400;
        data: Problem;
    }>("/bridges", {
        ...opts
    }));
}
/**
 * Delete the queue of a bridge that is missing from the configuration
 */
export function deleteBridge({ name }: {
    name: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Problem;
    }>(`/bridges/${encodeURIComponent(name)}`, {
        ...opts,
        method: "DELETE"
    }));
}
/**
 * List the dead letters: messages that the upstream never takes, newest first
 */
export function listDeadLetters({ name }: {
    name: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: DeadLetter[];
    } | {
        status: 400;
        data: Problem;
    }>(`/bridges/${encodeURIComponent(name)}/dead-letters`, {
        ...opts
    }));
}
/**
 * List the webhooks with their status
 */
export function listOutputs(opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Output[];
    } | {
        status: 400;
        data: Problem;
    }>("/outputs", {
        ...opts
    }));
}
/**
 * List the dead letters: messages that the receiver never takes, newest first
 */
export function listOutputDeadLetters({ name }: {
    name: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: DeadLetter[];
    } | {
        status: 400;
        data: Problem;
    }>(`/outputs/${encodeURIComponent(name)}/dead-letters`, {
        ...opts
    }));
}
/**
 * Send the dead letters again, the oldest first, until one is not taken
 */
export function sendOutputDeadLettersAgain({ name, body }: {
    name: string;
    body?: {};
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: DeadLettersSentAgain;
    } | {
        status: 400;
        data: Problem;
    }>(`/outputs/${encodeURIComponent(name)}/dead-letters/send-again`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    })));
}
/**
 * List who is connected over MQTT or reads events, in the order of connecting
 */
export function listConnections({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: ConnectionPage;
    } | {
        status: 400;
        data: Problem;
    }>(`/connections${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    }));
}
/**
 * List what was denied over MQTT, and connect errors, newest first
 */
export function listDeniedConnections(opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: DeniedConnection[];
    } | {
        status: 400;
        data: Problem;
    }>("/connections/denied", {
        ...opts
    }));
}
/**
 * List the persistent sessions for which most waits, connected or away
 */
export function listSessions({ limit }: {
    limit?: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: Sessions;
    } | {
        status: 400;
        data: Problem;
    }>(`/sessions${QS.query(QS.explode({
        limit
    }))}`, {
        ...opts
    }));
}
/**
 * List what is wrong now, with what to do about it
 */
export function listFaults(opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: AdvisedFault[];
    } | {
        status: 400;
        data: Problem;
    }>("/faults", {
        ...opts
    }));
}
/**
 * Acknowledge a fault that stays until an administrator has seen it
 */
export function acknowledgeFault({ code, body }: {
    code: string;
    body?: {};
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Problem;
    }>(`/faults/${encodeURIComponent(code)}/acknowledge`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    })));
}
/**
 * This document
 */
export function getOpenApiDocument(opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: {
            [key: string]: unknown;
        };
    } | {
        status: 304;
    } | {
        status: 400;
        data: Problem;
    }>("/openapi.json", {
        ...opts
    }));
}
/**
 * The MQTT side, described
 */
export function getAsyncApiDocument(opts?: Oazapfts.RequestOpts) {
    return oazapfts.ok(oazapfts.fetchJson<{
        status: 200;
        data: {
            [key: string]: unknown;
        };
    } | {
        status: 304;
    } | {
        status: 400;
        data: Problem;
    }>("/asyncapi.json", {
        ...opts
    }));
}
