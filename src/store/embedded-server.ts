import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '../errors.js';
import { type ControlConnection, openControl } from './embedded-control.js';
import type { EmbeddedPlace } from './embedded-place.js';
import { lockFile } from './file-lock.js';

const PROGRAMS = ['redis-server', 'valkey-server'];
const LOOK_AGAIN_MS = 50;
/** Timeout after which a server that holds the data but does not answer is killed. */
const UNANSWERED_MS = 5000;

/** A running server, launched or adopted. */
export interface StoreServer {
  readonly pid: number;
  readonly adopted: boolean;
  /** Resolves when the server has ended, with how it did. */
  readonly ended: Promise<string>;
  kill(): void;
}

/** Options to find, start and stop a server. */
export interface ServerOptions {
  readonly place: EmbeddedPlace;
  /** `PATH` for the server's program; the gateway's own environment when left out. */
  readonly searchPath: string | undefined;
  /** `maxmemory` of a new server, and of an adopted one. */
  readonly maxMemoryBytes: number;
  /** Called before a new server runs on the data, while none does. */
  readonly beforeLaunch: () => Promise<void>;
}

/**
 * Adopts the server of a killed gateway, or launches a new one (CONTRACT 1, store).
 *
 * A new server may not answer yet. Its lock lasts as long as it lives, so there are never two.
 */
export async function obtainServer(
  options: ServerOptions,
  signal: AbortSignal,
): Promise<StoreServer> {
  const { place, maxMemoryBytes } = options;
  const giveUpAt = performance.now() + UNANSWERED_MS;
  for (;;) {
    signal.throwIfAborted();
    const control = await openControl(place);
    if (control !== undefined && (await isLimited(control, maxMemoryBytes)))
      return adopted(control);
    const lock = lockFile(place.lockFile);
    if (lock !== undefined) return launch(options, lock);
    if (performance.now() > giveUpAt) killUnanswering(place);
    await delay(LOOK_AGAIN_MS, undefined, { signal });
  }
}

/** Whether the server has loaded its data and answers; false when it ends before that. */
export async function untilReady(
  server: StoreServer,
  place: EmbeddedPlace,
  signal: AbortSignal,
): Promise<boolean> {
  let hasEnded = false;
  void server.ended.then(() => {
    hasEnded = true;
  });
  while (!hasEnded) {
    if (await answers(place)) return true;
    await delay(LOOK_AGAIN_MS, undefined, { signal });
  }
  return false;
}

/** Ends the server cleanly, and kills it after `timeoutMs`. */
export async function stopServer(
  server: StoreServer,
  place: EmbeddedPlace,
  timeoutMs: number,
): Promise<void> {
  const timeUp = new AbortController();
  const byForce = delay(timeoutMs, undefined, { signal: timeUp.signal }).then(
    () => server.kill(),
    () => undefined,
  );
  // A server that takes no connection any more is killed after the timeout.
  const [control] = await Promise.allSettled([openControl(place)]);
  if (control.status === 'fulfilled') {
    await control.value?.shutDown();
    control.value?.close();
  }
  await server.ended;
  timeUp.abort();
  await byForce;
}

/** Limits the memory of a server that may have been started with another limit, or none. */
async function isLimited(control: ControlConnection, maxMemoryBytes: number): Promise<boolean> {
  try {
    await control.limitMemory(maxMemoryBytes);
    return true;
  } catch {
    control.close();
    return false;
  }
}

function adopted(control: ControlConnection): StoreServer {
  const { pid, closed } = control;
  return {
    pid,
    adopted: true,
    ended: closed.then(() => 'its connection closed'),
    kill: () => killIfAlive(pid),
  };
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The server has ended by itself meanwhile.
  }
}

async function answers(place: EmbeddedPlace): Promise<boolean> {
  const control = await openControl(place);
  if (control === undefined) return false;
  try {
    return !(await control.isLoading());
  } catch {
    return false;
  } finally {
    control.close();
  }
}

/** Launches a server that inherits `lock`; our own hold on it ends here. */
async function launch(options: ServerOptions, lock: number): Promise<StoreServer> {
  const { place, searchPath, maxMemoryBytes, beforeLaunch } = options;
  const output = openSync(place.outputFile, 'a', 0o600);
  try {
    await beforeLaunch();
    for (const program of PROGRAMS) {
      // Detached, and with no pipe to us: it must survive whatever ends the gateway.
      const child = spawn(program, serverArguments(place, maxMemoryBytes), {
        detached: true,
        stdio: ['ignore', output, output, lock],
        ...(searchPath !== undefined && { env: { PATH: searchPath } }),
      });
      const pid = await spawned(child);
      if (pid !== undefined) return launched(child, pid);
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

function launched(child: ChildProcess, pid: number): StoreServer {
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (status, signal) =>
      resolve(signal === null ? `exit status ${status}` : `killed by ${signal}`),
    );
  });
  child.unref();
  return { pid, adopted: false, ended, kill: () => child.kill('SIGKILL') };
}

/** The process id, or undefined when there is no such program. */
function spawned(child: ChildProcess): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child.pid));
    child.once('error', (cause) => {
      if ('code' in cause && cause.code === 'ENOENT') resolve(undefined);
      else reject(new GatewayError('start-failed', 'the store cannot be run', { cause }));
    });
  });
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
    // Durable before it is answered, nothing evicted (CONTRACT 4.1); no snapshots beside the log.
    ['appendonly', 'yes'],
    ['appendfsync', 'always'],
    ['no-appendfsync-on-rewrite', 'no'],
    // The gateway repairs a short file itself: the server's own cut may leave an open MULTI at the end,
    // which swallows everything appended after it (FINDINGS S5).
    ['aof-load-truncated', 'no'],
    ['auto-aof-rewrite-percentage', '100'],
    ['auto-aof-rewrite-min-size', '64mb'],
    ['save', ''],
    ['maxmemory', String(maxMemoryBytes)],
    ['maxmemory-policy', 'noeviction'],
  ];
  return settings.flatMap(([name, value]) => [`--${name}`, value]);
}

/** Kills the process that holds the data's lock and does not answer, if surely found. */
function killUnanswering(place: EmbeddedPlace): void {
  try {
    const pid = Number(readFileSync(place.pidFile, 'utf8'));
    if (readlinkSync(`/proc/${pid}/cwd`) === place.directory) {
      process.kill(pid, 'SIGKILL');
      return;
    }
  } catch {
    // The process has ended meanwhile, or there is no /proc: the error below says what to do.
  }
  throw new GatewayError(
    'start-failed',
    `a server that does not answer holds ${place.directory}: end it first`,
  );
}
