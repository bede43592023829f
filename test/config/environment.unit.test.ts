import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { configKeys, readEnvironment } from '../../src/config/environment.js';
import { loadConfig } from '../../src/config/load.js';
import { configSchema } from '../../src/config/schema.js';

const CERT_FILE = fileURLToPath(new URL('../harness/tls/localhost.crt', import.meta.url));
const KEY_FILE = CERT_FILE.replace(/crt$/, 'key');
const NOWHERE = { programDir: '/none', cwd: '/working' };

/** A bridge for which only name and URL are given. */
const BRIDGE = {
  name: 'a',
  url: 'mqtt://b',
  keepAliveSeconds: 30,
  send: 'all',
  topic: '{topic}',
  qos: 1,
  retain: false,
  maxInFlight: 100,
  maxQueuedMessages: 200_000,
  maxQueuedBytes: 268_435_456,
  maxQueuedHours: 168,
  replayPerSecond: 1000,
  ackTimeoutSeconds: 10,
  commands: [],
};

/** A value other than the default for every key, as text and as parsed. */
const OTHER_VALUES: Record<string, [text: string, value: unknown]> = {
  GATEWAY_SITE: ['home-7', 'home-7'],
  GATEWAY_DATA_DIR: ['/var/lib/x', '/var/lib/x'],
  GATEWAY_ADMIN_TOKEN: ['0123456789abcdef', '0123456789abcdef'],
  GATEWAY_ALLOW_PLAINTEXT: ['true', true],
  GATEWAY_TLS_HOST: ['10.0.0.1', '10.0.0.1'],
  GATEWAY_TLS_CERT_FILE: [CERT_FILE, CERT_FILE],
  GATEWAY_TLS_KEY_FILE: [KEY_FILE, KEY_FILE],
  GATEWAY_MQTT_HOST: ['0.0.0.0', '0.0.0.0'],
  GATEWAY_MQTT_PORT: ['0', 0],
  GATEWAY_MQTT_TLS_PORT: ['1', 1],
  GATEWAY_MQTT_MAX_PACKET_BYTES: ['2', 2],
  GATEWAY_MQTT_MAX_ALARM_BYTES: ['3', 3],
  GATEWAY_MQTT_MAX_KEEP_ALIVE_SECONDS: ['4', 4],
  GATEWAY_MQTT_MAX_FILTERS_PER_SESSION: ['5', 5],
  GATEWAY_MQTT_MAX_IN_FLIGHT: ['6', 6],
  GATEWAY_HTTP_HOST: ['::', '::'],
  GATEWAY_HTTP_PORT: ['65535', 65_535],
  GATEWAY_HTTP_TLS_PORT: ['7', 7],
  GATEWAY_HTTP_MAX_BODY_BYTES: ['8', 8],
  GATEWAY_HTTP_MAX_CONNECTIONS: ['8', 8],
  GATEWAY_HTTP_MAX_CONNECTIONS_PER_ADDRESS: ['9', 9],
  GATEWAY_HTTP_OPEN_METRICS: ['true', true],
  GATEWAY_HTTP_PUBLIC_URL: ['https://box.test/gateway', 'https://box.test/gateway'],
  GATEWAY_ESCALATIONS: [
    '[{"name":"nurse","afterSeconds":60}]',
    [{ name: 'nurse', afterSeconds: 60 }],
  ],
  GATEWAY_DRILLS: [
    '[{"at":"03:30","timeZone":"Europe/Berlin"}]',
    [{ at: '03:30', timeZone: 'Europe/Berlin' }],
  ],
  GATEWAY_OUTPUTS: ['[]', []],
  GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: ['60', 60],
  GATEWAY_HTTP_ALLOWED_ORIGINS: ['["https://A.test/"]', ['https://a.test']],
  GATEWAY_REDIS_MAX_MEMORY_BYTES: ['1000000000', 1_000_000_000],
  GATEWAY_REDIS_URL: ['rediss://127.0.0.1:7', 'rediss://127.0.0.1:7'],
  GATEWAY_REDIS_SENTINELS: ['["a:26379"]', [{ host: 'a', port: 26_379 }]],
  GATEWAY_REDIS_NAME: ['home-7', 'home-7'],
  GATEWAY_REDIS_CLUSTER: ['["[::1]:7000"]', [{ host: '::1', port: 7000 }]],
  GATEWAY_REDIS_USER: ['gateway', 'gateway'],
  GATEWAY_REDIS_PASSWORD: ['hunter2', 'hunter2'],
  GATEWAY_REDIS_TLS_CA_FILE: [CERT_FILE, CERT_FILE],
  GATEWAY_REDIS_TLS_CERT_FILE: [CERT_FILE, CERT_FILE],
  GATEWAY_REDIS_TLS_KEY_FILE: [KEY_FILE, KEY_FILE],
  GATEWAY_REDIS_SENTINEL_USER: ['watcher', 'watcher'],
  GATEWAY_REDIS_SENTINEL_PASSWORD: ['hunter3', 'hunter3'],
  GATEWAY_REDIS_SENTINEL_TLS_CA_FILE: [CERT_FILE, CERT_FILE],
  GATEWAY_REDIS_SENTINEL_TLS_CERT_FILE: [CERT_FILE, CERT_FILE],
  GATEWAY_REDIS_SENTINEL_TLS_KEY_FILE: [KEY_FILE, KEY_FILE],
  GATEWAY_REDIS_REPLICAS: ['2', 2],
  GATEWAY_REDIS_WITHOUT_REPLICA: ['refuse', 'refuse'],
  GATEWAY_LEASE_LENGTH_SECONDS: ['1030', 1030],
  GATEWAY_LEASE_RENEW_SECONDS: ['103', 103],
  GATEWAY_LOG_LEVEL: ['silent', 'silent'],
  GATEWAY_LIMITS_CONNECTIONS_PER_SECOND: ['9', 9],
  GATEWAY_LIMITS_CONNECTION_BURST: ['10', 10],
  GATEWAY_LIMITS_DEVICE_MESSAGES_PER_SECOND: ['31', 31],
  GATEWAY_LIMITS_DEVICE_MESSAGE_BURST: ['32', 32],
  GATEWAY_LIMITS_DEVICE_BYTES_PER_SECOND: ['33', 33],
  GATEWAY_LIMITS_DEVICE_BYTE_BURST: ['34', 34],
  GATEWAY_LIMITS_DEVICE_ALARMS_PER_DAY: ['35', 35],
  GATEWAY_LIMITS_DEVICE_ALARM_BYTES_PER_DAY: ['36', 36],
  GATEWAY_LIMITS_TOKEN_MESSAGES_PER_SECOND: ['37', 37],
  GATEWAY_LIMITS_TOKEN_MESSAGE_BURST: ['38', 38],
  GATEWAY_LIMITS_TOKEN_BYTES_PER_SECOND: ['39', 39],
  GATEWAY_LIMITS_TOKEN_BYTE_BURST: ['40', 40],
  GATEWAY_LIMITS_DEVICE_CONNECTIONS: ['61', 61],
  GATEWAY_LIMITS_DEVICE_PERSISTENT_SESSIONS: ['62', 62],
  GATEWAY_LIMITS_DEVICE_SUBSCRIPTIONS: ['63', 63],
  GATEWAY_LIMITS_DEVICE_RETAINED_TOPICS: ['64', 64],
  GATEWAY_LIMITS_DEVICE_RETAINED_BYTES: ['65', 65],
  GATEWAY_LIMITS_DEVICE_FOOTAGE_BYTES: ['66', 66],
  GATEWAY_LIMITS_TOKEN_CONNECTIONS: ['67', 67],
  GATEWAY_LIMITS_TOKEN_PERSISTENT_SESSIONS: ['68', 68],
  GATEWAY_LIMITS_TOKEN_SUBSCRIPTIONS: ['69', 69],
  GATEWAY_LIMITS_LOCATION_RETAINED_TOPICS: ['70', 70],
  GATEWAY_LIMITS_LOCATION_RETAINED_BYTES: ['71', 71],
  GATEWAY_LIMITS_TOTAL_CONNECTIONS: ['72', 72],
  GATEWAY_LIMITS_TOTAL_PERSISTENT_SESSIONS: ['73', 73],
  GATEWAY_LIMITS_HANDSHAKES_PER_SECOND: ['73', 73],
  GATEWAY_LIMITS_HANDSHAKE_BURST: ['74', 74],
  GATEWAY_LIMITS_TOKEN_BACKLOG_BYTES: ['75', 75],
  GATEWAY_LIMITS_DEVICE_CONNECTS_PER_SECOND: ['91', 91],
  GATEWAY_LIMITS_DEVICE_CONNECT_BURST: ['92', 92],
  GATEWAY_LIMITS_TOKEN_CONNECTS_PER_SECOND: ['93', 93],
  GATEWAY_LIMITS_TOKEN_CONNECT_BURST: ['94', 94],
  GATEWAY_LIMITS_TOTAL_BACKLOG_BYTES: ['76', 76],
  GATEWAY_LIMITS_TOTAL_RETAINED_BYTES: ['77', 77],
  GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: ['11', 11],
  GATEWAY_SESSIONS_MAX_QUEUED_BYTES: ['21', 21],
  GATEWAY_SESSIONS_MAX_QUEUED_HOURS: ['12', 12],
  GATEWAY_SESSIONS_FORGET_AFTER_DAYS: ['13', 13],
  GATEWAY_HISTORY_RETENTION_DAYS: ['14', 14],
  GATEWAY_AUDIT_RETENTION_DAYS: ['15', 15],
  GATEWAY_AUDIT_EXPORT: ['true', true],
  GATEWAY_FOOTAGE_MAX_UPLOAD_BYTES: ['18', 18],
  GATEWAY_FOOTAGE_MIN_FREE_BYTES: ['0', 0],
  GATEWAY_FOOTAGE_S3_ENDPOINT: ['https://s3.test', 'https://s3.test'],
  GATEWAY_FOOTAGE_S3_REGION: ['eu-central-1', 'eu-central-1'],
  GATEWAY_FOOTAGE_S3_BUCKET: ['home-7', 'home-7'],
  GATEWAY_FOOTAGE_S3_PATH_STYLE: ['false', false],
  GATEWAY_FOOTAGE_S3_ACCESS_KEY_ID: ['AKIA7', 'AKIA7'],
  GATEWAY_FOOTAGE_S3_SECRET_ACCESS_KEY: ['hunter2', 'hunter2'],
  GATEWAY_REJECTED_MAX_PER_LOCATION: ['17', 17],
  GATEWAY_BRIDGES: ['[{"name":"a","url":"mqtt://b"}]', [BRIDGE]],
};

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => z.looseObject({}).parse(inner)[name], value);
}

