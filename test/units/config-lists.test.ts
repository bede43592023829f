/** The parts of the configuration: listeners, the store, bridges, outputs. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/load.js';
import { configWarnings, endedCertificateFaults } from '../../src/config/rules.js';
import { isEmbeddedStore } from '../../src/config/store-schema.js';
import { GatewayError } from '../../src/errors.js';

/** Loads the configuration with these variables. */
function load(env: Record<string, string>) {
  return loadConfig({ env, programDir: '/none', cwd: process.cwd() });
}

/** What is wrong with the configuration, as `check-config` shows it. */
function faultsOf(env: Record<string, string>): string[] {
  try {
    load(env);
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.faults.map(({ path, message }) => `${path}: ${message}`);
  }
}

/** Lists of the configuration as variables. */
function lists(all: Readonly<Record<string, readonly unknown[]>>): Record<string, string> {
  const variables = Object.entries(all).map(([key, list]) => [key, JSON.stringify(list)] as const);
  return Object.fromEntries(variables.map(([key, json]) => [`GATEWAY_${key.toUpperCase()}`, json]));
}

describe('listeners', () => {
  const TLS = { GATEWAY_TLS_CERT_FILE: 'a', GATEWAY_TLS_KEY_FILE: 'b' };

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

  describe('TLS', () => {
    const [CERT, KEY] = ['crt', 'key'].map((end) => resolve(`test/harness/tls/localhost.${end}`));
    const FILES = { certFile: CERT, keyFile: KEY };
    const variables = (tls: object) =>
      Object.fromEntries(
        Object.entries(tls).map(([key, value]) => {
          const name = key.replace(/[A-Z]/g, '_$&').toUpperCase();
          return [`GATEWAY_TLS_${name}`, String(value)];
        }),
      );

    test.each<[object, string[]]>([
      [{ host: '::' }, ['tls: needs certFile and keyFile, or selfSigned: true']],
      [{ selfSigned: false }, ['tls: needs certFile and keyFile, or selfSigned: true']],
      [
        { ...FILES, selfSigned: true },
        ['certFile', 'keyFile'].map((key) => `tls.${key}: cannot be given, selfSigned is true`),
      ],
      [
        { selfSigned: true, clientCertificates: 'optional' },
        ['tls.clientCertificates: is for clientCaFile, which is missing'],
      ],
      [
        { selfSigned: true, clientCaFile: '/none/ca' },
        ['tls.clientCaFile: cannot be read (ENOENT)'],
      ],
      [{ ...FILES, clientCaFile: KEY }, ['tls.clientCaFile: holds no usable certificate in PEM']],
      [{ selfSigned: true }, []],
      [{ ...FILES, clientCaFile: CERT, clientCertificates: 'required' }, []],
    ])('with %j has these faults', (tls, faults) => {
      const found = faultsOf(variables(tls)).map((text) => text.replace(/GATEWAY_\w+: /, ''));
      expect(found).toEqual(faults);
    });

    test('has its own file in the data directory, and nothing to warn of, when the gateway makes it', () => {
      const config = load({ GATEWAY_TLS_SELF_SIGNED: 'true', GATEWAY_DATA_DIR: '/var/lib/x' });
      const own = '/var/lib/x/tls/server.pem';
      expect(config.tls).toMatchObject({ certFile: own, keyFile: own });
      expect(configWarnings(config, Date.now())).toEqual([]);
      expect(endedCertificateFaults(config, Date.now())).toEqual([]);
    });
  });

  test.each(['a@b.test', 'http://a.test', 'mailto:', 'mailto:a@b.test\nExpires: never'])(
    'the security contact %j is a fault',
    (contact) => {
      const faults = faultsOf({ GATEWAY_HTTP_SECURITY_CONTACT: contact });
      expect(faults).toEqual([expect.stringContaining('must be a mailto: or https: URI')]);
    },
  );

  test.each(['*', 'null', 'a.example', 'https://a.example/x', 'https://*.example'])(
    'the origin %s, which no browser sends, is a fault',
    (origin) => {
      const faults = faultsOf({ GATEWAY_HTTP_ALLOWED_ORIGINS: JSON.stringify([origin]) });
      expect(faults).toEqual([expect.stringContaining('must be the origin of a web application')]);
    },
  );
});

