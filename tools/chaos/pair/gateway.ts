import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../../../test/former/gateway/running-gateway.js';
import { Lines } from '../../../test/former/lines.js';
import { unusedPort } from '../../../test/former/servers/unused-port.js';
import { gatewayStartedAt } from '../../../test/harness/described/described-origins.js';

/** In the sources, because the harness also runs compiled. */
const PRELOAD = join(process.cwd(), 'tools/chaos/pair/source-address.mjs');
const READY_TIMEOUT_MS = 1_000;
/** As in systemd/care-home-gateway.service. */
const RESTART_AFTER_MS = 1_000;

const heldLine = z.object({ msg: z.literal('took the lease of the store'), epoch: z.number() });
/** A log line about missing alarms. */
const lostLine = z.object({
  lost: z.object({ alarms: z.object({ from: z.number(), to: z.number() }) }),
});

/** As config/pair/gateway-serves.sh distinguishes them; *faulty* serves, *silent* gives no answer. */
export type Readiness = 'ready' | 'faulty' | 'standing-by' | 'silent';

/** One gateway of a pair as a process, always on the same ports. */
export class PairGateway {
  readonly name: string;
  readonly dataDir: string;
  readonly mqttPort: number;
  readonly httpPort: number;
  readonly lines = new Lines();
  /** Called with the epoch whenever the gateway says that it holds the lease. */
  onLease: ((epoch: number) => void) | undefined;
  /** How the gateway ended when the test had not ended it. */
  readonly unexpectedEnds: string[] = [];
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #isWanted = false;

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

  /** Creates a gateway that connects from the address, without starting it. */
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

  /** How many alarms the log reports as lost. */
  get toldLost(): number {
    // The same loss may be reported twice: on an append, and by the witness of the store.
    const lost = new Set<number>();
    for (const line of this.lines.all) {
      const { data } = lostLine.safeParse(parsed(line));
      const { from, to } = data?.lost.alarms ?? { from: 1, to: 0 };
      for (let number = from; number <= to; number++) lost.add(number);
    }
    return lost.size;
  }

  /** Starts the process without waiting: it may have to stand by. */
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
    this.#isWanted = true;
    for (const output of [child.stdout, child.stderr]) {
      const lines = createInterface({ input: output }).on('line', (line) => this.#heard(line));
      // The pipe of a killed process may be reset.
      lines.on('error', () => undefined);
    }
    child.once('exit', (code, signal) => this.#ended(child, code ?? signal));
  }

  /** Whether the gateway says that it serves, with or without a fault. */
  async isServing(): Promise<boolean> {
    return ['ready', 'faulty'].includes(await this.readiness());
  }

  /** What `/readyz` says. */
  async readiness(): Promise<Readiness> {
    try {
      const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
      const response = await fetch(`${this.httpUrl}/readyz`, { signal });
      const text = await response.text();
      if (text.includes('"standing-by"')) return 'standing-by';
      return response.status === 200 ? 'ready' : 'faulty';
    } catch {
      return 'silent';
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

  /** Ends the gateway, but leaves its log and data. */
  async keep(): Promise<string> {
    await this.kill();
    const file = join(this.dataDir, 'gateway.log');
    await writeFile(file, `${this.lines.all.join('\n')}\n`);
    return file;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#isWanted = false;
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  #heard(line: string): void {
    this.lines.add(line);
    const held = heldLine.safeParse(parsed(line));
    if (held.success) this.onLease?.(held.data.epoch);
  }

  /** Restarts the gateway when it ended on its own, as systemd does. */
  #ended(child: ChildProcess, status: number | NodeJS.Signals | null): void {
    if (!this.#isWanted || child !== this.#child) return;
    this.unexpectedEnds.push(`with ${status} after: ${this.lines.all.slice(-3).join(' | ')}`);
    setTimeout(() => {
      if (this.#isWanted && !this.isRunning) this.start();
    }, RESTART_AFTER_MS).unref();
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
