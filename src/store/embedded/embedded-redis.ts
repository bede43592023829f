import { once } from 'node:events';
import { mkdir, statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError, systemErrorCode } from '../../errors.js';
import { createDataDirectory, lockDataDirectory } from '../data-directory.js';
import { missingFiles, moveUnnamedFiles, removeDrafts } from './files.js';
import { lastOutput } from './output.js';
import { type EmbeddedPlace, embeddedPlace } from './place.js';
import { cutTornEnd } from './repair.js';
import { hasLoaded, obtainServer, type StoreServer, stopServer } from './server.js';

const MIN_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 2000;
/** A server that ran this long did not end because of a bad start. */
const STABLE_AFTER_MS = 10_000;
/** The gateway has 10 s to stop, and the store stops last. */
const STOP_TIMEOUT_MS = 4000;

export interface EmbeddedRedisOptions {
  readonly dataDir: string;
  readonly maxMemoryBytes: number;
  readonly log: Logger;
  /** `PATH` for the server's program; undefined: the gateway's own environment. */
  readonly searchPath?: string | undefined;
}

/** The gateway's own store, a Redis server as a child process. */
export class EmbeddedRedis {
  readonly #options: EmbeddedRedisOptions;
  readonly #place: EmbeddedPlace;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #starting: Promise<void> | undefined;
  #supervision: Promise<void> | undefined;
  #unlock: (() => void) | undefined;
  #server: StoreServer | undefined;
  #running = false;
  #restartDelayMs = MIN_RESTART_DELAY_MS;

  constructor(options: EmbeddedRedisOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#place = embeddedPlace(options.dataDir);
  }

  get socketPath(): string {
    return this.#place.socketPath;
  }

  /** Whether the store answers, as far as known. */
  get running(): boolean {
    return this.#running;
  }

  /**
   * Locks the data directory. Resolves once the store has loaded its data and answers.
   *
   * From then on, a store that ends is started again. May be called only once.
   *
   * @throws GatewayError `start-failed`
   */
  start(): Promise<void> {
    this.#starting = this.#startUp();
    return this.#starting;
  }

  /** Ends the store cleanly and unlocks the data directory. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    // The caller of `start` gets its failure.
    await Promise.allSettled([this.#starting]);
    await this.#supervision;
    await this.#shutDown();
  }

  async #startUp(): Promise<void> {
    const { dataDir } = this.#options;
    try {
      await createDataDirectory(dataDir);
      this.#unlock = lockDataDirectory(dataDir);
      await mkdir(this.#place.directory, { recursive: true, mode: 0o700 });
      const server = await this.#bringUp();
      this.#supervision = this.#supervise(server);
    } catch (cause) {
      await this.#shutDown();
      if (cause instanceof GatewayError) throw cause;
      const isReadOnly = systemErrorCode(cause) === 'EROFS';
      const why = isReadOnly ? ': the disk with the data directory is read-only' : '';
      const isStopped = this.#stopping.signal.aborted;
      const what = isStopped ? 'was stopped while starting' : `cannot start${why}`;
      throw new GatewayError('start-failed', `the embedded store ${what}`, { cause });
    }
  }

  async #shutDown(): Promise<void> {
    this.#running = false;
    if (this.#server) await stopServer(this.#server, STOP_TIMEOUT_MS);
    this.#server = undefined;
    this.#unlock?.();
    this.#unlock = undefined;
  }

  /** Restarts the server whenever it ends, until stopped. */
  async #supervise(first: StoreServer): Promise<void> {
    const stopped = once(this.#stopping.signal, 'abort').then(() => undefined);
    let server: StoreServer | undefined = first;
    while (server !== undefined) {
      const upSinceMs = performance.now();
      const how = await Promise.race([server.ended, stopped]);
      if (how === undefined) return;
      await this.#logEnd(server, how);
      if (performance.now() - upSinceMs > STABLE_AFTER_MS) {
        this.#restartDelayMs = MIN_RESTART_DELAY_MS;
      }
      server = await this.#restart();
    }
  }

  async #logEnd({ pid }: StoreServer, how: string): Promise<void> {
    this.#running = false;
    this.#server = undefined;
    // A store with a full disk cannot write why it ended.
    const disk = await statfs(this.#place.directory).catch(() => undefined);
    const diskFreeBytes = disk && disk.bavail * disk.bsize;
    const output = await lastOutput(this.#place.outputFile);
    this.#log.error({ how, pid, diskFreeBytes, output }, 'the embedded store ended');
  }

  /** Starts servers until one answers; undefined if the gateway stops first. */
  async #restart(): Promise<StoreServer | undefined> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const delayMs = this.#restartDelayMs;
      this.#restartDelayMs = Math.min(delayMs * 2, MAX_RESTART_DELAY_MS);
      try {
        await delay(delayMs, undefined, { signal });
        return await this.#bringUp();
      } catch (err) {
        if (!signal.aborted) this.#log.error({ err }, 'failed to restart the embedded store');
      }
    }
    return undefined;
  }

  async #bringUp(): Promise<StoreServer> {
    const server =
      (await this.#tryServer(() => this.#tidyFiles())) ??
      (await this.#tryServer(() => this.#repairFile()));
    if (server === undefined) throw await this.#startFailure();
    return server;
  }

  /** Obtains a server that answers; undefined if it ends first. */
  async #tryServer(prepare: () => Promise<void>): Promise<StoreServer | undefined> {
    const { signal } = this.#stopping;
    const { searchPath, maxMemoryBytes } = this.#options;
    const options = { place: this.#place, searchPath, maxMemoryBytes, prepare };
    const server = await obtainServer(options, signal);
    this.#server = server;
    if (server === undefined || !(await hasLoaded(server, signal))) return undefined;
    this.#running = true;
    const { pid, adopted } = server;
    this.#log.info(
      { pid, adopted },
      adopted ? 'adopted the running embedded store' : 'embedded store answers',
    );
    return server;
  }

  async #tidyFiles(): Promise<void> {
    const { directory } = this.#place;
    await removeDrafts(directory);
    const movedTo = await moveUnnamedFiles(directory);
    if (movedTo === undefined) return;
    this.#log.warn({ movedTo }, 'append-only files without a manifest: the store starts empty');
  }

  async #repairFile(): Promise<void> {
    const cut = await cutTornEnd(this.#place.directory, this.#options.searchPath);
    if (cut === undefined) throw await this.#startFailure();
    this.#log.warn(cut, 'cut the torn end off the append-only file');
  }

  async #startFailure(): Promise<GatewayError> {
    const { directory, outputFile } = this.#place;
    const [missing] = await missingFiles(directory);
    const detail =
      missing === undefined
        ? `the embedded store ended while starting: ${await lastOutput(outputFile)}`
        : `the embedded store cannot start, ${missing} is missing: restore a backup, or move ${directory} away to start with an empty store`;
    return new GatewayError('start-failed', detail);
  }
}
