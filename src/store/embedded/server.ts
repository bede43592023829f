import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { GatewayError, systemErrorCode } from '../../errors.js';
import { infoField } from '../server/server-info.js';
import { lockFile } from './file-lock.js';
import { openOutput } from './output.js';
import type { EmbeddedPlace } from './place.js';

const PROGRAMS = ['redis-server', 'valkey-server'];
const LOOK_AGAIN_MS = 50;
const ANSWER_TIMEOUT_MS = 1000;
/** Timeout after which a server that holds the data but does not answer is killed. */
const UNANSWERED_MS = 5000;

/** A server that answers, launched or adopted. It may still be loading its data. */
export interface StoreServer {
  readonly pid: number;
  readonly adopted: boolean;
  /** Never reconnects: for an adopted server, its end is the end of the server. */
  readonly control: Redis;
  /** Resolves to how the server ended, once it has. */
  readonly ended: Promise<string>;
}

/** Options to find and start a server. */
export interface ServerOptions {
  readonly place: EmbeddedPlace;
  /** `PATH` for the server's program; undefined: the gateway's own environment. */
  readonly searchPath: string | undefined;
  /** `maxmemory` of a new or adopted server. */
  readonly maxMemoryBytes: number;
  /** Prepares the files before a launch, while the lock guarantees that no server uses them. */
  readonly prepare: () => Promise<void>;
}

interface Launched {
  readonly child: ChildProcess;
  readonly ended: Promise<string>;
}

/**
 * Adopts the server of a killed gateway, or launches a new one.
 *
 * A server holds its lock as long as it lives, so two never run.
 *
 * @returns undefined if the new server ended immediately
 */
export async function obtainServer(
  options: ServerOptions,
  signal: AbortSignal,
): Promise<StoreServer | undefined> {
  const { place } = options;
  const giveUpAt = performance.now() + UNANSWERED_MS;
  let launched: Launched | undefined;
  try {
    for (;;) {
      signal.throwIfAborted();
      const control = await connect(options);
      if (control !== undefined) return serverOf(control, launched);
      if (launched === undefined) {
        const lock = lockFile(place.lockFile);
        if (lock !== undefined) launched = await launch(options, lock);
        else if (performance.now() > giveUpAt) killUnanswering(place);
      } else if (launched.child.exitCode !== null || launched.child.signalCode !== null) {
        return undefined;
      }
      await delay(LOOK_AGAIN_MS, undefined, { signal });
    }
  } catch (error) {
    launched?.child.kill('SIGKILL');
    await launched?.ended;
    throw error;
  }
}

/** Waits until the server has loaded its data; false if it ends first. */
export async function hasLoaded({ control }: StoreServer, signal: AbortSignal): Promise<boolean> {
  while (control.status !== 'end') {
    const info = await control.info('persistence').catch(() => '');
    if (infoField(info, 'loading') === '0') return true;
    await delay(LOOK_AGAIN_MS, undefined, { signal });
  }
  return false;
}

/** Ends the server cleanly, or kills it after `timeoutMs`. */
export async function stopServer(server: StoreServer, timeoutMs: number): Promise<void> {
  const { control, ended, pid } = server;
  const byForce = setTimeout(() => killIfAlive(pid), timeoutMs);
  // SHUTDOWN answers by ending the connection.
  await control.shutdown().catch(ignoreError);
  await ended;
  clearTimeout(byForce);
  control.disconnect();
}

interface Control {
  readonly redis: Redis;
  readonly pid: number;
  readonly closed: Promise<void>;
}

/**
 * Connects to the server on our socket, and limits its memory; undefined if none answers.
 *
 * @throws GatewayError `start-failed` for a server that keeps its data elsewhere; it is left alone
 */
async function connect({ place, maxMemoryBytes }: ServerOptions): Promise<Control | undefined> {
  const redis = new Redis({
    path: place.socketPath,
    lazyConnect: true,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: () => null,
    connectTimeout: ANSWER_TIMEOUT_MS,
    commandTimeout: ANSWER_TIMEOUT_MS,
  });
  redis.on('error', ignoreError);
  const closed = new Promise<void>((resolve) => redis.once('end', resolve));
  try {
    await redis.connect();
    const pid = Number(infoField(await redis.info('server'), 'process_id'));
    const answer: unknown = await redis.config('GET', 'dir');
    const directory: unknown = Array.isArray(answer) ? answer[1] : undefined;
    if (directory !== realpathSync(place.directory)) {
      throw new GatewayError(
        'start-failed',
        `another server answers on ${place.socketPath}; its data is in ${String(directory)}`,
      );
    }
    // An adopted server may have another limit or none.
    await redis.config('SET', 'maxmemory', maxMemoryBytes);
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    return { redis, pid, closed };
  } catch (error) {
    redis.disconnect();
    if (error instanceof GatewayError) throw error;
    return undefined;
  }
}

function serverOf({ redis, pid, closed }: Control, launched: Launched | undefined): StoreServer {
  const ended = launched?.ended ?? closed.then(() => 'its connection closed');
  return { pid, adopted: launched === undefined, control: redis, ended };
}

/** Launches a server that inherits `lock`. Our own hold on it ends here. */
async function launch(
  { place, searchPath, maxMemoryBytes, prepare }: ServerOptions,
  lock: number,
): Promise<Launched> {
  const output = openOutput(place.outputFile);
  try {
    await prepare();
    for (const program of PROGRAMS) {
      // Detached and without a pipe to us: it must survive whatever ends the gateway.
      const child = spawn(program, serverArguments(place, maxMemoryBytes), {
        detached: true,
        stdio: ['ignore', output, output, lock],
        ...(searchPath !== undefined && { env: { PATH: searchPath } }),
      });
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

function endOf(child: ChildProcess): Promise<string> {
  child.unref();
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

function serverArguments(place: EmbeddedPlace, maxMemoryBytes: number): string[] {
  const settings: readonly (readonly [string, string])[] = [
    ['port', '0'],
    ['unixsocket', place.socketPath],
    ['unixsocketperm', '700'],
    ['dir', place.directory],
    ['pidfile', place.pidFile],
    ['daemonize', 'no'],
    ['loglevel', 'warning'],
    // Durable before it is answered, nothing evicted; no snapshots besides the log.
    ['appendonly', 'yes'],
    ['appendfsync', 'always'],
    ['no-appendfsync-on-rewrite', 'no'],
    // The gateway repairs a truncated file itself: the server's own cut may leave an open MULTI at the
    // end, which swallows everything appended after it.
    ['aof-load-truncated', 'no'],
    ['auto-aof-rewrite-percentage', '100'],
    ['auto-aof-rewrite-min-size', '64mb'],
    ['save', ''],
    ['maxmemory', String(maxMemoryBytes)],
    ['maxmemory-policy', 'noeviction'],
  ];
  return settings.flatMap(([name, value]) => [`--${name}`, value]);
}

/** Kills the process that holds the data's lock and does not answer, if it can be identified for certain. */
function killUnanswering({ directory, pidFile }: EmbeddedPlace): void {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8'));
    if (readlinkSync(`/proc/${pid}/cwd`) === realpathSync(directory)) {
      killIfAlive(pid);
      return;
    }
  } catch {
    // The process has ended, or /proc is missing: the error below says what to do.
  }
  throw new GatewayError(
    'start-failed',
    `a server that does not answer holds ${directory}: end it first`,
  );
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
