import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Lines } from '../lines.js';

/** A Redis behind a network that a test can cut or slow down. */
export class RemoteStore {
  readonly #directory: string;
  readonly #redis: ChildProcess;
  readonly #network: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  #delayMs = 0;
  #refused = 0;
  #waiting: (() => void)[] = [];

  private constructor(directory: string, redis: ChildProcess) {
    this.#directory = directory;
    this.#redis = redis;
    this.#network = createServer((socket) => this.#accept(socket));
  }

  static async start(): Promise<RemoteStore> {
    const directory = await mkdtemp(join(tmpdir(), 'remote-store-'));
    const settings = ['--port', '0', '--unixsocket', join(directory, 'redis.sock'), '--save', ''];
    const durable = ['--appendonly', 'yes', '--appendfsync', 'always'];
    const redis = spawn('redis-server', [...settings, ...durable], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = new Lines();
    lines.read(redis.stdout);
    await lines.next(/ready to accept connections/i, 0);
    const store = new RemoteStore(directory, redis);
    store.#network.listen(0, '127.0.0.1');
    await once(store.#network, 'listening');
    return store;
  }

  get url(): string {
    const address = this.#network.address();
    return `redis://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  }

  /** Breaks all connections, and new ones immediately. */
  cut(): void {
    this.#isCut = true;
    this.#refused = 0;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  /** Delays every command on its way to the store from now on. */
  slowDown(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Resolves after this many failed connection attempts since the cut. */
  async refused(count: number): Promise<void> {
    while (this.#refused < count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async remove(): Promise<void> {
    this.cut();
    this.#network.close();
    if (this.#redis.kill()) await once(this.#redis, 'exit');
    await rm(this.#directory, { recursive: true, force: true });
  }

  #accept(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    if (this.#isCut) {
      socket.destroy();
      this.#refused++;
      for (const resolve of this.#waiting.splice(0)) resolve();
      return;
    }
    const upstream = connect(join(this.#directory, 'redis.sock'));
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
    upstream.pipe(socket);
    // Each timer sends the oldest chunk, so that chunks stay in order when the delay changes.
    const waiting: Buffer[] = [];
    socket.on('data', (commands: Buffer) => {
      waiting.push(commands);
      setTimeout(() => upstream.write(waiting.shift() ?? ''), this.#delayMs);
    });
  }
}
