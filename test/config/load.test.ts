import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import type { Config } from '../../src/config/schema.js';
import { type FieldFault, GatewayError } from '../../src/errors.js';

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
    maxFiltersPerSession: 1000,
    maxInFlight: 100,
  },
  http: {
    host: '127.0.0.1',
    port: 8080,
    tlsPort: 8443,
    maxBodyBytes: 65_536,
    maxConnections: 10_000,
    openMetrics: false,
  },
  redis: {},
  log: { level: 'info' },
  limits: { connectionsPerSecond: 10, connectionBurst: 100 },
  sessions: { maxQueuedMessages: 10_000, maxQueuedHours: 72, forgetAfterDays: 7 },
  history: { retentionDays: 365 },
  audit: { retentionDays: 365, maxRecordsPerAction: 100_000 },
  footage: { maxUploadBytes: 104_857_600, minFreeBytes: 268_435_456 },
  rejected: { maxPerLocation: 1000 },
  bridges: [],
};

let programDir: string;
beforeEach(() => {
  programDir = mkdtempSync(join(tmpdir(), 'gateway-config-'));
});
afterEach(() => {
  rmSync(programDir, { recursive: true });
});

interface Given {
  readonly yaml?: string;
  readonly file?: string;
  readonly env?: Record<string, string>;
}

/** Loads with `yaml` as the file beside the program. */
function load({ yaml, file, env = {} }: Given): Config {
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
  test('hold without a file', () => {
    expect(load({})).toEqual(DEFAULTS);
  });

  test.each(['', '# nothing\n', 'mqtt:\n  # port: 1\nredis:\n'])(
    'hold with the file %j',
    (yaml) => {
      expect(load({ yaml })).toEqual(DEFAULTS);
    },
  );

  test('are what the sample file says', () => {
    const file = new URL('../../config/gateway.yaml', import.meta.url).pathname;
    expect(load({ file })).toEqual(DEFAULTS);
  });
});

describe('the file', () => {
  test('is the one beside the program, unless GATEWAY_CONFIG or --config names another', () => {
    const byVariable = write('variable.yaml', 'site: variable');
    const byOption = write('option.yaml', 'site: option');
    expect(load({ yaml: 'site: beside' }).site).toBe('beside');
    expect(load({ env: { GATEWAY_CONFIG: byVariable } }).site).toBe('variable');
    expect(load({ env: { GATEWAY_CONFIG: byVariable }, file: byOption }).site).toBe('option');
  });

  test('is found from the working directory', () => {
    write('here.yaml', 'site: here');
    const config = loadConfig({ file: 'here.yaml', env: {}, programDir: '/none', cwd: programDir });
    expect(config.site).toBe('here');
  });

  test('is a fault when it is named and missing', () => {
    expect(faultsOf({ file: '/none/gateway.yaml' })).toEqual([
      { path: '/none/gateway.yaml', message: 'cannot be read (ENOENT)' },
    ]);
    expect(pathsOf({ env: { GATEWAY_CONFIG: '/none/other.yaml' } })).toEqual(['/none/other.yaml']);
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

  test('gives absolute paths', () => {
    const config = load({ yaml: 'dataDir: d\ntls: { certFile: a.crt, keyFile: /etc/a.key }' });
    expect(config.dataDir).toBe('/working/d');
    expect(config.tls).toEqual({
      host: '0.0.0.0',
      certFile: '/working/a.crt',
      keyFile: '/etc/a.key',
    });
  });
});

describe('faults', () => {
  test('are reported all at once, each with its path', () => {
    const yaml = `
      site: Not Valid
      dataDir: ''
      adminToken: short
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
        'tls.keyFile',
      ].sort(),
    );
  });

  test('are found in the environment also when the file is broken', () => {
    const file = '/none/gateway.yaml';
    expect(pathsOf({ file, env: { GATEWAY_LOG_LEVEL: 'loud' } })).toEqual([file, 'log.level']);
  });

  test('say which key is missing', () => {
    expect(faultsOf({ yaml: 'tls: { certFile: a }' })).toEqual([
      { path: 'tls.keyFile', message: 'is missing' },
    ]);
  });

  test('name the variable they are in', () => {
    const env = { GATEWAY_HTTP_PORT: '80a', GATEWAY_HTTP_HOST: '0.0.0.0', GATEWAY_SIET: 'a' };
    const messages = faultsOf({ env }).map(({ path, message }) => `${path}: ${message}`);
    expect(messages).toHaveLength(3);
    expect(messages).toContainEqual(expect.stringMatching(/^http\.port: GATEWAY_HTTP_PORT: /));
    expect(messages).toContainEqual(expect.stringMatching(/^http\.host: GATEWAY_HTTP_HOST: /));
    expect(messages).toContainEqual(expect.stringMatching(/^GATEWAY_SIET: GATEWAY_SIET /));
  });

  test.each([
    ['adminToken: hunter2'],
    ['adminToken: "hunter2 hunter2 hunter2"'],
    ['adminToken: [hunter2]'],
    ['redis: { url: "http://user:hunter2@host" }'],
    ['adminToken: hunter2\n  hunter2: hunter2'],
    ['adminToken: "hunter2'],
    ['adminToken: *hunter2'],
  ])('do not show secrets: %s', (yaml) => {
    const error = errorOf({ yaml });
    expect(error.faults).not.toHaveLength(0);
    expect(JSON.stringify([error.detail, error.faults, error.message])).not.toContain('hunter2');
  });
});

describe('plaintext', () => {
  test.each(['0.0.0.0', '::', '192.168.1.2', 'gateway.example', '127.1'])(
    'is refused on %s',
    (host) => {
      expect(pathsOf({ yaml: `mqtt: { host: "${host}" }` })).toEqual(['mqtt.host']);
      expect(pathsOf({ yaml: `http: { host: "${host}" }` })).toEqual(['http.host']);
      expect(load({ yaml: `mqtt: { host: "${host}" }\nallowPlaintext: true` }).mqtt.host).toBe(
        host,
      );
    },
  );

  test.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost'])('is allowed on %s', (host) => {
    expect(load({ yaml: `mqtt: { host: "${host}" }` }).mqtt.host).toBe(host);
  });
});
