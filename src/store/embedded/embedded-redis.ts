/**
 * The gateway's own store, a Redis server as a child process.
 *
 * It is launched, or adopted from a killed gateway, and started again whenever it ends. A server holds the lock of
 * its data as long as it lives, so two never write the same append-only file. What a power cut has torn off the end
 * of that file is cut before a start (append-only-file.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, realpathSync, statSync } from 'node:fs';
import { mkdir, readFile, statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { GatewayError, systemErrorCode } from '../../errors.js';
import { createDataDirectory } from '../../files.js';
import { lockDataDirectory, lockFile } from '../data-directory.js';
import { infoField } from '../server/check.js';
import { cutTornEnd, moveUnnamedFiles, removeDrafts } from './append-only-file.js';

export const PROGRAMS = ['redis-server', 'valkey-server'];
const LOOK_AGAIN_MS = 50;
const ANSWER_TIMEOUT_MS = 1000;
/** Timeout for a server that holds the data and does not answer. */
const UNANSWERED_MS = 5000;
const MIN_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 2000;
/** A server that ran this long did not end because of a bad start. */
const STABLE_AFTER_MS = 10_000;
/** The gateway has 10 s to stop, and the store stops last. */
const STOP_TIMEOUT_MS = 4000;

const MIB = 1024 * 1024;
const MAX_OUTPUT_BYTES = MIB;
const LAST_LINES = 5;
/** The most that the gateway itself needs, with all of its bounds together. */
const GATEWAY_BYTES = 256 * MIB;
const MIN_STORE_BYTES = 64 * MIB;

export interface EmbeddedRedisOptions {
  readonly dataDir: string;
  readonly maxMemoryBytes: number;
  readonly log: Logger;
  /** `PATH` for the server's program; undefined: the gateway's own environment. */
  readonly searchPath?: string | undefined;
}

/** A server that answers. */
interface Server {
  readonly pid: number;
  readonly isAdopted: boolean;
  /** Never reconnects: for an adopted server, its end is the end of the server. */
  readonly control: Redis;
  /** Resolves to how the server ended, once it has. */
  readonly ended: Promise<string>;
}

/** A process that was launched, and may not answer yet. */
interface Launched {
  readonly child: ChildProcess;
  readonly ended: Promise<string>;
}

/**
 * The embedded store's memory limit if the configuration has none: half of what the gateway leaves.
 *
 * The other half is for rewriting the append-only file: the server forks for this, and every page written
 * meanwhile exists twice.
 *
 * @param machineBytes the memory of the machine or of its cgroup (version 1 or 2), whichever is less
 */
export function defaultMaxMemoryBytes(machineBytes: number = availableBytes()): number {
  return Math.max(MIN_STORE_BYTES, Math.floor((machineBytes - GATEWAY_BYTES) / 2));
}

