import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import type { BridgeOptions } from '../../src/domain/bridge-schema.js';
import { type FieldFault, GatewayError } from '../../src/errors.js';

const CERT_FILE = resolve('test/harness/tls/localhost.crt');
const KEY_FILE = resolve('test/harness/tls/localhost.key');
const NOWHERE = { programDir: '/none', cwd: '/working' };

function load(bridges: unknown): readonly BridgeOptions[] {
  const env = { GATEWAY_BRIDGES: JSON.stringify(bridges) };
  return loadConfig({ ...NOWHERE, env }).bridges;
}

/** The faults of a bridge with a name, a URL and these keys. */
function faultsOf(keys: object): readonly FieldFault[] {
  return faultsOfLoading(() => load([{ name: 'region', url: 'mqtt://broker', ...keys }]));
}

function faultsOfLoading(loading: () => unknown): readonly FieldFault[] {
  try {
    loading();
  } catch (error) {
    if (error instanceof GatewayError) return error.faults;
    throw error;
  }
  return [];
}

/** The faults as `check-config` shows them, sorted. */
function reported(loading: () => unknown): string[] {
  return faultsOfLoading(loading)
    .map(({ path, message }) => `${path}: ${message}`)
    .toSorted();
}

test('sends alarms only when kinds are given', () => {
  const [bridge] = load([{ name: 'a', url: 'mqtt://b', kinds: ['fall'] }]);
  expect(bridge?.send).toBe('alarms');
});

test.each([
  ['name', { name: 'Region' }],
  ['url', { url: 'http://broker' }],
  ['url', { url: 'broker:1883' }],
  ['url', { url: 'mqtt://user:secret@broker' }],
  ['url', { url: 'wss://broker/mqtt?token=secret' }],
  ['protocol', { protocol: 4 }],
  ['locations.0', { locations: ['Haus am See'] }],
  ['kinds.0', { kinds: ['falls'] }],
  ['kinds', { kinds: ['fall'], send: 'all' }],
  ['filters.0', { filters: ['a/#/b'] }],
  ['filters', { filters: ['gateway/status'] }],
  ['topic', { topic: 'a/+/{kind}' }],
  ['topic', { topic: '{room}' }],
  ['topic', { topic: '' }],
  ['topic', { topic: `x/${'y'.repeat(1_000)}` }],
  ['qos', { qos: 3 }],
  ['maxInFlight', { maxInFlight: 0 }],
  ['username', { password: 'secret' }],
  ['keyFile', { certFile: CERT_FILE }],
  ['certFile', { certFile: KEY_FILE, keyFile: KEY_FILE }],
  ['certFile', { keyFile: KEY_FILE }],
  ['caFile', { caFile: '/none/ca.crt' }],
  ['commands.0', { commands: ['a#'] }],
  ['colour', { colour: 'red' }],
])('reports a fault in a bridge by its path: %s', (key, keys) => {
  const faults = faultsOf(keys);
  expect(faults.map(({ path }) => path)).toEqual([`bridges.0.${key}`]);
  expect(faults[0]?.message).toMatch(/^GATEWAY_BRIDGES: /);
  expect(faults[0]?.message).not.toContain('secret');
});

test('reports every fault, in the same bridge and elsewhere', () => {
  const env = {
    GATEWAY_MQTT_PORT: 'x',
    GATEWAY_BRIDGES: JSON.stringify([
      { name: 'a', url: 'mqtt://b' },
      { name: 'a', url: 7, caFile: '/none/ca.crt', password: 'secret', certFile: CERT_FILE },
      'no bridge',
    ]),
  };
  expect(reported(() => loadConfig({ ...NOWHERE, env }))).toEqual([
    'bridges.1.caFile: GATEWAY_BRIDGES: cannot be read (ENOENT)',
    'bridges.1.keyFile: GATEWAY_BRIDGES: is missing, a certFile is given',
    'bridges.1.name: GATEWAY_BRIDGES: is the name of another bridge',
    'bridges.1.url: GATEWAY_BRIDGES: must be text',
    'bridges.1.username: GATEWAY_BRIDGES: is missing, a password is given',
    'bridges.2: GATEWAY_BRIDGES: must be an object with keys',
    'mqtt.port: GATEWAY_MQTT_PORT: must be a number',
  ]);
});
