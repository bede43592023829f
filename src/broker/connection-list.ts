/** Connections and denials as they are listed: the reasons of a denial, in words, and the fields of both lists. */

/** Why MQTT clients are denied something, or cannot connect: every code, with its words. */
export const DENIED_REASONS = {
  'unknown-user-name': 'No device and no access token has this user name as its id.',
  'wrong-password':
    'The password is not the secret of the device, or not the access token, or the token has expired.',
  'too-many-failed-logins':
    'Too many logins failed from this address, or with this user name: wait some seconds.',
  'no-credentials':
    'A user name and a password are required, or a certificate of an authority in tls.clientCaFile.',
  'certificate-refused':
    'The client certificate names no device, or another one than the user name, or has expired, or was issued before the device got its present secret.',
  'client-id-missing': 'A persistent session needs a client id.',
  'client-id-too-long': 'The client id is longer than 256 bytes.',
  'client-id-reserved': 'The client id begins with bridge/ or $share/, which are reserved.',
  'too-many-connections':
    'The device or access token has as many connections as it may have (a device 128, an access token limits.token.connections).',
  'gateway-full':
    'The gateway has as many connections as it may have (50,000, or fewer if LimitNOFILE allows fewer).',
  'too-many-sessions':
    'The device or access token has as many persistent sessions as it may have (a device 5, an access token limits.token.persistentSessions), or all access tokens together do (limits.total.persistentSessions).',
  'unknown-version': 'The gateway speaks MQTT 3.1, 3.1.1 and 5.',
  'authentication-method':
    'Extended authentication is not offered: a user name and a password are required.',
  'malformed-connect': 'The first packet is not a CONNECT as MQTT prescribes it.',
  'no-connect': 'No CONNECT came within ten seconds.',
  'connecting-too-fast':
    'Too many connections came from this address at once (limits.connectionsPerSecond).',
  'tls-handshake-failed': 'The TLS handshake failed.',
  'websocket-frames':
    'The WebSocket frames were too large, no binary ones, or too many of them brought nothing.',
  'malformed-packet': 'A packet is not as MQTT prescribes it.',
  'keep-alive-timeout': 'Nothing came for one and a half keep-alives.',
  'messages-unread': 'The client has not read its messages for five seconds.',
  'taken-over': 'Another connection has opened the session with this client id.',
  'credential-ended': 'The device or access token was deleted, has expired, or has a new secret.',
  'not-stored': 'The store did not take what the client sent, which has to send it again.',
  'filter-not-of-device':
    'A device may subscribe to its own commands (devices/<id>/commands/#) and devices/<id>/rejected.',
  'filter-outside-grants':
    'The filter is not within care-homes/<location> of a location that the grants of the token cover.',
  'shared-filter-invalid':
    'A shared subscription is $share/<group>/<filter>; the group has no wildcards.',
  'too-many-subscriptions':
    'The device or access token has as many subscriptions as it may have (a device 100, an access token 10,000).',
  'topic-not-of-device': 'A device may publish on its own topics (devices/<id>/…) only.',
  'topic-not-of-token':
    'An access token may publish commands to devices, states of alarms and, for devices that a publisher grant covers, on their topics.',
  'device-without-grant': 'A publish for a device needs a publisher grant that covers it.',
  'alarm-state-without-grant': 'A state of an alarm needs a responder grant over the location.',
  'command-without-grant': 'A command needs a manager grant that covers the device.',
} as const;

export type DeniedReason = keyof typeof DENIED_REASONS;

export const DENIED_OPERATIONS = ['connect', 'subscribe', 'publish', 'connection'] as const;
export type DeniedOperation = (typeof DENIED_OPERATIONS)[number];

/** Something that an MQTT client was denied, or a CONNECT that failed. */
export interface DeniedConnection {
  /** RFC 3339. */
  readonly at: string;
  readonly address: string;
  /** Null when the gateway could not read it. */
  readonly clientId: string | null;
  /** Only the id of a device or access token: anything else may be a mistyped secret. */
  readonly username: string | null;
  readonly operation: DeniedOperation;
  /** The denied filter or topic; null if something else was denied. */
  readonly topic: string | null;
  /** The version in the CONNECT; null when none could be read. */
  readonly mqttVersion: MqttVersionName | null;
  /** The code in the CONNACK or SUBACK, with MQTT 5 in the PUBACK, PUBREC or DISCONNECT; null if none was sent. */
  readonly returnCode: number | null;
  readonly code: DeniedReason;
  /** The reason in words. */
  readonly detail: string;
}

export const TRANSPORTS = ['mqtt', 'mqtts', 'ws', 'wss'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** The transports, and the protocol of event streams. */
export const PROTOCOLS = [...TRANSPORTS, 'sse'] as const;

export const MQTT_VERSIONS = ['3.1', '3.1.1', '5'] as const;
export type MqttVersionName = (typeof MQTT_VERSIONS)[number];

/** An open MQTT connection, or an event stream. */
export interface ConnectionView {
  readonly clientId: string;
  readonly principal: { readonly type: 'access-token' | 'device'; readonly id: string };
  readonly address: string;
  /** RFC 3339. */
  readonly since: string;
  readonly protocol: (typeof PROTOCOLS)[number];
  /** Null: an event stream. */
  readonly mqttVersion: MqttVersionName | null;
  /** The keep-alive that the gateway applies; null: an event stream. */
  readonly keepAliveSeconds: number | null;
  /** Accepted for the client's session, but not yet acknowledged. */
  readonly backlog: { readonly alarms: number; readonly messages: number };
  /** Since when a limit delays reading from it, and which one (its key in `limits`); null: none does. */
  readonly slowed: { readonly since: string; readonly limit: string } | null;
}

/** The bounds of a page of connections, by their numbers. */
export interface ConnectionPosition {
  readonly after: number;
  /** Connections opened later are left out: they came after the first page was read. */
  readonly upTo: number;
}

export interface ConnectionPage {
  readonly connections: ConnectionView[];
  /** Where the next page starts, undefined on the last one. */
  readonly next: ConnectionPosition | undefined;
}
