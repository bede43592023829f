/**
 * A gateway for tests and tools: in the process of the test, as `main.ts` composes it, or as a process of the built
 * program. Both start, stop, restart on the same ports, and read their configuration again.
 *
 * The one in the process starts in a tenth of the processor time. A process is for what ends the gateway, takes its
 * store away, or belongs to the process: signals, exit status, memory.
 */
import {
  closeSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
} from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { Service } from '../../src/service.js';
import { gatewayStartedAt } from './described/described-origins.js';
import { claimPort, Program } from './program.js';
import { Lines } from './wait.js';

const bound = z.object({ address: z.string(), port: z.number() });
const addressesSchema = z.object({
  mqtt: bound,
  http: bound,
  mqtts: bound.optional(),
  https: bound.optional(),
});
type Addresses = z.infer<typeof addressesSchema>;
const readyLine = z.object({ addresses: addressesSchema });
const standingByLine = z.object({ addresses: addressesSchema.pick({ http: true }) });

export const ADMIN_TOKEN = 'admin-token-of-the-tests';

/** Variables for the gateway; undefined removes a default. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Budgets that slow no device down: the test sees what else stops a flood. */
export const NO_LIMITS: Environment = Object.fromEntries(
  ['MESSAGES_PER_SECOND', 'ALARMS_PER_DAY'].map((name) => [
    `GATEWAY_LIMITS_DEVICE_${name}`,
    '1000000000000',
  ]),
);

/** The flags of `npm start`, the systemd units and the container. */
const NODE_FLAGS = ['--max-semi-space-size=8'];
const MAX_OPEN_FILES = 100_000;
/** Intervals of a second or more run this many times as often in a hurried gateway, and at least every `MAX_HURRIED_MS`. */
const [HURRIED_FROM_MS, TIMES_AS_OFTEN, MAX_HURRIED_MS] = [1_000, 10, 200];

export interface GatewayOptions {
  /** `here`: in the process of the test. */
  readonly kind?: 'here' | 'process';
  readonly env?: Environment;
  /** Its configuration file: keys, or the text. */
  readonly config?: object | string;
  /** An existing data directory, which `remove` deletes. */
  readonly dataDir?: string;
  /** Whether its periodic work comes ten times as often. Needed by a process whose clock moves. */
  readonly isHurried?: boolean;
  /** Whether its steady clock stands still but for `clock.advance`; only `here`. */
  readonly hasStoppedClock?: boolean;
  /** The limit of file descriptors of a process, as `ulimit -n` sets it. */
  readonly maxOpenFiles?: number;
}

export class Gateway {
  readonly kind: 'here' | 'process';
  readonly dataDir: string;
  readonly log: Lines;
  /** Moves its clocks; a restarted process begins at the real time again. */
  readonly clock: GatewayClock;
  readonly #options: GatewayOptions;
  readonly #program = new Program();
  #configFile: string | undefined;
  #here: GatewayHere | undefined;
  #addresses: Addresses | undefined;
  #ports: readonly [number, number] | undefined;

