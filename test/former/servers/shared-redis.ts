import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { Lines } from '../lines.js';

/** Where the tests of a file find their `redis-server`. */
export interface RedisPlace {
  readonly socketPath: string;
}

const PLACE = ['--port', '0', '--save', '', '--unixsocket'];
/** With these settings a gateway reports no fault. */
export const SAFE_SETTINGS = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** One `redis-server` for the tests of a file; each test has its own site in it. */
export function useRedis(settings: readonly string[] = ['--appendonly', 'no']): RedisPlace {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-http-'));
  const place = { socketPath: join(directory, 'redis.sock') };
  let server: ReturnType<typeof spawn> | undefined;
  beforeAll(async () => {
    const child = spawn('redis-server', [...PLACE, place.socketPath, ...settings], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    server = child;
    const lines = new Lines();
    lines.read(child.stdout);
    await lines.next(/ready to accept connections/i, 0);
  });
  afterAll(async () => {
    if (server?.exitCode === null && server.kill()) await once(server, 'exit');
    rmSync(directory, { recursive: true, force: true });
  });
  return place;
}