/** Variables that cannot be set together: the store is in one place. */
const ELSEWHERE: Record<string, RegExp> = {
  url: /^GATEWAY_REDIS_(SENTINEL|NAME|CLUSTER)/,
  sentinels: /^GATEWAY_REDIS_(URL|CLUSTER)/,
  cluster: /^GATEWAY_REDIS_(URL|SENTINEL|NAME)/,
};

test('has one variable for every key of the schema', () => {
  const variables = configKeys(configSchema).map(({ variable }) => variable);
  expect(variables.sort()).toEqual(Object.keys(OTHER_VALUES).sort());
});

test.each(Object.entries(ELSEWHERE))('sets every key next to redis.%s', (_place, elsewhere) => {
  const values = Object.entries(OTHER_VALUES).filter(([name]) => !elsewhere.test(name));
  const config = loadConfig({
    ...NOWHERE,
    env: Object.fromEntries(values.map(([name, [text]]) => [name, text])),
  });
  const paths = new Map(configKeys(configSchema).map(({ variable, path }) => [variable, path]));
  for (const [name, [, value]] of values) {
    expect([name, valueAt(config, paths.get(name) ?? [])]).toEqual([name, value]);
  }
});

test('prefers the environment to the file', () => {
  const file = new URL('../../config/gateway.yaml', import.meta.url).pathname;
  const config = loadConfig({ ...NOWHERE, file, env: { GATEWAY_MQTT_PORT: '1999' } });
  expect(config.mqtt.port).toBe(1999);
  expect(config.http.port).toBe(8080);
});

