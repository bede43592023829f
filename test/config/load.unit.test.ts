import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { type FieldFault, GatewayError } from '../../src/errors.js';
import { DEFAULTS } from './defaults.js';

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
    const config = loadConfig({ file: 'here.yaml', env: {}, programDir: '/none', cwd: programDir });
    expect(config.site).toBe('here');
  });

  test('is a fault when named and missing', () => {
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
    expect(config.tls).toEqual({ host: '::', certFile, keyFile });
  });
});

describe('faults', () => {
  test('are all reported together, each with its path', () => {
    const yaml = `
      site: Not Valid
      dataDir: ''
      adminToken: not one word
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
