import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { DemoError, unlessAborted, within } from './demo-error.js';
import { parsedJson } from './json.js';

/** What the demo is told about the machine it runs on. */
export interface Machine {
  /** The Node.js program. */
  readonly node: string;
  /** The gateway's `main.js`. */
  readonly gatewayProgram: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const START_DEADLINE_MS = 30_000;
/** The gateway gives up by itself after ten seconds (CONTRACT 1, stop). */
const STOP_DEADLINE_MS = 12_000;

/** Of its own, so that the sample file beside the program, perhaps edited, is not read. */
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
      // Only then has all it wrote been read.
      child.once('close', (status, signal) => {
        resolve(`ended with ${signal ?? `status ${status}`}${this.#lastWords}`);
      });
    });
  }

  /**
   * Starts it and resolves when it is ready.
   *
   * @throws DemoError when it is not, the signal's reason when that is aborted; nothing of it runs
   * any more then
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
    // Nothing depends on the log; a full disk shows in the gateway itself.
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

  /** Rejects with a DemoError when the gateway ends though nobody stopped it. */
  async watch(): Promise<never> {
    const how = await this.#exited;
    if (this.#stopping) return new Promise(() => undefined);
    throw new DemoError(`the gateway ${how}`);
  }

  /** Ends it, its store included, by force where it must be; returns whether it ended cleanly. */
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

/** Where the gateway's log is, within the demo's directory. */
export function logFile(directory: string): string {
  return join(directory, 'gateway.log');
}

/** Settings meant for a gateway in earnest must not reach this one: they may name its store. */
function withoutGatewayVariables(environment: Machine['environment']) {
  const entries = Object.entries(environment).filter(([name]) => !name.startsWith('GATEWAY_'));
  return Object.fromEntries(entries.filter(([name]) => name !== 'NOTIFY_SOCKET'));
}

/**
 * The store outlives a gateway that was killed, on purpose; here nobody comes back for it. A store
 * that was stopped cleanly has removed its file.
 */
async function endAbandonedStore(dataDir: string): Promise<void> {
  try {
    const pid = Number(await readFile(join(dataDir, 'redis', 'redis.pid'), 'utf8'));
    if (pid > 1) process.kill(pid, 'SIGKILL');
  } catch {
    // No file, or no such process: there is nothing to end.
  }
}
