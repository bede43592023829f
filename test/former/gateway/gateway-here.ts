import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { GatewayAddresses } from '../../../src/composition/listening.js';
import { loadConfig } from '../../../src/config/load.js';
import type { Config } from '../../../src/config/schema.js';
import { createLog } from '../../../src/logging/log.js';
import { RepeatedLines } from '../../../src/logging/repeated-lines.js';
import { Service } from '../../../src/service.js';
import { type Environment, RunningGateway } from './running-gateway.js';

const MAX_OPEN_FILES = 100_000;

interface Clocks {
  /** The wall clock. */
  readonly now: () => number;
  /** The clock that does not jump. */
  readonly elapsed: () => number;
}

const CLOCKS: Clocks = { now: Date.now, elapsed: performance.now.bind(performance) };

/**
 * The gateway in the process of the test, as `main.ts` composes it.
 *
 * It starts in a tenth of the processor time of a process. A `GatewayProcess` tests whatever ends the gateway,
 * takes its store away, or belongs to the process: signals, exit status, memory.
 */
export class GatewayHere extends RunningGateway {
  readonly #repeated: RepeatedLines;
  readonly #clocks: Clocks;
  #configFile: string | undefined;
  #service: Service | undefined;

  private constructor(dataDir: string, environment: Environment, clocks: Clocks) {
    super(dataDir, environment);
    this.#clocks = clocks;
    this.#repeated = new RepeatedLines(clocks.elapsed);
  }

  static async start(environment?: Environment, clocks?: Partial<Clocks>): Promise<GatewayHere> {
    const gateway = await GatewayHere.create(environment, clocks);
    await gateway.start();
    return gateway;
  }

  /** Creates a gateway without starting it. */
  static async create(
    environment: Environment = {},
    clocks: Partial<Clocks> = {},
  ): Promise<GatewayHere> {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
    return new GatewayHere(dataDir, environment, { ...CLOCKS, ...clocks });
  }

  /** A gateway on an existing data directory, which `remove` deletes; not started yet. */
  static on(dataDir: string, environment: Environment = {}): GatewayHere {
    return new GatewayHere(dataDir, environment, CLOCKS);
  }

  /** Starts the gateway; after `stop`, on the same ports, as a box does. */
  async start(): Promise<void> {
    await this.choosePorts();
    const config = this.#loadConfig();
    this.#repeated.start();
    const addresses = await new Promise<GatewayAddresses>((resolve, reject) => {
      const service = new Service({
        config,
        log: createLog({
          level: config.log.level,
          destination: { write: (line) => this.log.add(line.trimEnd()) },
          repeated: this.#repeated,
        }),
        version: '1.2.3',
        consoleDirectory: 'dist/console',
        searchPath: this.variables['PATH'],
        // Not a real release, so that it is never out of support.
        runtime: 'v0.0.0',
        maxOpenFiles: MAX_OPEN_FILES,
        ...this.#clocks,
        onReady: resolve,
        onStandingBy: () => reject(new Error('another gateway serves')),
      });
      this.#service = service;
      service.run().catch(reject);
    });
    this.readyAt(addresses);
  }

  /** Writes its configuration file for the next start or `reload`. */
  async configure(content: object): Promise<void> {
    this.#configFile = join(this.dataDir, 'gateway.yaml');
    await writeFile(this.#configFile, stringify(content));
  }

  /** Makes the gateway follow its configuration file, as SIGHUP does. */
  async reload(): Promise<void> {
    await this.#service?.reload(this.#loadConfig());
  }

  #loadConfig(): Config {
    const [env, programDir] = [this.variables, this.dataDir];
    return loadConfig({ file: this.#configFile, env, programDir, cwd: process.cwd() });
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
    this.#repeated.stop();
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.dataDir, { recursive: true, force: true });
  }
}