test('parses lists and maps as JSON', () => {
  const schema = z.strictObject({
    bridges: z.array(z.strictObject({ port: z.number() })).default([]),
    labels: z.record(z.string(), z.string()).optional(),
  });
  const env = { GATEWAY_BRIDGES: '[{"port":1}]', GATEWAY_LABELS: 'not JSON' };
  const { assignments } = readEnvironment(configKeys(schema), env);
  expect(assignments.map(({ value }) => value)).toEqual([[{ port: 1 }], 'not JSON']);
});

test('reads only the gateway’s variables, and no key from GATEWAY_CONFIG', () => {
  const env = { PATH: '/bin', GATEWAYS: '2', GATEWAY_CONFIG: '/a.yaml', GATEWAY_: 'x' };
  const { assignments, faults } = readEnvironment(configKeys(configSchema), env);
  expect(assignments).toEqual([]);
  expect(faults.map(({ path }) => path)).toEqual(['GATEWAY_']);
});

test.each(['', ' 1', '1e3', '0x10', 'Infinity', 'TRUE'])(
  'accepts %j neither as a number nor as a boolean',
  (text) => {
    const env = { GATEWAY_MQTT_PORT: text, GATEWAY_ALLOW_PLAINTEXT: text };
    const { assignments } = readEnvironment(configKeys(configSchema), env);
    expect(assignments.map(({ value }) => value)).toEqual([text, text]);
  },
);
