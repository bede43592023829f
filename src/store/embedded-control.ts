import { Redis } from 'ioredis';
import { GatewayError } from '../errors.js';
import type { EmbeddedPlace } from './embedded-place.js';

const ANSWER_TIMEOUT_MS = 1000;

/** A connection about the server itself, which never reconnects. */
export interface ControlConnection {
  readonly pid: number;
  /** Resolves when the connection ends, which it does with the server unless it fails itself. */
  readonly closed: Promise<void>;
  isLoading(): Promise<boolean>;
  /** Bounds the server's memory, which it fills to the last: nothing is evicted. */
  limitMemory(maxBytes: number): Promise<void>;
  /** Makes the server save and end. */
  shutDown(): Promise<void>;
  close(): void;
}

/**
 * Connects to the server on our socket; undefined when none answers.
 *
 * A server that keeps its data elsewhere is left alone.
 */
export async function openControl(place: EmbeddedPlace): Promise<ControlConnection | undefined> {
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
    const pid = Number(field(await redis.info('server'), 'process_id'));
    await checkDirectory(redis, place);
    return controlOf(redis, pid, closed);
  } catch (error) {
    redis.disconnect();
    if (error instanceof GatewayError) throw error;
    return undefined;
  }
}

function controlOf(redis: Redis, pid: number, closed: Promise<void>): ControlConnection {
  return {
    pid,
    closed,
    isLoading: async () => field(await redis.info('persistence'), 'loading') !== '0',
    limitMemory: async (maxBytes) => {
      await redis.config('SET', 'maxmemory', maxBytes);
      await redis.config('SET', 'maxmemory-policy', 'noeviction');
    },
    shutDown: async () => {
      // The answer to SHUTDOWN is the end of the connection.
      await redis.shutdown().catch(ignoreError);
    },
    close: () => redis.disconnect(),
  };
}

async function checkDirectory(redis: Redis, place: EmbeddedPlace): Promise<void> {
  const answer: unknown = await redis.config('GET', 'dir');
  const directory: unknown = Array.isArray(answer) ? answer[1] : undefined;
  if (directory === place.directory) return;
  throw new GatewayError(
    'start-failed',
    `another server answers on ${place.socketPath}; its data is in ${String(directory)}`,
  );
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** Ignores an error that also shows as a rejected call or an ended connection. */
function ignoreError(): undefined {
  return undefined;
}
