import { join, resolve } from 'node:path';

/** The paths of the embedded store's files. */
export interface EmbeddedPlace {
  /** Its working directory, with the append-only files. */
  readonly directory: string;
  readonly socketPath: string;
  readonly outputFile: string;
  readonly pidFile: string;
  /** Locked by the running server itself: two servers never write the same append-only file. */
  readonly lockFile: string;
}

/** Composes the paths. The configuration check covers the length of the socket path. */
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
