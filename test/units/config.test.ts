/** The configuration: defaults, files, variables, and what is said of each fault. */

import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { configKeys, readEnvironment } from '../../src/config/environment.js';
import { loadConfig } from '../../src/config/load.js';
import { configWarnings, endedCertificateFaults } from '../../src/config/rules.js';
import { type Config, configSchema } from '../../src/config/schema.js';
import { type FieldFault, GatewayError } from '../../src/errors.js';

/** Every default of the configuration. */
const DEFAULTS: Config = {
  site: 'site',
  dataDir: '/working/data',
  allowPlaintext: false,
  mqtt: {
    host: '127.0.0.1',
    port: 1883,
    tlsPort: 8883,
    maxPacketBytes: 262_144,
    maxAlarmBytes: 16_384,
    maxKeepAliveSeconds: 300,
    maxInFlight: 100,
  },
  http: {
    host: '127.0.0.1',
    port: 8080,
    tlsPort: 8443,
    maxBodyBytes: 65_536,
    maxConnections: 10_000,
    maxConnectionsPerAddress: 1_000,
    openMetrics: false,
    allowedOrigins: [],
  },
  redis: { replicas: 0, withoutReplica: 'continue' },
  lease: { lengthSeconds: 5, renewSeconds: 1 },
  log: { level: 'info' },
  limits: {
    connectionsPerSecond: 10,
    connectionBurst: 100,
    device: {
      messagesPerSecond: 2_000,
      alarmsPerDay: 200_000,
      footageBytes: 5_368_709_120,
    },
    token: {
      messagesPerSecond: 2_000,
      connections: 1_000,
      persistentSessions: 50,
    },
    total: {
      persistentSessions: 200,
      retainedBytes: 67_108_864,
    },
  },
  sessions: {
    maxQueuedMessages: 1_000,
    maxQueuedBytes: 1_048_576,
    maxQueuedHours: 72,
    forgetAfterDays: 7,
  },
  supervision: { silentAfterSeconds: 900 },
  escalations: [],
  drills: [],
  outputs: [],
  homeAssistant: { discovery: false, prefix: 'homeassistant' },
  history: { retentionDays: 365 },
  audit: { retentionDays: 365 },
  footage: { maxUploadBytes: 104_857_600, minFreeBytes: 268_435_456 },
  rejected: { maxPerLocation: 1000 },
  bridges: [],
};