  private constructor(options: GatewayOptions) {
    this.#options = options;
    this.kind = options.kind ?? 'here';
    this.dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'gateway-test-'));
    this.log = this.kind === 'here' ? new Lines() : this.#program.log;
    this.clock = new GatewayClock(this, this.#program, options);
  }

  /** Starts a gateway on its own data directory and ports. */
  static async start(options: GatewayOptions = {}): Promise<Gateway> {
    const gateway = await Gateway.create(options);
    try {
      await gateway.start();
    } catch (error) {
      await gateway.remove();
      throw error;
    }
    return gateway;
  }

  /** A gateway that is not started. */
  static async create(options: GatewayOptions = {}): Promise<Gateway> {
    const gateway = new Gateway(options);
    if (options.config !== undefined) await gateway.configure(options.config);
    return gateway;
  }

  /** All lines of its log, across all its starts. */
  get lines(): readonly string[] {
    return this.log.all;
  }

  get addresses(): Addresses {
    if (this.#addresses === undefined) throw new Error('the gateway is not ready');
    return this.#addresses;
  }

  get httpPort(): number {
    return this.addresses.http.port;
  }

  get httpUrl(): string {
    return `http://127.0.0.1:${this.httpPort}`;
  }

  get mqttPort(): number {
    return this.addresses.mqtt.port;
  }

  get mqttUrl(): string {
    return `mqtt://127.0.0.1:${this.mqttPort}`;
  }

  get processId(): number {
    return this.kind === 'here' ? process.pid : this.#program.processId;
  }

  get isRunning(): boolean {
    return this.kind === 'here' ? this.#here !== undefined : this.#program.isRunning;
  }

  /** Resolves to the first log line with the text, from the given line on. */
  logged(text: string | RegExp, from = 0): Promise<string> {
    return this.log.next(text, from);
  }

  /** Starts it; after `stop` or `kill`, on the same ports, as a box does. */
  async start(): Promise<void> {
    this.#ports ??= [await claimPort(), await claimPort()];
    if (this.kind === 'here') {
      this.#here = new GatewayHere(this.log, this.clock, this.#options.isHurried === true);
      this.#readyAt(await this.#here.run(this.variables, this.#configFile, this.dataDir));
      return;
    }
    const line = await this.#spawn('"msg":"gateway ready"');
    this.#readyAt(readyLine.parse(JSON.parse(line)).addresses);
  }

  /** Starts a process that then stands by. Resolves to its HTTP address. */
  async startStandingBy(): Promise<string> {
    this.#ports ??= [await claimPort(), await claimPort()];
    const line = await this.#spawn('"msg":"gateway standing by"');
    const { port } = standingByLine.parse(JSON.parse(line)).addresses.http;
    return `http://127.0.0.1:${port}`;
  }

  /** Resolves once a process serves that stood by, by a log line from the given one on. */
  async ready(from = 0): Promise<void> {
    const line = await this.logged('"msg":"gateway ready"', from);
    this.#readyAt(readyLine.parse(JSON.parse(line)).addresses);
  }

  /** Writes its configuration file for the next start or `reload`: keys, or the text. */
  async configure(content: object | string): Promise<void> {
    const file = join(this.dataDir, 'gateway.yaml');
    await writeFile(file, typeof content === 'string' ? content : stringify(content));
    this.#configFile = file;
  }

  /** Makes it follow its configuration file, as SIGHUP does. A process says in its log when it has. */
  async reload(): Promise<void> {
    if (this.kind === 'process') this.#program.signal('SIGHUP');
    else await this.#here?.reload(this.variables, this.#configFile, this.dataDir);
  }

  signal(signal: NodeJS.Signals): void {
    this.#program.signal(signal);
  }

  /** Ends it as an operator does. Resolves to the exit status of a process. */
  async stop(): Promise<number | null> {
    if (this.kind === 'process') return this.#program.stop();
    await this.#here?.stop();
    this.#here = undefined;
    return null;
  }

  /** Stops it and starts it again. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Ends a process as a power cut does; its own store goes on. */
  async kill(): Promise<void> {
    if (this.kind === 'here') throw new Error('only a process can be killed');
    await this.#program.kill();
  }

  /** Ends it and its store, and removes their data. */
  async remove(): Promise<void> {
    if (this.kind === 'here') await this.stop();
    else {
      await this.kill();
      await killStore(this.#options.env?.['GATEWAY_DATA_DIR'] ?? this.dataDir);
    }
    await rm(this.dataDir, { recursive: true, force: true });
  }

  /** Its environment variables. */
  get variables(): Environment {
    const [mqttPort, httpPort] = this.#ports ?? [0, 0];
    return {
      PATH: process.env['PATH'] ?? '',
      GATEWAY_DATA_DIR: this.dataDir,
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
      GATEWAY_MQTT_PORT: String(mqttPort),
      GATEWAY_HTTP_PORT: String(httpPort),
      ...this.#options.env,
    };
  }

  #readyAt(addresses: Addresses): void {
    this.#addresses = addresses;
    gatewayStartedAt(this.httpUrl);
  }

  #spawn(line: string): Promise<string> {
    const { maxOpenFiles } = this.#options;
    const env = { GATEWAY_CONFIG: this.#configFile, ...this.variables, ...this.clock.variables };
    const args = [...NODE_FLAGS, 'dist/main.js'];
    if (maxOpenFiles === undefined) return this.#program.ready(line, process.execPath, args, env);
    // prlimit replaces itself with the given program.
    const limit = `--nofile=${maxOpenFiles}`;
    return this.#program.ready(line, 'prlimit', [limit, process.execPath, ...args], env);
  }
}

