import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, rmdir } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
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
    socketPath: socketPathOf(directory),
    outputFile: join(directory, 'redis.log'),
    pidFile: join(directory, 'redis.pid'),
    lockFile: join(directory, 'redis.lock'),
  };
}

function socketPathOf(directory: string): string {
  const beside = join(directory, 'redis.sock');
  if (Buffer.byteLength(beside) <= MAX_SOCKET_PATH_BYTES) return beside;
  const digest = createHash('sha256').update(directory).digest('hex').slice(0, 16);
  return join(tmpdir(), `care-home-gateway-${digest}`, 'redis.sock');
}

/** Creates the store's directory, and that of its socket where it has to be elsewhere. */
export async function createDirectories({ directory, socketPath }: EmbeddedPlace): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const elsewhere = dirname(socketPath);
  if (elsewhere === directory) return;
  // Anyone may write beside it, so the name may be taken already.
  await mkdir(elsewhere, { recursive: true, mode: 0o700 });
  const stats = await lstat(elsewhere);
  const isOurs = stats.isDirectory() && stats.uid === userInfo().uid;
  if (isOurs && (stats.mode & 0o077) === 0) return;
  throw new GatewayError(
    'start-failed',
    `${elsewhere}, meant for the socket of the store, must be a directory of the gateway's own ` +
      'user with mode 0700: remove it, or choose a shorter dataDir',
  );
}

/** Removes the socket's directory, if it had to be elsewhere. */
export async function removeSocketDirectory({
  directory,
  socketPath,
}: EmbeddedPlace): Promise<void> {
  const elsewhere = dirname(socketPath);
  if (elsewhere === directory) return;
  // If the server left its socket there, the next one needs the directory anyway.
  if ((await readdir(elsewhere)).length === 0) await rmdir(elsewhere);
}
