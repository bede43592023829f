import { statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import { restoreIncompleteFiles } from './append-only-restore.js';
import { createDataDirectory, lockDataDirectory } from './data-directory.js';
import { followOutput, type OutputFollower } from './embedded-output.js';
import { createEmbeddedPlace, embeddedPlace, removeSocketDirectory } from './embedded-place.js';
import { cutDamagedTail } from './embedded-repair.js';
import { obtainServer, type StoreServer, stopServer, untilReady } from './embedded-server.js';

const MIN_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 2000;
/** A server that ran this long did not end because of how it was started. */
const STABLE_AFTER_MS = 10_000;
/** The gateway has 10 s to stop (CONTRACT 1, stop), and the store stops last. */
const STOP_TIMEOUT_MS = 4000;

/** The options of `createEmbeddedRedis`. */
export interface EmbeddedRedisOptions {
  readonly dataDir: string;
  readonly maxMemoryBytes: number;
  readonly log: Logger;
  /** `PATH` for the server's program; the gateway's own environment when left out. */
  readonly searchPath?: string | undefined;
}

/** The gateway's own store, a Redis server as a child process (CONTRACT 1, store). */
export interface EmbeddedRedis {
  readonly socketPath: string;
  /** Whether the store answers, as far as known. */
  readonly running: boolean;
  /**
   * Locks the data directory; resolves once the store has loaded its data and answers.
   *
   * From then on a store that ends is started again. May be called once.
   *
   * @throws GatewayError `start-failed`
   */
  start(): Promise<void>;
  /** Ends the store cleanly and unlocks the data directory. */
  stop(): Promise<void>;
}

/** Creates the embedded store of a data directory, not yet started. */
export function createEmbeddedRedis(options: EmbeddedRedisOptions): EmbeddedRedis {
  return new Supervisor(options);
}

class Supervisor implements EmbeddedRedis {
  readonly #dataDir: string;
  readonly #maxMemoryBytes: number;
  readonly #log: Logger;
  readonly #searchPath: string | undefined;
  readonly #stopping = new AbortController();
  #place;
  #starting: Promise<void> | undefined;
  #supervision: Promise<void> | undefined;
  #release: (() => void) | undefined;
  #output: OutputFollower | undefined;
  #server: StoreServer | undefined;
  #running = false;
  #restartDelayMs = MIN_RESTART_DELAY_MS;

  constructor({ dataDir, maxMemoryBytes, log, searchPath }: EmbeddedRedisOptions) {
    this.#dataDir = dataDir;
    this.#maxMemoryBytes = maxMemoryBytes;
    this.#log = log;
    this.#searchPath = searchPath;
    this.#place = embeddedPlace(dataDir);
  }

  get socketPath(): string {
    return this.#place.socketPath;
  }

  get running(): boolean {
    return this.#running;
  }

  start(): Promise<void> {
    this.#starting = this.#startUp();
    return this.#starting;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    // A failed start is reported to the caller of `start`.
    await Promise.allSettled([this.#starting]);
    await this.#supervision;
    await this.#shutDown();
  }

  async #startUp(): Promise<void> {
    try {
      await createDataDirectory(this.#dataDir);
      this.#release = lockDataDirectory(this.#dataDir);
      this.#place = await createEmbeddedPlace(this.#place);
      this.#output = await followOutput(this.#place.outputFile, this.#log);
      const server = await this.#bringUp(this.#output);
      this.#supervision = this.#supervise(server, this.#output);
    } catch (cause) {
      await this.#shutDown();
      if (cause instanceof GatewayError) throw cause;
      const what = this.#stopping.signal.aborted ? 'was stopped while starting' : 'cannot start';
      throw new GatewayError('start-failed', `the embedded store ${what}`, { cause });
    }
  }

  async #shutDown(): Promise<void> {
    this.#running = false;
    if (this.#server) await stopServer(this.#server, this.#place, STOP_TIMEOUT_MS);
    if (this.#output) {
      await this.#output.stop();
      await removeSocketDirectory(this.#place);
    }
    this.#release?.();
    this.#server = undefined;
    this.#output = undefined;
    this.#release = undefined;
  }

  /** Restarts the server whenever it ends, until stopped. */
  async #supervise(first: StoreServer, output: OutputFollower): Promise<void> {
    const { signal } = this.#stopping;
    const stopped = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    let server: StoreServer | undefined = first;
    while (server !== undefined) {
      const upSinceMs = performance.now();
      const how = await Promise.race([server.ended, stopped]);
      if (how === undefined) return;
      this.#running = false;
      await output.catchUp();
      const diskFreeBytes = await freeBytes(this.#place.directory);
      this.#log.error({ how, pid: server.pid, diskFreeBytes }, 'the embedded store ended');
      if (performance.now() - upSinceMs > STABLE_AFTER_MS) {
        this.#restartDelayMs = MIN_RESTART_DELAY_MS;
      }
      server = await this.#restart(output);
    }
  }

  /** Starts servers until one answers; undefined when the gateway stops first. */
  async #restart(output: OutputFollower): Promise<StoreServer | undefined> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const delayMs = this.#restartDelayMs;
      this.#restartDelayMs = Math.min(delayMs * 2, MAX_RESTART_DELAY_MS);
      try {
        await delay(delayMs, undefined, { signal });
        return await this.#bringUp(output);
      } catch (err) {
        if (!signal.aborted) this.#log.error({ err }, 'failed to restart the embedded store');
      }
    }
    return undefined;
  }

  async #bringUp(output: OutputFollower): Promise<StoreServer> {
    const server = (await this.#tryServer(output)) ?? (await this.#tryRepaired(output));
    if (server !== undefined) return server;
    throw new GatewayError(
      'start-failed',
      `the embedded store ended while starting: ${output.lastLines()}`,
    );
  }

  async #tryRepaired(output: OutputFollower): Promise<StoreServer | undefined> {
    const cut = await cutDamagedTail(this.#place.directory, this.#searchPath);
    if (cut === undefined) return undefined;
    this.#log.error(cut, 'cut a damaged tail off the append-only file');
    return this.#tryServer(output);
  }

  async #restoreFiles(): Promise<void> {
    const restored = await restoreIncompleteFiles(this.#place.directory);
    if (restored === undefined) return;
    this.#log.error(restored, 'append-only files are missing, starting the store with those left');
  }

  /** Obtains a server that answers; undefined when it ended first. */
  async #tryServer(output: OutputFollower): Promise<StoreServer | undefined> {
    const { signal } = this.#stopping;
    const beforeLaunch = () => this.#restoreFiles();
    const [searchPath, maxMemoryBytes] = [this.#searchPath, this.#maxMemoryBytes];
    const options = { place: this.#place, searchPath, maxMemoryBytes, beforeLaunch };
    const server = await obtainServer(options, signal);
    this.#server = server;
    const isReady = await untilReady(server, this.#place, signal);
    await output.catchUp();
    if (!isReady) return undefined;
    this.#running = true;
    const { pid, adopted } = server;
    this.#log.info(
      { pid, adopted },
      adopted ? 'adopted the running embedded store' : 'embedded store answers',
    );
    return server;
  }
}

/** Free space, for the log: a store whose disk is full cannot write why it ended. */
async function freeBytes(directory: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
