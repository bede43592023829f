import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

const CONNECT_AGAIN_MS = 50;

/** An operator's own Redis server, on a TCP port. */
export class OwnRedis {
  readonly port: number;
  readonly redis: Redis;
  readonly #directory: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, directory: string) {
    this.port = port;
    this.#directory = directory;
    this.redis = new Redis({
      port,
      lazyConnect: true,
      maxRetriesPerRequest: null,
      retryStrategy: () => CONNECT_AGAIN_MS,
    });
    this.redis.on('error', () => undefined);
  }

  /** Creates a server that is not started: nothing listens on its port. */
  static async create(): Promise<OwnRedis> {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const address = listener.address();
    listener.close();
    await once(listener, 'close');
    if (address === null || typeof address === 'string') throw new Error('no port');
    return new OwnRedis(address.port, await mkdtemp(join(tmpdir(), 'gateway-redis-')));
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const settings = { port: this.port, dir: this.#directory, save: '', bind: '127.0.0.1' };
    const durable = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' };
    const args = Object.entries({ ...settings, ...durable }).flatMap(([name, value]) => [
      `--${name}`,
      String(value),
    ]);
    this.#process = spawn('redis-server', args, { stdio: 'ignore' });
    // The first attempt is too early; commands wait until one succeeds.
    if (this.redis.status === 'wait') this.redis.connect().catch(() => undefined);
    await this.redis.ping();
  }

  /** Freezes the server: it takes commands and answers none. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  /** Kills the server; acknowledged data are on disk for the next start. */
  async kill(): Promise<void> {
    const process = this.#process;
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return;
    const ended = once(process, 'exit');
    process.kill('SIGKILL');
    await ended;
  }

  async remove(): Promise<void> {
    this.redis.disconnect();
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
