import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { GatewayError } from '../errors.js';

/** `sun_path` holds 108 bytes on Linux and 104 on macOS, the closing zero included. */
const MAX_SOCKET_PATH_BYTES = 103;

/** The paths of the embedded store's files. */
export interface EmbeddedPlace {
  /** Its working directory, with the append-only file. */
  readonly directory: string;
  readonly socketPath: string;
  readonly outputFile: string;
  readonly pidFile: string;
  /** Locked by the running server itself, so that two never write the same append-only file. */
  readonly lockFile: string;
}

/** Composes the paths; nothing is created yet. */
export function embeddedPlace(dataDir: string): EmbeddedPlace {
  const directory = join(resolve(dataDir), 'redis');
  return {
    directory,
    socketPath: join(directory, 'redis.sock'),
    outputFile: join(directory, 'redis.log'),
    pidFile: join(directory, 'redis.pid'),
    lockFile: join(directory, 'redis.lock'),
  };
}

/** @throws GatewayError `start-failed` when the path is too long for a socket */
export async function createStoreDirectory({
  directory,
  socketPath,
}: EmbeddedPlace): Promise<void> {
  if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH_BYTES) {
    throw new GatewayError(
      'start-failed',
      `the path of the store's socket is longer than ${MAX_SOCKET_PATH_BYTES} bytes, ${socketPath}: choose a shorter dataDir`,
    );
  }
  await mkdir(directory, { recursive: true, mode: 0o700 });
}
