import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { Health } from '../../../src/site/health/health.js';
import { Replicas, type ReplicasOptions } from '../../../src/store/pair/replicas.js';
import {
  connectManagementRedis,
  connectRedis,
  StoreOutages,
  untilReady,
} from '../../../src/store/server/connection.js';
import { Store } from '../../../src/store/store.js';
import { faultTexts } from '../../harness/described/fault-texts.js';
import { claimPort } from '../../harness/program.js';
import { RedisProgram } from '../../harness/redis.js';
import { recordingLog, temporaryDirectory } from '../embedded-support.js';

export const MARK = '{home}:replica-mark';
/** Written before anything else, to check that a replica confirms it. */
const FIRST_KEY = 'first';
const FIRST_COPY_MS = 20_000;
const WAITING = /\*\d+\r\n\$\d+\r\n(waitaof|wait)\r\n/i;

/** Starts the test's own server, which forces each write to its disk. */
export async function startServer(...settings: readonly string[]): Promise<RedisProgram> {
  const directory = join(temporaryDirectory(), 'redis');
  const port = await claimPort();
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory];
  const durable = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'];
  const server = new RedisProgram({
    args: [...place, ...durable, '--repl-diskless-sync-delay', '0', ...settings],
    directory,
    port,
  });
  onTestFinished(() => server.remove());
  await server.start();
  return server;
}

/** Starts a replica and waits for its first copy: before that, it may confirm later than any test waits. */
export async function startReplica(of: { readonly port: number }): Promise<RedisProgram> {
  const replica = await startReplicaOfReplica(of);
  const redis = new Redis(of.port);
  await redis.set(FIRST_KEY, '');
  expect(await redis.wait(1, FIRST_COPY_MS)).toBeGreaterThan(0);
  redis.disconnect();
  return replica;
}

/** Starts a replica that the server counts; the server may itself be a replica. */
export async function startReplicaOfReplica(of: { readonly port: number }): Promise<RedisProgram> {
  const replica = await startServer('--replicaof', '127.0.0.1', String(of.port));
  const redis = new Redis(of.port);
  while (!/^slave\d+:.*state=online/m.test(await redis.info('replication'))) await redis.ping();
  redis.disconnect();
  return replica;
}

/** The reported faults. */
export class Faults extends Health {
  /** The faults that stop the gateway. */
  get own(): string[] {
    return faultTexts(this.shown().filter(({ stops }) => stops));
  }

  get all(): string[] {
    return faultTexts(this.shown());
  }
}

/** Connections whose writes a replica must confirm. */
export class ConfirmedStore {
  readonly faults = new Faults();
  readonly lines: string[] = [];
  readonly replicas: Replicas;
  readonly #url: string;
  readonly #log = recordingLog();

  constructor(
    { port, password = '' }: { readonly port: number; readonly password?: string },
    options: Partial<ReplicasOptions> = {},
  ) {
    this.#url = `redis://:${password}@127.0.0.1:${port}`;
    const log = pino({ level: 'info' }, { write: (line) => void this.lines.push(line) });
    this.replicas = new Replicas({
      count: 1,
      withoutReplica: 'continue',
      health: this.faults,
      log,
      markKey: MARK,
      elapsed: performance.now.bind(performance),
      timeoutMs: 400,
      ...options,
    });
  }

  /** Starts to wait for replicas. */
  start(): this {
    const trial = this.#opened(connectManagementRedis, 'replicas');
    onTestFinished(this.replicas.start(trial));
    return this;
  }

  /** A store that repeats unconfirmed writes. */
  patient(): Store {
    const redis = this.#opened(connectRedis, 'state');
    return new Store(redis, '{site}:', { replicas: this.replicas, isPatient: true });
  }

  /** A store like that of the management interface. */
  async failing(): Promise<Store> {
    const redis = this.#opened(connectManagementRedis, 'management');
    await untilReady(redis);
    return new Store(redis, '{site}:', { replicas: this.replicas });
  }

  #opened(open: typeof connectRedis, name: string): Redis {
    const { log } = this.#log;
    const redis = open({ url: this.#url, log, name, outages: new StoreOutages(log) });
    onTestFinished(() => redis.disconnect());
    return redis;
  }
}

/** Breaks connections between a write's answer and its WAIT, which then reaches no server. */
export class WaitCutter {
  /** How many WAITs were cut off. */
  cuts = 0;
  /** Runs at each cut, before the client can reconnect. */
  onCut: () => Promise<void> = async () => undefined;
  isCutting = false;
  target: { readonly port: number };
  readonly #server: Server;
  readonly #ends = new Set<() => void>();
  #isAway = false;

  private constructor(target: { readonly port: number }) {
    this.target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(target: { readonly port: number }): Promise<WaitCutter> {
    const cutter = new WaitCutter(target);
    cutter.#server.listen(0, '127.0.0.1');
    await once(cutter.#server, 'listening');
    onTestFinished(() => {
      cutter.#server.close();
      for (const end of cutter.#ends) end();
    });
    return cutter;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    return address.port;
  }

  #accept(client: Socket): void {
    if (this.#isAway) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ port: this.target.port, host: '127.0.0.1' });
    const end = () => {
      client.destroy();
      server.destroy();
    };
    let isCut = false;
    client.on('data', (bytes) => {
      const waitsFrom = this.isCutting ? bytes.toString('latin1').search(WAITING) : -1;
      isCut = waitsFrom >= 0;
      server.write(isCut ? bytes.subarray(0, waitsFrom) : bytes);
    });
    server.on('data', (bytes) => {
      if (!isCut) {
        client.write(bytes);
        return;
      }
      end();
      if (this.isCutting) void this.#cut();
    });
    for (const socket of [client, server]) {
      socket.on('error', end);
      socket.on('close', end);
    }
    this.#ends.add(end);
  }

  async #cut(): Promise<void> {
    this.cuts++;
    this.isCutting = false;
    this.#isAway = true;
    await this.onCut();
    this.#isAway = false;
  }
}