function availableBytes(): number {
  // 0 or undefined without a cgroup, 2^64 if it has no limit.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/** The socket of the embedded store of a data directory. */
export function socketIn(dataDir: string): string {
  return join(resolve(dataDir), 'redis', 'redis.sock');
}

export class EmbeddedRedis {
  readonly socketPath: string;
  readonly #options: EmbeddedRedisOptions;
  readonly #log: Logger;
  /** Its working directory, with the append-only files. */
  readonly #directory: string;
  readonly #outputFile: string;
  readonly #stopping = new AbortController();
  #starting: Promise<void> | undefined;
  #supervision: Promise<void> | undefined;
  #unlock: (() => void) | undefined;
  #server: Server | undefined;
  #running = false;

  constructor(options: EmbeddedRedisOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#directory = join(resolve(options.dataDir), 'redis');
    // The configuration check covers the length of the path.
    this.socketPath = socketIn(options.dataDir);
    this.#outputFile = join(this.#directory, 'redis.log');
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
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      this.#supervision = this.#supervise(await this.#bringUp());
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

  /** Ends the server cleanly, or kills it if that takes too long. */
  async #shutDown(): Promise<void> {
    this.#running = false;
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) {
      const byForce = setTimeout(() => killIfAlive(server.pid), STOP_TIMEOUT_MS);
      // SHUTDOWN answers by ending the connection.
      await server.control.shutdown().catch(ignoreError);
      await server.ended;
      clearTimeout(byForce);
      server.control.disconnect();
    }
    this.#unlock?.();
    this.#unlock = undefined;
  }

  /** Restarts the server whenever it ends, until stopped. */
  async #supervise(first: Server): Promise<void> {
    const { signal } = this.#stopping;
    const stopped = once(signal, 'abort').then(() => undefined);
    let restartDelayMs = MIN_RESTART_DELAY_MS;
    let server: Server | undefined = first;
    while (!signal.aborted) {
      if (server !== undefined) {
        const upSinceMs = performance.now();
        const how = await Promise.race([server.ended, stopped]);
        if (how === undefined) return;
        await this.#logEnd(server, how);
        const wasStable = performance.now() - upSinceMs > STABLE_AFTER_MS;
        if (wasStable) restartDelayMs = MIN_RESTART_DELAY_MS;
      }
      await delay(restartDelayMs, undefined, { signal }).catch(ignoreError);
      restartDelayMs = Math.min(restartDelayMs * 2, MAX_RESTART_DELAY_MS);
      server = await this.#bringUp().catch((err: unknown) => {
        if (!signal.aborted) this.#log.error({ err }, 'failed to restart the embedded store');
        return undefined;
      });
    }
  }

  async #logEnd({ pid }: Server, how: string): Promise<void> {
    this.#running = false;
    this.#server = undefined;
    // A store with a full disk cannot write why it ended.
    const disk = await statfs(this.#directory).catch(() => undefined);
    const diskFreeBytes = disk && disk.bavail * disk.bsize;
    const output = await this.#lastOutput();
    this.#log.error({ how, pid, diskFreeBytes, output }, 'the embedded store ended');
  }

  /** @throws GatewayError `start-failed` if the server ends, also after its file was repaired */
  async #bringUp(): Promise<Server> {
    const server =
      (await this.#obtain(() => this.#tidyFiles())) ??
      (await this.#obtain(() => this.#repairFile()));
    if (server === undefined) throw await this.#startFailure();
    this.#running = true;
    const { pid, isAdopted: adopted } = server;
    const line = adopted ? 'adopted the running embedded store' : 'embedded store answers';
    this.#log.info({ pid, adopted }, line);
    return server;
  }

  /**
   * Adopts the server of a killed gateway, or launches one; resolves once it has loaded its data.
   *
   * @param prepare prepares the files before a launch, while the lock guarantees that no server uses them
   * @returns undefined if the server ended first
   */
  async #obtain(prepare: () => Promise<void>): Promise<Server | undefined> {
    const { signal } = this.#stopping;
    const giveUpAtMs = performance.now() + UNANSWERED_MS;
    let launched: Launched | undefined;
    try {
      for (;;) {
        signal.throwIfAborted();
        const server = await this.#connect(launched);
        if (server !== undefined) return (await this.#hasLoaded(server)) ? server : undefined;
        if (launched !== undefined) {
          const { exitCode, signalCode } = launched.child;
          if (exitCode !== null || signalCode !== null) return undefined;
        } else {
          const lock = lockFile(join(this.#directory, 'redis.lock'));
          if (lock !== undefined) launched = await this.#launch(lock, prepare);
          else if (performance.now() > giveUpAtMs) throw unanswering(this.#directory);
        }
        await delay(LOOK_AGAIN_MS, undefined, { signal });
      }
    } catch (error) {
      launched?.child.kill('SIGKILL');
      await launched?.ended;
      throw error;
    }
  }

  /**
   * Connects to the server on our socket, and limits its memory; undefined if none answers.
   *
   * @throws GatewayError `start-failed` for a server that keeps its data elsewhere; it is left alone
   */
  async #connect(launched: Launched | undefined): Promise<Server | undefined> {
    const control = new Redis({
      path: this.socketPath,
      lazyConnect: true,
      enableReadyCheck: false,
      disableClientInfo: true,
      retryStrategy: () => null,
      connectTimeout: ANSWER_TIMEOUT_MS,
      commandTimeout: ANSWER_TIMEOUT_MS,
    });
    control.on('error', ignoreError);
    const closed = new Promise<string>((resolve) => {
      control.once('end', () => resolve('its connection closed'));
    });
    try {
      await control.connect();
      const pid = Number(infoField(await control.info('server'), 'process_id'));
      const answer: unknown = await control.config('GET', 'dir');
      const directory: unknown = Array.isArray(answer) ? answer[1] : undefined;
      if (directory !== realpathSync(this.#directory)) {
        throw new GatewayError(
          'start-failed',
          `another server answers on ${this.socketPath}; its data is in ${String(directory)}`,
        );
      }
      // An adopted server may have another limit or none.
      await control.config('SET', 'maxmemory', this.#options.maxMemoryBytes);
      await control.config('SET', 'maxmemory-policy', 'noeviction');
      const ended = launched?.ended ?? closed;
      this.#server = { pid, isAdopted: launched === undefined, control, ended };
      return this.#server;
    } catch (error) {
      control.disconnect();
      if (error instanceof GatewayError) throw error;
      return undefined;
    }
  }

  /** Waits until the server has loaded its data; false if it ends first. */
  async #hasLoaded({ control }: Server): Promise<boolean> {
    while (control.status !== 'end') {
      const info = await control.info('persistence').catch(() => '');
      if (infoField(info, 'loading') === '0') return true;
      await delay(LOOK_AGAIN_MS, undefined, { signal: this.#stopping.signal });
    }
    return false;
  }

  /** Launches a server that inherits `lock`. Our own hold on it ends here. */
  async #launch(lock: number, prepare: () => Promise<void>): Promise<Launched> {
    const { searchPath } = this.#options;
    const bytes = statSync(this.#outputFile, { throwIfNoEntry: false })?.size ?? 0;
    const output = openSync(this.#outputFile, bytes > MAX_OUTPUT_BYTES ? 'w' : 'a', 0o600);
    try {
      await prepare();
      for (const program of PROGRAMS) {
        // Detached and without a pipe to us: it must survive whatever ends the gateway.
        const child = spawn(program, this.#arguments(), {
          detached: true,
          stdio: ['ignore', output, output, lock],
          ...(searchPath !== undefined && { env: { PATH: searchPath } }),
        });
        child.unref();
        const ended = endOf(child);
        if (await isSpawned(child)) return { child, ended };
      }
    } finally {
      closeSync(output);
      closeSync(lock);
    }
    throw new GatewayError(
      'start-failed',
      'neither redis-server nor valkey-server is installed: install one (Debian: apt-get install ' +
        'redis-server), or set redis.url to a server of yours',
    );
  }

  #arguments(): string[] {
    const settings: Readonly<Record<string, string>> = {
      port: '0',
      unixsocket: this.socketPath,
      unixsocketperm: '700',
      dir: this.#directory,
      pidfile: join(this.#directory, 'redis.pid'),
      daemonize: 'no',
      loglevel: 'warning',
      // Durable before it is answered, nothing evicted; no snapshots besides the log.
      appendonly: 'yes',
      appendfsync: 'always',
      'no-appendfsync-on-rewrite': 'no',
      // The gateway repairs a torn file itself: the server's own cut may leave an open MULTI at the end, which
      // swallows everything appended after it.
      'aof-load-truncated': 'no',
      'auto-aof-rewrite-percentage': '100',
      'auto-aof-rewrite-min-size': '64mb',
      save: '',
      maxmemory: String(this.#options.maxMemoryBytes),
      'maxmemory-policy': 'noeviction',
    };
    return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  }

  async #tidyFiles(): Promise<void> {
    await removeDrafts(this.#directory);
    const movedTo = await moveUnnamedFiles(this.#directory);
    if (movedTo === undefined) return;
    this.#log.warn({ movedTo }, 'append-only files without a manifest: the store starts empty');
  }

  async #repairFile(): Promise<void> {
    const cut = await cutTornEnd(this.#directory, this.#options.searchPath);
    if (cut === undefined) throw await this.#startFailure();
    this.#log.warn(cut, 'cut the torn end off the append-only file');
  }

  async #startFailure(): Promise<GatewayError> {
    const output = await this.#lastOutput();
    return new GatewayError('start-failed', `the embedded store ended while starting: ${output}`);
  }

  /** The last lines that a server has written; empty if unreadable. */
  async #lastOutput(): Promise<string> {
    const text = await readFile(this.#outputFile, 'utf8').catch(() => '');
    return text.trimEnd().split('\n').slice(-LAST_LINES).join('; ');
  }
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (status, signal) =>
      resolve(signal === null ? `exit status ${status}` : `killed by ${signal}`),
    );
  });
}

/** False if the program does not exist. */
async function isSpawned(child: ChildProcess): Promise<boolean> {
  try {
    await once(child, 'spawn');
    return true;
  } catch (cause) {
    if (systemErrorCode(cause) === 'ENOENT') return false;
    throw new GatewayError('start-failed', 'the store cannot be run', { cause });
  }
}

function unanswering(directory: string): GatewayError {
  const what = `a server that does not answer holds ${directory}: end it first`;
  return new GatewayError('start-failed', what);
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The server has ended on its own.
  }
}

/** Ignores an error that also appears as a rejected call or an ended connection. */
function ignoreError(): undefined {
  return undefined;
}