describe('loading', () => {
  const TLS_CERT_FILE = 'test/harness/tls/localhost.crt';
  const TLS_KEY_FILE = 'test/harness/tls/localhost.key';

  let programDir: string;
  beforeEach(() => {
    programDir = mkdtempSync(join(tmpdir(), 'gateway-config-'));
  });
  afterEach(() => rmSync(programDir, { recursive: true }));

  interface Given {
    readonly yaml?: string;
    readonly file?: string;
    readonly env?: Record<string, string>;
  }

  /** Loads with `yaml` as the file next to the program. */
  function load({ yaml, file, env = {} }: Given) {
    if (yaml !== undefined) write('config/gateway.yaml', yaml);
    return loadConfig({ file, env, programDir, cwd: '/working' });
  }

  function write(name: string, text: string): string {
    const path = join(programDir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  function errorOf(given: Given): GatewayError {
    try {
      load(given);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
    throw new Error('the configuration was accepted');
  }

  function faultsOf(given: Given): readonly FieldFault[] {
    const error = errorOf(given);
    expect(error.code).toBe('invalid-config');
    return error.faults;
  }

  function pathsOf(given: Given): string[] {
    return faultsOf(given).map(({ path }) => path);
  }

  describe('the defaults', () => {
    test('apply without a file', () => {
      expect(load({})).toEqual(DEFAULTS);
    });

    test.each(['', '# nothing\n', 'mqtt:\n  # port: 1\nredis:\n'])(
      'apply with the file %j',
      (yaml) => {
        expect(load({ yaml })).toEqual(DEFAULTS);
      },
    );

    test('match the sample file', () => {
      const file = new URL('../../config/gateway.yaml', import.meta.url).pathname;
      expect(load({ file })).toEqual(DEFAULTS);
    });
  });

  describe('the file', () => {
    test('is gateway.local.yaml or gateway.yaml beside the program unless GATEWAY_CONFIG or --config names another', () => {
      const byVariable = write('variable.yaml', 'site: variable');
      const byOption = write('option.yaml', 'site: option');
      expect(load({ yaml: 'site: beside' }).site).toBe('beside');
      write('config/gateway.local.yaml', 'site: local');
      expect(load({}).site).toBe('local');
      expect(load({ env: { GATEWAY_CONFIG: '' } }).site).toBe('local');
      expect(load({ env: { GATEWAY_CONFIG: byVariable } }).site).toBe('variable');
      expect(load({ env: { GATEWAY_CONFIG: byVariable }, file: byOption }).site).toBe('option');
    });

    test('is found relative to the working directory', () => {
      write('here.yaml', 'site: here');
      const config = loadConfig({
        file: 'here.yaml',
        env: {},
        programDir: '/none',
        cwd: programDir,
      });
      expect(config.site).toBe('here');
    });

    test('is a fault when named and missing', () => {
      expect(faultsOf({ file: '/none/gateway.yaml' })).toEqual([
        { path: '/none/gateway.yaml', message: 'cannot be read (ENOENT)' },
      ]);
      expect(pathsOf({ env: { GATEWAY_CONFIG: '/none/other.yaml' } })).toEqual([
        '/none/other.yaml',
      ]);
    });

    test.each([
      ['a broken line', 'site: a\nmqtt: {port: 1', 'line 2'],
      ['a repeated key', 'site: a\nsite: b', 'line 2'],
      ['an unknown alias', 'site: *nothing', 'alias'],
      ['an unknown tag', 'site: !secret a', 'line 1'],
      ['a list', '- site', 'mapping'],
      ['two documents', 'site: a\n---\nsite: b', 'line'],
    ])('is a fault when it is %s', (_, yaml, words) => {
      const faults = faultsOf({ yaml });
      expect(faults).toHaveLength(1);
      expect(faults[0]?.path).toBe(join(programDir, 'config/gateway.yaml'));
      expect(faults[0]?.message).toContain(words);
    });

    test('may have null where that is a value, and an empty key anywhere else', () => {
      const yaml = 'supervision: { silentAfterSeconds: null }\nlog:\nsite:';
      const { supervision, site } = load({ yaml });
      expect(supervision.silentAfterSeconds).toBeNull();
      expect(site).toBe('site');
    });

    test('resolves paths to absolute ones', () => {
      const keyFile = write('a.key', readFileSync(TLS_KEY_FILE, 'utf8'));
      write('a.crt', readFileSync(TLS_CERT_FILE, 'utf8'));
      const file = write('a.yaml', `dataDir: d\ntls: { certFile: a.crt, keyFile: ${keyFile} }`);
      const config = loadConfig({ file, env: {}, programDir, cwd: programDir });
      expect(config.dataDir).toBe(join(programDir, 'd'));
      const certFile = join(programDir, 'a.crt');
      expect(config.tls).toEqual({ host: '::', certFile, keyFile, selfSigned: false });
    });
  });

  describe('faults', () => {
    test('are all reported together, each with its path', () => {
      const yaml = `
      site: Not Valid
      dataDir: ''
      adminToken: not one word, but many
      colour: red
      tls: { certFile: a }
      mqtt: { port: 65536, host: 0.0.0.0, prot: 1, maxInFlight: 0 }
      http: { port: 1.5, openMetrics: yes please, host: '' }
      redis: { url: 'http://127.0.0.1' }
      log: { level: loud }
      history: 7
    `;
      const env = { GATEWAY_MQTT_MAX_ALARM_BYTES: 'many', GATEWAY_MQTT_PROT: '1' };
      expect(pathsOf({ yaml, env }).sort()).toEqual(
        [
          'GATEWAY_MQTT_PROT',
          'adminToken',
          'colour',
          'dataDir',
          'history',
          'http.host',
          'http.host',
          'http.openMetrics',
          'http.port',
          'log.level',
          'mqtt.host',
          'mqtt.maxAlarmBytes',
          'mqtt.maxInFlight',
          'mqtt.port',
          'mqtt.prot',
          'redis.url',
          'site',
          'tls.certFile',
          'tls.keyFile',
        ].sort(),
      );
    });

    test('are found in the environment even when the file is broken', () => {
      const file = '/none/gateway.yaml';
      expect(pathsOf({ file, env: { GATEWAY_LOG_LEVEL: 'loud' } })).toEqual([file, 'log.level']);
    });

    test('include a lease that a single late renewal would end', () => {
      const message = 'must be at most half of lengthSeconds';
      const fault = { path: 'lease.renewSeconds', message };
      expect(faultsOf({ yaml: 'lease: { lengthSeconds: 5, renewSeconds: 3 }' })).toEqual([fault]);
      expect(faultsOf({ yaml: 'lease: { renewSeconds: 3 }' })).toEqual([fault]);
      expect(faultsOf({ yaml: 'lease: { lengthSeconds: 1 }' })).toEqual([fault]);
    });

    test('include an admin token that can be guessed', () => {
      const fault = { path: 'adminToken', message: 'must have at least 16 characters' };
      expect(faultsOf({ yaml: 'adminToken: fifteen-letters' })).toEqual([fault]);
    });

    test('state which key is missing', () => {
      expect(faultsOf({ yaml: `tls: { certFile: ${resolve(TLS_CERT_FILE)} }` })).toEqual([
        { path: 'tls.keyFile', message: 'is missing' },
      ]);
    });

    test('name the variable in which they are', () => {
      const env = { GATEWAY_HTTP_PORT: '80a', GATEWAY_HTTP_HOST: '0.0.0.0', GATEWAY_SIET: 'a' };
      const messages = faultsOf({ env }).map(({ path, message }) => `${path}: ${message}`);
      expect(messages).toHaveLength(3);
      expect(messages).toContainEqual(expect.stringMatching(/^http\.port: GATEWAY_HTTP_PORT: /));
      expect(messages).toContainEqual(expect.stringMatching(/^http\.host: GATEWAY_HTTP_HOST: /));
      expect(messages).toContainEqual('GATEWAY_SIET: sets no key of the configuration');
    });

    test.each([
      ['site: 7', 'site: must be text'],
      ['mqtt: { port: many }', 'mqtt.port: must be a number'],
      ['mqtt: { port: 1.5 }', 'mqtt.port: must be a whole number'],
      ['mqtt: { port: -1 }', 'mqtt.port: must be at least 0'],
      ['mqtt: { port: 65536 }', 'mqtt.port: must be at most 65535'],
      ['allowPlaintext: maybe', 'allowPlaintext: must be true or false'],
      ['mqtt: 1883', 'mqtt: must be an object with keys'],
      ['bridges: region', 'bridges: must be a list'],
      ['bridges: [{ name: a }]', 'bridges.0.url: is missing'],
      [
        'bridges: [{ name: a, url: "mqtt://b", locations: [] }]',
        'bridges.0.locations: must not be empty',
      ],
      [
        'log: { level: loud }',
        'log.level: must be one of trace, debug, info, warn, error, fatal, silent',
      ],
      ['colour: red', 'colour: unknown key'],
    ])('are described in plain words: %s', (yaml, words) => {
      const messages = faultsOf({ yaml }).map(({ path, message }) => `${path}: ${message}`);
      expect(messages).toEqual([words]);
    });

    test.each([
      ['adminToken: "hunter2 hunter2 hunter2"'],
      ['adminToken: [hunter2]'],
      ['redis: { url: "http://user:hunter2@host" }'],
      ['adminToken: hunter2\n  hunter2: hunter2'],
      ['adminToken: "hunter2'],
      ['adminToken: *hunter2'],
    ])('show no secrets: %s', (yaml) => {
      const error = errorOf({ yaml });
      expect(error.faults).not.toHaveLength(0);
      expect(JSON.stringify([error.detail, error.faults, error.message])).not.toContain('hunter2');
    });
  });

  describe('certificate and key', () => {
    const [cert, key] = [resolve(TLS_CERT_FILE), resolve(TLS_KEY_FILE)];
    const faultsOfTls = (certFile: string, keyFile: string, rest = '') =>
      faultsOf({ yaml: `tls: { certFile: ${certFile}, keyFile: ${keyFile} }\n${rest}` })
        .map(({ path, message }) => `${path}: ${message}`)
        .toSorted();

    test('are faults when missing, along with other faults', () => {
      expect(faultsOfTls('/none/a.crt', tmpdir(), 'site: 7')).toEqual([
        'site: must be text',
        'tls.certFile: cannot be read (ENOENT)',
        'tls.keyFile: cannot be read (EISDIR)',
      ]);
    });

    test('are faults when not PEM of their kind', () => {
      expect(faultsOfTls(key, cert)).toEqual([
        'tls.certFile: holds no usable certificate in PEM',
        'tls.keyFile: holds no usable private key in PEM',
      ]);
    });

    test('are a fault when they do not match', () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
      const other = write('a.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
      expect(faultsOfTls(cert, other)).toEqual([
        'tls.keyFile: is not the key of the certificate in certFile',
      ]);
    });
  });
});

describe('the environment', () => {
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
    maxQueuedMessages: 10_000,
    maxQueuedBytes: 16_777_216,
    maxQueuedHours: 168,
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
    GATEWAY_TLS_SELF_SIGNED: ['true', true],
    GATEWAY_TLS_CLIENT_CA_FILE: [CERT_FILE, CERT_FILE],
    GATEWAY_TLS_CLIENT_CERTIFICATES: ['required', 'required'],
    GATEWAY_HOME_ASSISTANT_DISCOVERY: ['true', true],
    GATEWAY_HOME_ASSISTANT_PREFIX: ['ha', 'ha'],
    GATEWAY_BACKUP_AT: ['02:30', '02:30'],
    GATEWAY_BACKUP_TIME_ZONE: ['UTC', 'UTC'],
    GATEWAY_BACKUP_DIRECTORY: ['/mnt/backup', '/mnt/backup'],
    GATEWAY_BACKUP_KEEP: ['3', 3],
    GATEWAY_BACKUP_FOOTAGE: ['true', true],
    GATEWAY_WATCHDOG_URL: ['https://hc-ping.example/1', 'https://hc-ping.example/1'],
    GATEWAY_MQTT_HOST: ['0.0.0.0', '0.0.0.0'],
    GATEWAY_MQTT_PORT: ['0', 0],
    GATEWAY_MQTT_TLS_PORT: ['1', 1],
    GATEWAY_MQTT_MAX_PACKET_BYTES: ['2', 2],
    GATEWAY_MQTT_MAX_ALARM_BYTES: ['3', 3],
    GATEWAY_MQTT_MAX_KEEP_ALIVE_SECONDS: ['4', 4],
    GATEWAY_MQTT_MAX_IN_FLIGHT: ['6', 6],
    GATEWAY_HTTP_HOST: ['::', '::'],
    GATEWAY_HTTP_PORT: ['65535', 65_535],
    GATEWAY_HTTP_TLS_PORT: ['7', 7],
    GATEWAY_HTTP_MAX_BODY_BYTES: ['8', 8],
    GATEWAY_HTTP_MAX_CONNECTIONS: ['8', 8],
    GATEWAY_HTTP_MAX_CONNECTIONS_PER_ADDRESS: ['9', 9],
    GATEWAY_HTTP_OPEN_METRICS: ['true', true],
    GATEWAY_HTTP_PUBLIC_URL: ['https://box.test/gateway', 'https://box.test/gateway'],
    GATEWAY_HTTP_SECURITY_CONTACT: ['mailto:a@b.test', 'mailto:a@b.test'],
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
    GATEWAY_LIMITS_DEVICE_ALARMS_PER_DAY: ['35', 35],
    GATEWAY_LIMITS_TOKEN_MESSAGES_PER_SECOND: ['37', 37],
    GATEWAY_LIMITS_DEVICE_FOOTAGE_BYTES: ['66', 66],
    GATEWAY_LIMITS_TOKEN_CONNECTIONS: ['67', 67],
    GATEWAY_LIMITS_TOKEN_PERSISTENT_SESSIONS: ['68', 68],
    GATEWAY_LIMITS_TOTAL_PERSISTENT_SESSIONS: ['73', 73],
    GATEWAY_LIMITS_TOTAL_RETAINED_BYTES: ['77', 77],
    GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: ['11', 11],
    GATEWAY_SESSIONS_MAX_QUEUED_BYTES: ['21', 21],
    GATEWAY_SESSIONS_MAX_QUEUED_HOURS: ['12', 12],
    GATEWAY_SESSIONS_FORGET_AFTER_DAYS: ['13', 13],
    GATEWAY_HISTORY_RETENTION_DAYS: ['14', 14],
    GATEWAY_AUDIT_RETENTION_DAYS: ['15', 15],
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

  /** Variables that cannot be set together: the store is in one place, and a certificate from one hand. */
  const ELSEWHERE: Record<string, RegExp> = {
    url: /^GATEWAY_(BACKUP|TLS_SELF|REDIS_(SENTINEL|NAME|CLUSTER))/,
    sentinels: /^GATEWAY_(BACKUP|TLS_SELF|REDIS_(URL|CLUSTER))/,
    cluster: /^GATEWAY_(BACKUP|TLS_SELF|REDIS_(URL|SENTINEL|NAME))/,
    maxMemoryBytes: /^GATEWAY_(TLS_(CERT|KEY)|REDIS_(?!MAX_MEMORY))/,
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
});

test('check-config warns of a certificate from 30 days before its end, and refuses one that has ended', () => {
  const cert = 'test/harness/tls/localhost.crt';
  const env = {
    GATEWAY_TLS_CERT_FILE: resolve(cert),
    GATEWAY_TLS_KEY_FILE: resolve(cert.replace(/crt$/, 'key')),
  };
  const config = loadConfig({ env, programDir: '/none', cwd: '/working' });
  const endMs = Date.parse(new X509Certificate(readFileSync(cert)).validTo);
  const day = 24 * 3_600_000;
  const soon = ['tls.certFile: The TLS certificate expires in 30 days.'];
  expect(configWarnings(config, endMs - 32 * day)).toEqual([]);
  expect(configWarnings(config, endMs - 30 * day)).toEqual(soon);
  expect(endedCertificateFaults(config, endMs - day)).toEqual([]);
  expect(endedCertificateFaults(config, endMs + day)).toEqual([
    { path: 'tls.certFile', message: 'the certificate has ended' },
  ]);
});
