import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { GatewayError } from '../../src/errors.js';

const TLS = { GATEWAY_TLS_CERT_FILE: 'a', GATEWAY_TLS_KEY_FILE: 'b' };

function load(env: Record<string, string>) {
  return loadConfig({ env, programDir: '/none', cwd: '/working' });
}

function faultsOf(env: Record<string, string>): string[] {
  try {
    load(env);
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.faults.map(({ path, message }) => `${path}: ${message}`);
  }
}

describe('plaintext', () => {
  test.each(['0.0.0.0', '::', '192.168.1.2', 'gateway.example', '127.1'])(
    'is refused on %s',
    (host) => {
      for (const [variable, key] of [
        ['GATEWAY_MQTT_HOST', 'mqtt.host'],
        ['GATEWAY_HTTP_HOST', 'http.host'],
      ] as const) {
        expect(faultsOf({ [variable]: host })).toMatchObject([expect.stringContaining(key)]);
        expect(faultsOf({ [variable]: host, GATEWAY_ALLOW_PLAINTEXT: 'true' })).toEqual([]);
      }
    },
  );

  test.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost'])('is allowed on %s', (host) => {
    expect(load({ GATEWAY_MQTT_HOST: host }).mqtt.host).toBe(host);
  });
});

describe('listeners', () => {
  test.each<[Record<string, string>, string]>([
    [{ GATEWAY_MQTT_PORT: '8080' }, 'http.port: is the port of mqtt.port'],
    [{ GATEWAY_MQTT_PORT: '8443', ...TLS }, 'http.tlsPort: is the port of mqtt.port'],
    [{ GATEWAY_MQTT_TLS_PORT: '8443', ...TLS }, 'http.tlsPort: is the port of mqtt.tlsPort'],
    [
      {
        GATEWAY_MQTT_PORT: '1',
        GATEWAY_MQTT_HOST: '::',
        GATEWAY_HTTP_PORT: '1',
        GATEWAY_ALLOW_PLAINTEXT: 'true',
      },
      'http.port: is the port of mqtt.port',
    ],
  ])('with the same address are a fault: %j', (env, fault) => {
    expect(faultsOf(env).map((text) => text.replace(/GATEWAY_\w+: /, ''))).toContain(fault);
  });

  test.each<Record<string, string>>([
    { GATEWAY_MQTT_PORT: '0', GATEWAY_HTTP_PORT: '0' },
    { GATEWAY_MQTT_TLS_PORT: '8443' },
    { GATEWAY_MQTT_PORT: '1', GATEWAY_HTTP_PORT: '1', GATEWAY_HTTP_HOST: '127.0.0.2' },
  ])('with different addresses are no fault: %j', (env) => {
    expect(faultsOf(env)).toEqual([]);
  });
});

test.each(['*', 'null', 'a.example', 'https://a.example/x', 'https://*.example'])(
  'the origin %s, which no browser sends, is a fault',
  (origin) => {
    const faults = faultsOf({ GATEWAY_HTTP_ALLOWED_ORIGINS: JSON.stringify([origin]) });
    expect(faults).toEqual([expect.stringContaining('must be the origin of a web application')]);
  },
);
