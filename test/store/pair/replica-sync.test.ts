import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Lines } from '../../former/lines.js';
import { startReplica, startServer } from './replica-world.js';

/** Longer than a sync takes here. */
const SYNC_MS = 200;
/** Longer than a write without a sync takes on a busy machine. */
const ENDLESS_SYNC_MS = 5_000;

/** Whether the sync of another process can be slowed down: the disk itself cannot. */
const isTraceable =
  spawnSync('strace', ['-e', 'trace=fdatasync', '-o', '/dev/null', 'true']).status === 0;

/** Makes each sync of the server take longer, before the kernel does it. */
async function slowSync(
  { processId, redis }: Awaited<ReturnType<typeof startReplica>>,
  syncMs: number,
): Promise<void> {
  // A replica rewrites its file after its first copy, and then syncs it.
  await expect
    .poll(() => redis.info('persistence'))
    .toMatch(/aof_rewrite_in_progress:0.*aof_rewrite_scheduled:0.*aof_pending_bio_fsync:0/s);
  const inject = ['-e', 'trace=fdatasync', '-e', `inject=fdatasync:delay_enter=${syncMs * 1_000}`];
  const tracer: ChildProcess = spawn(
    'strace',
    ['-f', '-p', String(processId), ...inject, '-o', '/dev/null'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  onTestFinished(async () => {
    const ended = once(tracer, 'exit');
    tracer.kill('SIGINT');
    await ended;
  });
  const lines = new Lines();
  if (tracer.stderr !== null) lines.read(tracer.stderr);
  await lines.next(/attached/);
}

describe.skipIf(!isTraceable)('the confirmation of a replica', () => {
  test('is sent after its own sync when it has appendfsync always', async () => {
    const primary = await startServer();
    const replica = await startReplica(primary);
    await slowSync(replica, SYNC_MS);

    for (let at = 0; at < 2; at++) {
      const startedMs = performance.now();
      await primary.redis.set('during', at);
      expect(await primary.redis.wait(1, 5_000)).toBe(1);
      expect(performance.now() - startedMs).toBeGreaterThanOrEqual(SYNC_MS);
    }
  });

  test('does not wait for a sync when the replica has another appendfsync', async () => {
    const primary = await startServer();
    const replica = await startReplica(primary);
    await replica.redis.config('SET', 'appendfsync', 'no');
    await slowSync(replica, ENDLESS_SYNC_MS);

    const startedMs = performance.now();
    await primary.redis.set('during', '');
    expect(await primary.redis.wait(1, 0)).toBe(1);

    expect(performance.now() - startedMs).toBeLessThan(ENDLESS_SYNC_MS);
  });
});
