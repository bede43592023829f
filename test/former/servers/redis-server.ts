import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

/** A test's own `redis-server`, on a socket in its own directory. */
export class RedisServer {
  readonly redis: Redis;
  readonly socketPath: string;
  readonly #directory: string;
  readonly #child: ChildProcess;

  private constructor(directory: string, child: ChildProcess) {
    this.#directory = directory;
    this.#child = child;
    this.socketPath = socketPathIn(directory);
    this.redis = new Redis({
      path: this.socketPath,
      maxRetriesPerRequest: null,
      retryStrategy: () => 20,
    });
    // It retries until the server listens.
    this.redis.on('error', () => undefined);
  }

  get processId(): number {
    return this.#child.pid ?? 0;
  }

  static async start(...settings: string[]): Promise<RedisServer> {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-redis-'));
    const place = ['--port', '0', '--unixsocket', socketPathIn(directory), '--dir', directory];
    const args = [...place, '--save', '', ...settings];
    const child = spawn('redis-server', args, { stdio: 'ignore' });
    const server = new RedisServer(directory, child);
    await server.redis.ping();
    return server;
  }

  async remove(): Promise<void> {
    this.redis.disconnect();
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
    await rm(this.#directory, { recursive: true, force: true });
  }
}

function socketPathIn(directory: string): string {
  return join(directory, 'redis.sock');
}
