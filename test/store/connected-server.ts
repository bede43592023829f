import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { type ConnectionOptions, connectRedis } from '../../src/store/server/connection.js';
import { StoreOutages } from '../../src/store/server/store-outages.js';
import { Store } from '../../src/store/store.js';
import { ask, recordingLog, temporaryDirectory, until } from './embedded-support.js';

/** The test's own server, which it can end, freeze and restart. */
export class Server {
  readonly directory = temporaryDirectory();
  readonly socketPath = join(this.directory, 'redis.sock');
  #process: ChildProcess | undefined;

  constructor(readonly port = 0) {
    onTestFinished(() => this.kill());
  }

  async start(): Promise<this> {
    const settings = ['--port', `${this.port}`, '--unixsocket', this.socketPath];
    const place = ['--dir', this.directory, '--save', '', '--appendonly', 'yes'];
    this.#process = spawn('redis-server', [...settings, ...place], { stdio: 'ignore' });
    let isUp = false;
    const look = setInterval(async () => {
      isUp = await ask(this.socketPath, (redis) => redis.ping()).then(
        () => true,
        () => isUp,
      );
    }, 20);
    await until(() => isUp).finally(() => clearInterval(look));
    return this;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  async kill(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    if (process === undefined) return;
    const exit = once(process, 'exit');
    process.kill('SIGKILL');
    await exit;
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

export type Connect = (options: ConnectionOptions) => Redis;

/** An outage has ended this long after the last connection is back. */
export const ENDED_AFTER_MS = 300;

export function connected(connect: Connect, where: Partial<ConnectionOptions>) {
  const { log, messages } = recordingLog();
  const outages = new StoreOutages(log, ENDED_AFTER_MS);
  const redis = connect({ log, outages, name: 'test', ...where });
  const store = new Store(redis, { isPatient: connect === connectRedis });
  onTestFinished(() => store.close());
  return { redis, store, messages };
}
