import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { gatewayStartedAt } from '../../harness/described-origins.js';
import { ADMIN_TOKEN } from '../../harness/gateway-process.js';
import { Lines } from '../../harness/lines.js';
import { unusedPort } from '../../harness/unused-port.js';

/** In the sources, as the harness is also run compiled. */
const PRELOAD = join(process.cwd(), 'test/chaos/pair/source-address.mjs');
const READY_TIMEOUT_MS = 1_000;

/** One gateway of a pair as a process, always on the same ports. */
export class PairGateway {
  readonly name: string;
  readonly dataDir: string;
  readonly mqttPort: number;
  readonly httpPort: number;
  readonly lines = new Lines();
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;

  private constructor(
    name: string,
    dataDir: string,
    ports: readonly [number, number],
    environment: Readonly<Record<string, string>>,
  ) {
    this.name = name;
    this.dataDir = dataDir;
    [this.mqttPort, this.httpPort] = ports;
    this.#environment = environment;
    gatewayStartedAt(this.httpUrl);
  }

  /** Creates a gateway that connects from the address, and is not started yet. */
  static async create(
    name: string,
    sourceAddress: string,
    config: object,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<PairGateway> {
    const dataDir = await mkdtemp(join(tmpdir(), `${name}-`));
    const file = join(dataDir, 'gateway.yaml');
    await writeFile(file, stringify(config));
    return new PairGateway(name, dataDir, [await unusedPort(), await unusedPort()], {
      GATEWAY_CONFIG: file,
      NODE_OPTIONS: `--import=${PRELOAD}`,
      TEST_SOURCE_ADDRESS: sourceAddress,
      ...environment,
    });
  }

  get httpUrl(): string {
    return `http://127.0.0.1:${this.httpPort}`;
  }

  get processId(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** Starts the process, and waits for nothing: it may have to stand by. */
  start(): void {
    const child = spawn(process.execPath, ['dist/main.js'], {
      env: {
        PATH: process.env['PATH'] ?? '',
        GATEWAY_DATA_DIR: this.dataDir,
        GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
        GATEWAY_MQTT_PORT: String(this.mqttPort),
        GATEWAY_HTTP_PORT: String(this.httpPort),
        ...this.#environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.lines.read(child.stdout);
    this.lines.read(child.stderr);
  }

  /** Whether it says that it serves. */
  async isReady(): Promise<boolean> {
    return (await this.readiness()) === 200;
  }

  /** The status of `/readyz`; undefined without an answer. */
  async readiness(): Promise<number | undefined> {
    try {
      const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
      const response = await fetch(`${this.httpUrl}/readyz`, { signal });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return undefined;
    }
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Ends the gateway as an operator does. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** Ends the gateway as a power cut does. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  /** Ends the gateway, and leaves its log and data. */
  async keep(): Promise<string> {
    await this.kill();
    const file = join(this.dataDir, 'gateway.log');
    await writeFile(file, `${this.lines.all.join('\n')}\n`);
    return file;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}