/** The clocks of a gateway, moved by a test. */
class GatewayClock {
  readonly #gateway: Gateway;
  readonly #program: Program;
  readonly #isHurried: boolean;
  readonly #isStopped: boolean;
  readonly #startedAtMs = performance.now();
  #ahead = { wallMs: 0, elapsedMs: 0 };

  constructor(gateway: Gateway, program: Program, options: GatewayOptions) {
    this.#gateway = gateway;
    this.#program = program;
    this.#isHurried = options.isHurried === true;
    this.#isStopped = options.hasStoppedClock === true;
  }

  /** Lets time pass. */
  async advance(ms: number): Promise<void> {
    await this.#move(ms, ms);
  }

  /** Sets the machine's clock; no time passes. */
  async jump(ms: number): Promise<void> {
    await this.#move(ms, 0);
  }

  /** Variables that let a process follow this clock. */
  get variables(): Environment {
    if (!this.#isHurried) return {};
    const preload = new URL('./moved-clock.mjs', import.meta.url);
    return { NODE_OPTIONS: `--import=${preload}`, MOVED_CLOCK_FILE: this.#file };
  }

  readonly now = (): number => Date.now() + this.#ahead.wallMs;

  readonly elapsed = (): number =>
    (this.#isStopped ? this.#startedAtMs : performance.now()) + this.#ahead.elapsedMs;

  get #file(): string {
    return join(this.#gateway.dataDir, 'moved-clock.json');
  }

  async #move(wallMs: number, elapsedMs: number): Promise<void> {
    const { wallMs: wall, elapsedMs: elapsed } = this.#ahead;
    this.#ahead = { wallMs: wall + wallMs, elapsedMs: elapsed + elapsedMs };
    if (this.#gateway.kind === 'here') return;
    // Atomic: the gateway may still be reading the file for the last move.
    await writeFile(`${this.#file}.new`, JSON.stringify(this.#ahead));
    await rename(`${this.#file}.new`, this.#file);
    this.#program.signal('SIGUSR2');
  }
}

/** One run of the gateway in the process of the test. */
class GatewayHere {
  readonly #log: Lines;
  readonly #clock: Pick<GatewayClock, 'now' | 'elapsed'>;
  readonly #isHurried: boolean;
  #service: Service | undefined;
  #end: () => void = () => undefined;

  constructor(log: Lines, clock: Pick<GatewayClock, 'now' | 'elapsed'>, isHurried: boolean) {
    this.#log = log;
    this.#clock = clock;
    this.#isHurried = isHurried;
  }

  async run(env: Environment, file: string | undefined, programDir: string): Promise<Addresses> {
    // Only where needed: its sources take seconds to load.
    const { createLog, loadConfig, RepeatedLines, Service } = await sources();
    const config = loadConfig({ file, env, programDir, cwd: process.cwd() });
    const repeated = new RepeatedLines(this.#clock.elapsed);
    repeated.start();
    const restoreIntervals = this.#isHurried ? hurryIntervals() : () => undefined;
    this.#end = () => {
      repeated.stop();
      restoreIntervals();
    };
    return new Promise((resolve, reject) => {
      const service = new Service({
        config,
        log: createLog(
          config.log.level,
          { write: (line) => this.#log.add(line.trimEnd()) },
          repeated,
        ),
        version: '1.2.3',
        consoleDirectory: 'dist/console',
        searchPath: env['PATH'],
        // Not a real release, so that it is never out of support.
        runtime: 'v0.0.0',
        maxOpenFiles: MAX_OPEN_FILES,
        now: this.#clock.now,
        elapsed: this.#clock.elapsed,
        onReady: resolve,
        onStandingBy: () => reject(new Error('another gateway serves')),
      });
      this.#service = service;
      service.run().catch(reject);
    });
  }

  async reload(env: Environment, file: string | undefined, programDir: string): Promise<void> {
    const { loadConfig } = await sources();
    await this.#service?.reload(loadConfig({ file, env, programDir, cwd: process.cwd() }));
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
    this.#end();
  }
}

async function sources() {
  const [config, log, service] = await Promise.all([
    import('../../src/config/load.js'),
    import('../../src/logging/log.js'),
    import('../../src/service.js'),
  ]);
  return { ...config, ...log, ...service };
}

/** Speeds up the intervals of this process; returns what undoes it. */
function hurryIntervals(): () => void {
  const original = globalThis.setInterval;
  const hurried = (work: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) => {
    const hurriedMs = Math.min(ms / TIMES_AS_OFTEN, MAX_HURRIED_MS);
    return original(work, ms >= HURRIED_FROM_MS ? hurriedMs : ms, ...values);
  };
  globalThis.setInterval = Object.assign(hurried, original);
  return () => {
    globalThis.setInterval = original;
  };
}

/** The embedded store of a gateway, to freeze, kill and inspect it. */
export class EmbeddedStore {
  readonly redis: Redis;
  readonly processId: number;

  private constructor(redis: Redis, processId: number) {
    this.redis = redis;
    this.processId = processId;
  }

  static async of({ dataDir }: Pick<Gateway, 'dataDir'>): Promise<EmbeddedStore> {
    const path = join(dataDir, 'redis', 'redis.sock');
    const redis = new Redis({ path, retryStrategy: () => null, lazyConnect: true });
    redis.on('error', () => undefined);
    await redis.connect();
    const processId = Number(/^process_id:(\d+)/m.exec(await redis.info('server'))?.[1]);
    return new EmbeddedStore(redis, processId);
  }

  /** Freezes the store until `thaw`: it accepts commands and answers none. */
  freeze(): void {
    process.kill(this.processId, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.processId, 'SIGCONT');
  }

  /** Kills the store; a running gateway starts it again. */
  kill(): void {
    process.kill(this.processId, 'SIGKILL');
  }

  async keys(pattern = '*'): Promise<string[]> {
    return (await this.redis.keys(pattern)).sort();
  }

  /** How often a command was called since the last `CONFIG RESETSTAT`. */
  async calls(command: string): Promise<number> {
    const stats = await this.redis.info('commandstats');
    return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  }

  close(): void {
    this.redis.disconnect();
  }
}

const LOOK_AGAIN_MS = 5;

/** The process of the store on this data. The process id in an old file may belong to another program. */
export function storeProcessId(dataDir: string): number | undefined {
  try {
    const directory = join(dataDir, 'redis');
    const processId = Number(readFileSync(join(directory, 'redis.pid'), 'utf8'));
    const isOurs = readlinkSync(`/proc/${processId}/cwd`) === realpathSync(directory);
    return isOurs ? processId : undefined;
  } catch {
    return undefined;
  }
}

/** Kills the store that a killed gateway left behind, even one that is just starting. */
export async function killStore(dataDir: string): Promise<void> {
  const file = join(dataDir, 'redis', 'redis.lock');
  if (!existsSync(file)) return;
  const { lockFile } = await import('../../src/store/data-directory.js');
  for (;;) {
    const processId = storeProcessId(dataDir);
    if (processId !== undefined) killProcess(processId);
    // A store takes its lock before it has a process id, and holds it until it is gone.
    const lock = lockFile(file);
    if (lock !== undefined) {
      closeSync(lock);
      return;
    }
    await delay(LOOK_AGAIN_MS);
  }
}

/** Kills a process that may have ended already. */
export function killProcess(processId: number): void {
  try {
    process.kill(processId, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
