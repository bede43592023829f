/**
 * A Redis server or a Sentinel of a test: on a socket in its own directory, or on a port as a pair and a cluster
 * need it. A test can freeze, kill and restart it.
 */
import { mkdtempSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Program } from './program.js';

/** With these settings a gateway reports no fault. */
export const SAFE_SETTINGS = ['--appendonly', 'yes', '--appendfsync', 'always'];

interface Place {
  /** The arguments of `redis-server`, its configuration file first. */
  readonly args: readonly string[];
  readonly directory: string;
  readonly port?: number;
  readonly password?: string;
  /** Called after each start, for settings that no configuration file has. */
  readonly prepare?: ((redis: Redis) => Promise<unknown>) | undefined;
}

export class RedisProgram {
  /** A connection that reconnects by itself; commands wait while the program is away. */
  readonly redis: Redis;
  readonly directory: string;
  readonly socketPath: string;
  readonly program: Program;
  readonly #place: Place;

  constructor(place: Place) {
    const { directory, port, password } = place;
    this.#place = place;
    this.directory = directory;
    this.socketPath = join(directory, 'redis.sock');
    this.program = new Program({ cwd: directory });
    this.redis = new Redis({
      ...(port === undefined ? { path: this.socketPath } : { host: '127.0.0.1', port }),
      ...(password !== undefined && { password }),
      lazyConnect: true,
      maxRetriesPerRequest: null,
      retryStrategy: () => 20,
      // A Sentinel's INFO has no loading state to wait for.
      enableReadyCheck: false,
    });
    this.redis.on('error', () => undefined);
  }

  /** Starts a server on a socket in a new directory. */
  static async start(settings: readonly string[] = ['--appendonly', 'no']): Promise<RedisProgram> {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-redis-'));
    const socket = ['--port', '0', '--unixsocket', join(directory, 'redis.sock'), '--save', ''];
    const server = new RedisProgram({ args: [...socket, ...settings], directory });
    await server.start();
    return server;
  }

  get port(): number {
    if (this.#place.port === undefined) throw new Error('it listens on a socket');
    return this.#place.port;
  }

  /** The address, as `redis.sentinels` and `redis.cluster` have it. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** The URL, as `redis.url` has it. */
  get url(): string {
    return this.#place.port === undefined ? `unix://${this.socketPath}` : `redis://${this.address}`;
  }

  get processId(): number {
    return this.program.processId;
  }

  get isRunning(): boolean {
    return this.program.isRunning;
  }

  /** Starts the program; after `kill`, with the data that it had saved. */
  async start(): Promise<void> {
    const { args, directory, prepare } = this.#place;
    await mkdir(directory, { recursive: true });
    const ready = /ready to accept connections|Sentinel ID is|MASTER <-> REPLICA/i;
    await this.program.ready(ready, 'redis-server', args);
    if (this.redis.status === 'wait') await this.redis.connect();
    await this.redis.ping();
    await prepare?.(this.redis);
  }

  /** Ends the program at once, as a power cut does. */
  kill(): Promise<void> {
    return this.program.kill();
  }

  /** Freezes the program until `thaw`: it accepts connections and commands, and answers none. */
  freeze(): void {
    this.program.freeze();
  }

  thaw(): void {
    this.program.thaw();
  }

  /** A field of INFO, or undefined. */
  async info(section: string, field: string): Promise<string | undefined> {
    const text = await this.redis.info(section);
    return new RegExp(`^${field}:(.*?)\r?$`, 'm').exec(text)?.[1];
  }

  async remove(): Promise<void> {
    this.redis.disconnect();
    await this.kill();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/**
 * Fills in a configuration file of a recipe, as a technician does.
 *
 * @throws Error when the file no longer has such a line
 */
export function fillIn(text: string, changes: readonly (readonly [RegExp, string])[]): string {
  return changes.reduce((filled, [line, replacement]) => {
    if (!line.test(filled)) throw new Error(`the recipe has no ${line}`);
    return filled.replace(line, replacement);
  }, text);
}
