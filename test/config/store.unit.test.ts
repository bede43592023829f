import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/load.js';
import { isEmbeddedStore } from '../../src/config/store-schema.js';
import { GatewayError } from '../../src/errors.js';

const CERT_FILE = resolve('test/harness/tls/localhost.crt');
const KEY_FILE = resolve('test/harness/tls/localhost.key');
const SENTINELS = { sentinels: ['10.0.0.1:26379', 'box-2.test:26379'], name: 'care-home' };

function load(redis: object) {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-config-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'gateway.yaml');
  writeFileSync(file, stringify({ redis }));
  return loadConfig({ programDir: '/none', cwd: process.cwd(), file, env: {} }).redis;
}

function faultsOf(redis: object): string[] {
  try {
    load(redis);
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return (error.faults ?? []).map(({ path, message }) => `${path}: ${message}`);
  }
}

describe('the place of the store', () => {
  test('is the gateway itself when none is given', () => {
    expect(isEmbeddedStore(load({}))).toBe(true);
    for (const redis of [{ url: 'redis://a' }, SENTINELS, { cluster: ['a:1'] }]) {
      expect(isEmbeddedStore(load(redis))).toBe(false);
    }
  });

  test('is behind Sentinels, or a cluster, with names, IPv4 and IPv6 addresses', () => {
    expect(load(SENTINELS).sentinels).toEqual([
      { host: '10.0.0.1', port: 26_379 },
      { host: 'box-2.test', port: 26_379 },
    ]);
    expect(load({ cluster: ['[fd00::1]:7000'] }).cluster).toEqual([
      { host: 'fd00::1', port: 7000 },
    ]);
  });

  test('resolves the files of each TLS section against the working directory', () => {
    const [caFile, certFile, keyFile] = [CERT_FILE, CERT_FILE, KEY_FILE].map((file) =>
      file.slice(process.cwd().length + 1),
    );
    const tls = { caFile, certFile, keyFile };
    const redis = load({ ...SENTINELS, tls, sentinelTls: { caFile } });
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
    expect(faultsOf(redis).toSorted()).toEqual(faults.toSorted());
  });

  test('shows no password in a fault', () => {
    const faults = faultsOf({ url: 'redis://a:hunter2@b', password: 'hunter2', user: 'x y' });
    expect(faults).not.toEqual([]);
    expect(faults.join()).not.toContain('hunter2');
  });
});
