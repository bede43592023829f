import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { BridgeConfig } from '../../src/config/bridge-schema.js';
import { loadConfig } from '../../src/config/load.js';
import { type FieldFault, GatewayError } from '../../src/errors.js';

const NOWHERE = { programDir: '/none', cwd: '/working' };

function load(bridges: unknown): readonly BridgeConfig[] {
  const env = { GATEWAY_BRIDGES: JSON.stringify(bridges) };
  return loadConfig({ ...NOWHERE, env }).bridges;
}

/** The faults of a bridge that has a name and a url, and these keys. */
function faultsOf(keys: object): readonly FieldFault[] {
  try {
    load([{ name: 'region', url: 'mqtt://broker', ...keys }]);
  } catch (error) {
    if (error instanceof GatewayError) return error.faults;
    throw error;
  }
  return [];
}

test('alarms of some kinds are alarms only', () => {
  const [bridge] = load([{ name: 'a', url: 'mqtt://b', kinds: ['fall'] }]);
  expect(bridge?.send).toBe('alarms');
});

test.each([
  ['name', { name: 'Region' }],
  ['url', { url: 'http://broker' }],
  ['url', { url: 'broker:1883' }],
  ['url', { url: 'mqtt://user:secret@broker' }],
  ['protocol', { protocol: 4 }],
  ['locations.0', { locations: ['Haus am See'] }],
  ['kinds.0', { kinds: ['falls'] }],
  ['kinds', { kinds: ['fall'], send: 'all' }],
  ['filters.0', { filters: ['a/#/b'] }],
  ['filters', { filters: ['gateway/status'] }],
  ['topic', { topic: 'a/+/{kind}' }],
  ['topic', { topic: '{room}' }],
  ['topic', { topic: '' }],
  ['qos', { qos: 3 }],
  ['maxInFlight', { maxInFlight: 0 }],
  ['username', { password: 'secret' }],
  ['keyFile', { certFile: fileURLToPath(import.meta.url) }],
  ['certFile', { keyFile: fileURLToPath(import.meta.url) }],
  ['caFile', { caFile: '/none/ca.crt' }],
  ['commands.0', { commands: ['a#'] }],
  ['colour', { colour: 'red' }],
])('a fault in a bridge is named by its path: %s', (key, keys) => {
  const faults = faultsOf(keys);
  expect(faults.map(({ path }) => path)).toEqual([`bridges.0.${key}`]);
  expect(faults[0]?.message).toMatch(/^GATEWAY_BRIDGES: |^cannot be read \(ENOENT\)$/);
  expect(faults[0]?.message).not.toContain('secret');
});

test('two bridges of one name are a fault', () => {
  const twice = [
    { name: 'a', url: 'mqtt://b' },
    { name: 'a', url: 'mqtt://c' },
  ];
  expect(() => load(twice)).toThrow(GatewayError);
});
