import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { DemoError, unlessAborted, within } from './demo-error.js';
import { parsedJson } from './json.js';

/** The machine that the demo runs on. */
export interface Machine {
  /** The Node.js program. */
  readonly node: string;
  /** The gateway's `main.js`. */
  readonly gatewayProgram: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const START_DEADLINE_MS = 30_000;
/** The gateway exits by itself after ten seconds (CONTRACT 1, stop). */
const STOP_DEADLINE_MS = 12_000;

/** The demo's own configuration, so that the sample file, perhaps edited, is not read. */
const CONFIG = 'dataDir: data\nmqtt:\n  port: 0\nhttp:\n  port: 0\n';

const bound = z.object({ port: z.number() });
const readyLine = z.object({
  msg: z.literal('gateway ready'),
  addresses: z.object({ mqtt: bound, http: bound }),
});

/** Pino's level 60. */
const fatalLine = z.object({ level: z.literal(60), msg: z.string() });

/** The real gateway, as a process of its own in the demo's directory. */
export class GatewayProcess {
  readonly #child: ChildProcess;
  readonly #dataDir: string;
  readonly #exited: Promise<string>;
  #ports: { readonly mqtt: number; readonly http: number } = { mqtt: 0, http: 0 };
  #adminToken = '';
  #lastWords = '';
  #stopping = false;

  private constructor(child: ChildProcess, directory: string) {
    this.#child = child;
    this.#dataDir = join(directory, 'data');
    this.#exited = new Promise((resolve) => {
      child.once('error', (error) => resolve(`could not be run: ${error.message}`));
      // All output has been read only at `close`.
      child.once('close', (status, signal) => {
        resolve(`ended with ${signal ?? `status ${status}`}${this.#lastWords}`);
      });
    });
  }

  /**
   * Starts the gateway; resolves when it is ready.
   *
   * @throws DemoError when it does not become ready, the signal's reason when that is aborted; nothing of
   *   the gateway runs any more then
   */
  static async start(
    machine: Machine,
    directory: string,
    signal: AbortSignal,
  ): Promise<GatewayProcess> {
    const configFile = join(directory, 'gateway.yaml');
    await writeFile(configFile, CONFIG);
    const child = spawn(machine.node, [machine.gatewayProgram, '--config', configFile], {
      cwd: directory,
      env: withoutGatewayVariables(machine.environment),
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own: Ctrl-C in the terminal is for the demo, which stops the gateway last.
      detached: true,
    });
    const log = createWriteStream(logFile(directory), { mode: 0o600 });
    // A failing log harms nothing, and a full disk shows in the gateway itself.
    log.on('error', () => undefined);
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    const gateway = new GatewayProcess(child, directory);
    child.once('close', () => log.end());
    try {
      const ready = unlessAborted(gateway.#ready(child.stdout), signal);
      await within(ready, START_DEADLINE_MS, 'the gateway did not become ready');
    } catch (error) {
      await gateway.stop();
      throw error;
    }
    return gateway;
  }

  get httpUrl(): string {
    return `http://127.0.0.1:${this.#ports.http}`;
  }

  get mqttPort(): number {
    return this.#ports.mqtt;
  }

  get adminToken(): string {
    return this.#adminToken;
  }

  /** Rejects with a DemoError when the gateway ends unexpectedly. */
  async watch(): Promise<never> {
    const how = await this.#exited;
    if (this.#stopping) return new Promise(() => undefined);
    throw new DemoError(`the gateway ${how}`);
  }

  /** Ends the gateway and its store, by force if need be; returns whether it ended cleanly. */
  async stop(): Promise<boolean> {
    this.#stopping = true;
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) {
      const ended = once(this.#child, 'exit');
      const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_DEADLINE_MS);
      this.#child.kill('SIGTERM');
      await ended;
      clearTimeout(force);
    }
    await endAbandonedStore(this.#dataDir);
    return this.#child.exitCode === 0;
  }

  async #ready(output: NodeJS.ReadableStream): Promise<void> {
    const lines = createInterface({ input: output });
    const ready = new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        const entry = parsedJson(line);
        const fatal = fatalLine.safeParse(entry);
        if (fatal.success) this.#lastWords = `: ${fatal.data.msg}`;
        const ready = readyLine.safeParse(entry);
        if (!ready.success) return;
        const { mqtt, http } = ready.data.addresses;
        this.#ports = { mqtt: mqtt.port, http: http.port };
        resolve();
      });
    });
    await Promise.race([ready, this.watch()]);
    this.#adminToken = (await readFile(join(this.#dataDir, 'admin.token'), 'utf8')).trim();
  }
}

/** The path of the gateway's log in the demo's directory. */
export function logFile(directory: string): string {
  return join(directory, 'gateway.log');
}

/** Removes the settings of a real gateway, which may name its store. */
function withoutGatewayVariables(environment: Machine['environment']) {
  const entries = Object.entries(environment).filter(([name]) => !name.startsWith('GATEWAY_'));
  return Object.fromEntries(entries.filter(([name]) => name !== 'NOTIFY_SOCKET'));
}

/**
 * Ends the store of a killed gateway, which outlives it on purpose.
 *
 * A store that was stopped cleanly has removed its file.
 */
async function endAbandonedStore(dataDir: string): Promise<void> {
  try {
    const pid = Number(await readFile(join(dataDir, 'redis', 'redis.pid'), 'utf8'));
    if (pid > 1) process.kill(pid, 'SIGKILL');
  } catch {
    // Without the file or the process there is nothing to end.
  }
}