describe('the store', () => {
  const CERT_FILE = resolve('test/harness/tls/localhost.crt');
  const KEY_FILE = resolve('test/harness/tls/localhost.key');
  const SENTINELS = { sentinels: ['10.0.0.1:26379', 'box-2.test:26379'], name: 'care-home' };

  /** A configuration with this section `redis`, which is a file: a variable holds one value. */
  function fileOf(redis: object): string {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-config-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const file = join(directory, 'gateway.yaml');
    writeFileSync(file, stringify({ redis }));
    return file;
  }

  const loadStore = (redis: object) => load({ GATEWAY_CONFIG: fileOf(redis) }).redis;
  const faultsOfStore = (redis: object) => faultsOf({ GATEWAY_CONFIG: fileOf(redis) });

  describe('the place of the store', () => {
    test('is the gateway itself when none is given', () => {
      expect(isEmbeddedStore(loadStore({}))).toBe(true);
      for (const redis of [{ url: 'redis://a' }, SENTINELS, { cluster: ['a:1'] }]) {
        expect(isEmbeddedStore(loadStore(redis))).toBe(false);
      }
    });

    test('is behind Sentinels, or a cluster, with names, IPv4 and IPv6 addresses', () => {
      expect(loadStore(SENTINELS).sentinels).toEqual([
        { host: '10.0.0.1', port: 26_379 },
        { host: 'box-2.test', port: 26_379 },
      ]);
      expect(loadStore({ cluster: ['[fd00::1]:7000'] }).cluster).toEqual([
        { host: 'fd00::1', port: 7000 },
      ]);
    });

    test('resolves the files of each TLS section against the working directory', () => {
      const [caFile, certFile, keyFile] = [CERT_FILE, CERT_FILE, KEY_FILE].map((file) =>
        file.slice(process.cwd().length + 1),
      );
      const tls = { caFile, certFile, keyFile };
      const redis = loadStore({ ...SENTINELS, tls, sentinelTls: { caFile } });
      expect(redis.tls).toEqual({ caFile: CERT_FILE, certFile: CERT_FILE, keyFile: KEY_FILE });
      expect(redis.sentinelTls).toEqual({ caFile: CERT_FILE });
    });

    test.each([
      [{ url: 'redis://a', cluster: ['b:1'] }, ['redis.cluster: cannot be given beside url']],
      [{ url: 'redis://a', ...SENTINELS }, ['redis.sentinels: cannot be given beside url']],
      [{ ...SENTINELS, cluster: ['b:1'] }, ['redis.cluster: cannot be given beside sentinels']],
      [
        { user: 'a', password: 'b', tls: {} },
        ['user', 'password', 'tls'].map(
          (key) => `redis.${key}: is for a store of yours: give url, sentinels or cluster`,
        ),
      ],
      [{ sentinels: ['a:1'] }, ['redis.name: is missing, sentinels are given']],
      [
        { name: 'a', sentinelPassword: 'b' },
        ['name', 'sentinelPassword'].map(
          (key) => `redis.${key}: is for sentinels, which are missing`,
        ),
      ],
      [{ cluster: ['a:1'], name: 'a' }, ['redis.name: is for sentinels, which are missing']],
      [{ ...SENTINELS, user: 'a' }, ['redis.password: is missing, a user is given']],
      [
        { ...SENTINELS, sentinelUser: 'a' },
        ['redis.sentinelPassword: is missing, a sentinelUser is given'],
      ],
      [
        { url: 'redis://a:b@c', password: 'd' },
        ['redis.password: cannot be given, the url has credentials'],
      ],
      [{ url: 'redis://a', tls: {} }, ['redis.tls: is for a url that begins with rediss://']],
      [{ sentinels: [], name: 'a' }, ['redis.sentinels: must not be empty']],
      [
        { cluster: ['a:1', 'b', 'c:0', ':1', 'd:65536', 'redis://e:1', 'f:1/0', '::1:7'] },
        [1, 2, 3, 4, 5, 6, 7].map((at) => `redis.cluster.${at}: must be host:port`),
      ],
      [
        { ...SENTINELS, tls: { caFile: '/none/a.crt' } },
        ['redis.tls.caFile: cannot be read (ENOENT)'],
      ],
      [
        { ...SENTINELS, sentinelTls: { certFile: CERT_FILE } },
        ['redis.sentinelTls.keyFile: is missing, a certFile is given'],
      ],
      [
        { cluster: ['a:1'], tls: { certFile: KEY_FILE, keyFile: KEY_FILE } },
        ['redis.tls.certFile: holds no usable certificate in PEM'],
      ],
    ])('has faults in plain words: %j', (redis, faults) => {
      expect(faultsOfStore(redis).toSorted()).toEqual(faults.toSorted());
    });

    test('shows no password in a fault', () => {
      const faults = faultsOfStore({
        url: 'redis://a:hunter2@b',
        password: 'hunter2',
        user: 'x y',
      });
      expect(faults).not.toEqual([]);
      expect(faults.join()).not.toContain('hunter2');
    });
  });
});

