import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { onTestFinished } from 'vitest';
import { createLog } from '../../src/logging/log.js';
import { EmbeddedRedis } from '../../src/store/embedded/embedded-redis.js';
import { eventually } from '../harness/index.js';
import { Lines } from '../harness/wait.js';

export const MAX_MEMORY_BYTES = 64 * 1024 * 1024;

/** Creates a directory that is removed after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Creates a log that keeps its messages. */
export function recordingLog(): { log: Logger; messages: string[] } {
  const messages: string[] = [];
  const write = (line: string) => messages.push(line);
  return { log: createLog('debug', { write }), messages };
}

/** The embedded store of a data directory; it leaves nothing running after the test. */
export function embeddedRedis(
  dataDir: string,
  searchPath?: string,
): { embedded: EmbeddedRedis; messages: string[] } {
  const { log, messages } = recordingLog();
  const embedded = new EmbeddedRedis({
    dataDir,
    log,
    searchPath,
    maxMemoryBytes: MAX_MEMORY_BYTES,
  });
  onTestFinished(async () => {
    await embedded.stop();
    killStore(dataDir);
  });
  return { embedded, messages };
}

function killStore(dataDir: string): void {
  try {
    process.kill(Number(readFileSync(join(dataDir, 'redis', 'redis.pid'), 'utf8')), 'SIGKILL');
  } catch {
    // As expected, no server is left.
  }
}

/** Asks the server on the socket, over a separate connection. */
export async function ask<T>(socketPath: string, question: (redis: Redis) => Promise<T>) {
  const redis = new Redis({ path: socketPath, retryStrategy: () => null, lazyConnect: true });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

/** Asks the server on the socket for its process id. */
export async function pidOf(socketPath: string): Promise<number> {
  const info = await ask(socketPath, (redis) => redis.info('server'));
  return Number(/^process_id:(\d+)/m.exec(info)?.[1]);
}

/** Whether the process is running; a zombie is not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Waits until the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  await eventually(() => {
    if (!condition()) throw new Error(`not so in time: ${condition}`);
  });
}

/** Starts the embedded store in a separate process. */
export async function embeddedInOtherProcess(
  dataDir: string,
): Promise<{ child: ChildProcess; socketPath: string; killGateway: () => Promise<void> }> {
  const script = fileURLToPath(new URL('embedded-process.mjs', import.meta.url));
  // Its own process group, which can be killed as Ctrl-C in a terminal does.
  const child = spawn(process.execPath, [script, dataDir], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    killStore(dataDir);
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('the process was not started');
  const lines = new Lines();
  lines.read(child.stdout);
  const socketPath = await lines.next('', 0);
  const killGateway = async () => {
    const exit = once(child, 'exit');
    process.kill(-pid, 'SIGKILL');
    await exit;
  };
  return { child, socketPath, killGateway };
}
