import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { Releasers } from '../../src/releasers.js';
import { keysOf } from '../../src/store/keys.js';
import { addressOfStore } from '../../src/store/open.js';
import {
  connectRedis,
  type StoreConnection,
  untilReady,
} from '../../src/store/server/connection.js';
import { Store } from '../../src/store/store.js';
import { Authority, type Certificate } from '../harness/certificates.js';
import { claimPort } from '../harness/program.js';
import { Lines } from '../harness/wait.js';
import { recordingLog, temporaryDirectory } from './embedded-support.js';

const run = promisify(execFile);
const STORE_USER = 'user gateway on >of-the-store ~* &* +@all';
const SENTINEL_USER = 'user watcher on >of-the-sentinel ~* &* +@all';

interface Files {
  readonly directory: string;
  readonly ca: string;
  readonly server: Certificate;
  readonly client: Certificate;
}

async function issuedFiles(): Promise<Files> {
  const directory = temporaryDirectory();
  const authority = await Authority.create(directory);
  const [server, client] = [await authority.server('IP:127.0.0.1'), await authority.client('box')];
  return { directory, ca: authority.certFile, server, client };
}

/** Runs a server or Sentinel that accepts only TLS with a certificate of the same authority. */
async function startTls(
  { directory, ca, server, client }: Files,
  name: string,
  settings: readonly string[],
  args: readonly string[] = [],
): Promise<number> {
  const port = await claimPort();
  const place = join(directory, name);
  mkdirSync(place);
  const file = join(place, 'redis.conf');
  const own = [`dir ${place}`, 'bind 127.0.0.1', 'port 0', `tls-port ${port}`];
  const tls = [
    `tls-ca-cert-file ${ca}`,
    `tls-cert-file ${server.certFile}`,
    `tls-key-file ${server.keyFile}`,
    `tls-client-cert-file ${client.certFile}`,
    `tls-client-key-file ${client.keyFile}`,
    'tls-replication yes',
  ];
  writeFileSync(file, `${[...own, ...tls, ...settings].join('\n')}\n`);
  const child = spawn('redis-server', [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  const lines = new Lines();
  lines.read(child.stdout);
  await lines.next(/ready to accept connections|Sentinel ID is/i, 0);
  return port;
}

/** A connection of a gateway with this `redis` section, and the messages of its log. */
function connected(redis: object): { redis: StoreConnection; messages: string[] } {
  const file = join(temporaryDirectory(), 'gateway.yaml');
  writeFileSync(file, JSON.stringify({ redis }));
  const config = loadConfig({ programDir: '/none', cwd: '/', file, env: {} });
  const { log, messages } = recordingLog();
  const releasers = new Releasers();
  const address = addressOfStore(config.redis, keysOf('site'), { log, releasers });
  const connection = connectRedis({ ...address, name: 'test' });
  onTestFinished(async () => {
    connection.disconnect();
    const stopped = { timeoutMs: 1_000, onFailure: () => undefined, onOutOfTime: () => undefined };
    await releasers.release(stopped);
  });
  return { redis: connection, messages };
}

function tlsOf({ ca, client }: Files) {
  return { caFile: ca, ...client };
}

const ACCESS = { user: 'gateway', password: 'of-the-store' };

describe('TLS with a certificate of the gateway, a user and a password', () => {
  test('is used with the server of a URL', async () => {
    const files = await issuedFiles();
    const port = await startTls(files, 'store', [STORE_USER]);
    const url = `rediss://127.0.0.1:${port}`;
    const { redis } = connected({ url, ...ACCESS, tls: tlsOf(files) });
    await untilReady(redis);
    expect(await redis.acl('WHOAMI')).toBe('gateway');
    const named = connected({
      url: `rediss://gateway:of-the-store@127.0.0.1:${port}`,
      tls: tlsOf(files),
    });
    await untilReady(named.redis);
    expect(await named.redis.acl('WHOAMI')).toBe('gateway');
  });

  test('is used with Sentinels and with the primary, each with its own', async () => {
    const [store, watch] = [await issuedFiles(), await issuedFiles()];
    // The Sentinel itself must be trusted by the store, and the gateway by both.
    const both = join(store.directory, 'both.crt');
    writeFileSync(both, readFileSync(store.ca, 'utf8') + readFileSync(watch.ca, 'utf8'));
    const port = await startTls({ ...store, ca: both }, 'store', ['requirepass a', STORE_USER]);
    const settings = [`sentinel monitor home 127.0.0.1 ${port} 1`, 'sentinel auth-pass home a'];
    const sentinel = await startTls(
      { ...watch, ca: both },
      'sentinel',
      [...settings, 'requirepass b', SENTINEL_USER],
      ['--sentinel'],
    );
    const places = { sentinels: [`127.0.0.1:${sentinel}`], name: 'home', ...ACCESS };
    const whole = {
      ...places,
      tls: tlsOf(store),
      sentinelTls: tlsOf(watch),
      sentinelUser: 'watcher',
      sentinelPassword: 'of-the-sentinel',
    };
    const { redis } = connected(whole);
    await untilReady(redis);
    expect(await redis.acl('WHOAMI')).toBe('gateway');
    expect(await redis.set('a', '1')).toBe('OK');

    // The log says what is wrong, without a secret.
    const wrongs = [
      [{ ...whole, sentinelTls: tlsOf(store) }, /self-signed certificate|unable to verify/],
      [{ ...whole, sentinelPassword: 'hunter2' }, /WRONGPASS/],
      [{ ...whole, password: 'hunter2' }, /WRONGPASS/],
      [{ ...whole, name: 'house' }, /No such master/],
    ] as const;
    for (const [wrong, reason] of wrongs) {
      const { messages } = connected(wrong);
      await expect.poll(() => messages.join('\n')).toMatch(reason);
      await expect.poll(() => messages.join('\n')).toContain('failed to reach the store');
      expect(messages.join('\n')).not.toContain('hunter2');
    }
  });

  test('is used with the nodes of a cluster', async () => {
    const files = await issuedFiles();
    const bus = await claimPort();
    const settings = ['cluster-enabled yes', 'tls-cluster yes', `cluster-port ${bus}`, STORE_USER];
    const port = await startTls(files, 'node', settings);
    const { ca, client } = files;
    await run('redis-cli', [
      '--tls',
      '-p',
      String(port),
      '--cacert',
      ca,
      '--cert',
      client.certFile,
      '--key',
      client.keyFile,
      'cluster',
      'addslotsrange',
      '0',
      '16383',
    ]);
    const cluster = [`127.0.0.1:${port}`];
    const { redis } = connected({ cluster, ...ACCESS, tls: tlsOf(files) });
    await untilReady(redis);
    expect(await redis.acl('WHOAMI')).toBe('gateway');
    const store = new Store(redis, '{site}:', { isPatient: true });
    expect(await store.write(['SET', '{site}:a', '1'])).toEqual(['OK']);
  });
});