describe('bridges', () => {
  const CERT_FILE = resolve('test/harness/tls/localhost.crt');
  const KEY_FILE = resolve('test/harness/tls/localhost.key');
  const REGION = { name: 'region', url: 'mqtt://broker' };

  test('sends alarms only when kinds are given', () => {
    const [bridge] = load(lists({ bridges: [{ ...REGION, kinds: ['fall'] }] })).bridges;
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
    const faults = faultsOf(lists({ bridges: [{ ...REGION, ...keys }] }));
    expect(faults).toEqual([expect.stringMatching(`^bridges\\.0\\.${key}: GATEWAY_BRIDGES: `)]);
    expect(faults[0]).not.toContain('secret');
  });

  test('reports every fault, in the same bridge and elsewhere', () => {
    const env = {
      GATEWAY_MQTT_PORT: 'x',
      ...lists({
        bridges: [
          { name: 'a', url: 'mqtt://b' },
          { name: 'a', url: 7, caFile: '/none/ca.crt', password: 'secret', certFile: CERT_FILE },
          'no bridge',
        ],
      }),
    };
    expect(faultsOf(env).toSorted()).toEqual([
      'bridges.1.caFile: GATEWAY_BRIDGES: cannot be read (ENOENT)',
      'bridges.1.keyFile: GATEWAY_BRIDGES: is missing, a certFile is given',
      'bridges.1.name: GATEWAY_BRIDGES: is the name of another bridge',
      'bridges.1.url: GATEWAY_BRIDGES: must be text',
      'bridges.1.username: GATEWAY_BRIDGES: is missing, a password is given',
      'bridges.2: GATEWAY_BRIDGES: must be an object with keys',
      'mqtt.port: GATEWAY_MQTT_PORT: must be a number',
    ]);
  });
});

describe('outputs', () => {
  /** Faults, without the variable that is at fault. */
  const faultsOfLists = (all: Parameters<typeof lists>[0]) =>
    faultsOf(lists(all)).map((fault) => fault.replace(/: GATEWAY_\w+/, ''));

  const WEBHOOK = {
    name: 'hook',
    type: 'webhook',
    url: 'https://hooks.example.org/',
    secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
    topics: ['care-homes/#'],
  };

  test.each(['whsec_', 'whsec_!!!', 'whsec_C2FVsBQ'])(
    'reports a secret of a webhook that is not base64: %s',
    (secret) => {
      expect(faultsOfLists({ outputs: [{ ...WEBHOOK, secret }] })).toEqual([
        'outputs.0.secret: must be base64 after whsec_',
      ]);
    },
  );

  test('accepts any other text as a secret', () => {
    expect(faultsOfLists({ outputs: [{ ...WEBHOOK, secret: 'a secret' }] })).toEqual([]);
  });

  test('warns of topics of a webhook that match nothing that is sent', () => {
    const topics = ['devices/#', 'care-homes/#', '$share/a/#', '#', 'gateway/status'];
    const config = load(lists({ outputs: [{ ...WEBHOOK, topics }] }));
    expect(configWarnings(config, Date.now())).toEqual([
      'outputs: devices/# of hook matches no topic that is sent',
      'outputs: $share/a/# of hook matches no topic that is sent',
    ]);
  });

  test('reports duplicate names together with other faults', () => {
    const escalations = [
      { name: 'x', afterSeconds: 0 },
      { name: 'x', afterSeconds: 5 },
    ];
    const outputs = [WEBHOOK, { ...WEBHOOK, secret: '' }];
    expect(faultsOfLists({ escalations, outputs }).toSorted()).toEqual([
      'escalations.0.afterSeconds: must be at least 1',
      'escalations: must have different names',
      'outputs.1.secret: must not be empty',
      'outputs: must have different names',
    ]);
  });
});
