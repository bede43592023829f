import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { killStore } from '../stored/store-process.js';
import { addressesSchema, type Environment, RunningGateway } from './running-gateway.js';

const readyLine = z.object({ msg: z.literal('gateway ready'), addresses: addressesSchema });
const standingByLine = z.object({ addresses: addressesSchema.pick({ http: true }) });

const START_TIMEOUT_MS = 60_000;
/** The flags of `npm start`, the systemd units and the container. */
const NODE_FLAGS = ['--max-semi-space-size=8'];

/** The built gateway as a process, on its own data directory and free ports. */
export class GatewayProcess extends RunningGateway {
  readonly #maxOpenFiles: number | undefined;
  #configFile: string | undefined;
  #child: ChildProcess | undefined;

  private constructor(dataDir: string, environment: Environment, maxOpenFiles?: number) {
    super(dataDir, environment);
    this.#maxOpenFiles = maxOpenFiles;
  }

  static async start(environment: Environment = {}): Promise<GatewayProcess> {
    const gateway = await GatewayProcess.create(environment);
    await gateway.start();
    return gateway;
  }

  /**
   * Creates a gateway without starting it.
   *
   * @param maxOpenFiles its limit of file descriptors, as `ulimit -n` sets it
   */
  static async create(
    environment: Environment = {},
    maxOpenFiles?: number,
  ): Promise<GatewayProcess> {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
    return new GatewayProcess(dataDir, environment, maxOpenFiles);
  }

  /** A gateway on an existing data directory, which `remove` deletes; not started yet. */
  static on(dataDir: string, environment: Environment = {}): GatewayProcess {
    return new GatewayProcess(dataDir, environment);
  }

  get processId(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** Starts the gateway; after `stop` or `kill`, on the same ports, as a box does. */
  async start(timeoutMs = START_TIMEOUT_MS): Promise<void> {
    await this.choosePorts();
    const from = this.lines.length;
    const ended = this.#spawn();
    await Promise.race([this.ready(from, timeoutMs), ended]);
  }

  /** Starts the gateway, which then stands by. Resolves to its HTTP address. */
  async startStandingBy(): Promise<string> {
    await this.choosePorts();
    const from = this.lines.length;
    const ended = this.#spawn();
    return Promise.race([this.standingBy(from), ended]);
  }

  /** Resolves once it serves, by a log line from the given one on. */
  async ready(from = 0, timeoutMs = START_TIMEOUT_MS): Promise<void> {
    const line = await this.log.next('"msg":"gateway ready"', from, timeoutMs);
    this.readyAt(readyLine.parse(JSON.parse(line)).addresses);
  }

  /** Resolves to its HTTP address once it stands by, by a log line from the given one on. */
  async standingBy(from = 0): Promise<string> {
    const line = await this.log.next('"msg":"gateway standing by"', from);
    const { port } = standingByLine.parse(JSON.parse(line)).addresses.http;
    return `http://127.0.0.1:${port}`;
  }

  /** Stops the process as a stalled machine does (SIGSTOP), or lets it continue (SIGCONT). */
  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void {
    this.#child?.kill(signal);
  }

  /** Starts the process; the result rejects when it ends. */
  #spawn(): Promise<never> {
    const limit = this.#maxOpenFiles;
    const program = [process.execPath, ...NODE_FLAGS, 'dist/main.js'];
    // prlimit replaces itself with the given program.
    const limited = limit === undefined ? program : ['prlimit', `--nofile=${limit}`, ...program];
    const [command = '', ...args] = limited;
    const child = spawn(command, args, {
      env: { GATEWAY_CONFIG: this.#configFile, ...this.variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.log.read(child.stderr);
    this.log.read(child.stdout);
    const ended = new Promise<never>((_, reject) => {
      child.once('exit', (code) => {
        reject(new Error(`the gateway ended with ${code}:\n${this.lines.join('\n')}`));
      });
    });
    // It also rejects after the start, when nothing waits for it.
    ended.catch(() => undefined);
    return ended;
  }

  /** Writes its configuration file for the next start or `reload`: keys, or the text. */
  async configure(content: object | string): Promise<void> {
    this.#configFile = join(this.dataDir, 'gateway.yaml');
    await writeFile(this.#configFile, typeof content === 'string' ? content : stringify(content));
  }

  /** Makes the gateway read its configuration file again. */
  reload(): void {
    this.#child?.kill('SIGHUP');
  }

  /** Ends the gateway as an operator does. Returns its exit status. */
  async stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  /** Ends the gateway as a power cut does. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Kills the gateway and its store, and removes their data. */
  async remove(): Promise<void> {
    await this.kill();
    await killStore(this.given('GATEWAY_DATA_DIR') ?? this.dataDir);
    await rm(this.dataDir, { recursive: true, force: true });
  }

  /** Stops the gateway with its store, and leaves its data and log. */
  async keep(): Promise<void> {
    // A killed gateway leaves its store running: another gateway adopts and ends it.
    if (!this.isRunning) await this.start();
    await this.stop();
    await writeFile(join(this.dataDir, 'gateway.log'), `${this.lines.join('\n')}\n`);
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return child.exitCode;
  }
}
