import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { Lines } from '../lines.js';

/** How to run a `redis-server` or a Sentinel. */
export interface RedisProgramOptions {
  /** The arguments of `redis-server`, its configuration file first. */
  readonly args: readonly string[];
  readonly directory: string;
  readonly port: number;
  readonly password: string | undefined;
  /** Called after each start, for settings that no configuration file has. */
  readonly prepare?: ((redis: Redis) => Promise<unknown>) | undefined;
}

/** A Redis server or a Sentinel on a port of 127.0.0.1; a test can kill, freeze and restart it. */
export class RedisProgram {
  /** The program's output since the test began. */
  readonly lines = new Lines();
  /** A connection that reconnects automatically; commands wait while the program is away. */
  readonly redis: Redis;
  readonly port: number;
  readonly directory: string;
  readonly #args: readonly string[];
  readonly #prepare: RedisProgramOptions['prepare'];
  #child: ChildProcess | undefined;

  constructor({ args, directory, port, password, prepare }: RedisProgramOptions) {
    this.port = port;
    this.directory = directory;
    this.#args = args;
    this.#prepare = prepare;
    this.redis = new Redis({
      host: '127.0.0.1',
      port,
      ...(password !== undefined && { password }),
      lazyConnect: true,
      maxRetriesPerRequest: null,
      retryStrategy: () => 20,
      // A Sentinel's INFO has no loading state to wait for.
      enableReadyCheck: false,
    });
    this.redis.on('error', () => undefined);
  }

  /** The address, as `redis.sentinels` and `redis.cluster` have it. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get processId(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** Starts the program; after `kill`, with the data that it had. */
  async start(): Promise<void> {
    await mkdir(this.directory, { recursive: true });
    const from = this.lines.all.length;
    const child = spawn('redis-server', this.#args, {
      cwd: this.directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    this.lines.read(child.stdout);
    await this.lines.next(/ready to accept connections|Sentinel ID is|MASTER <-> REPLICA/i, from);
    if (this.redis.status === 'wait') await this.redis.connect();
    await this.redis.ping();
    await this.#prepare?.(this.redis);
  }

  /** Ends the program immediately, as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Freezes the program until `thaw`: it accepts connections and commands, but answers none. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** A field of INFO, or undefined. */
  async info(section: string, field: string): Promise<string | undefined> {
    const text = await this.redis.info(section);
    return new RegExp(`^${field}:(.*?)\r?$`, 'm').exec(text)?.[1];
  }

  async remove(): Promise<void> {
    this.redis.disconnect();
    await this.kill();
  }
}
