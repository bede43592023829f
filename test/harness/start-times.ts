import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { GatewayProcess } from './gateway-process.js';
import { Store } from './store.js';

/** The tick of `/proc/<pid>/stat`: `USER_HZ` is 100 on every Linux that Node.js runs on. */
const TICK_MS = 10;

/** Ends a gateway that runs; the store may run on. */
type End = (gateway: GatewayProcess) => Promise<void>;

/** Ways in which a gateway ends before it is started again. */
export const ENDINGS: ReadonlyMap<string, End> = new Map<string, End>([
  [
    'SIGTERM',
    async (gateway) => {
      await gateway.stop();
    },
  ],
  ['SIGKILL of the gateway and the store', killBoth],
  ['SIGKILL of the gateway, whose store is adopted', (gateway) => gateway.kill()],
]);

/** Kills gateway and store as a power cut does: the gateway must not see the store die first. */
async function killBoth(gateway: GatewayProcess): Promise<void> {
  const store = await Store.of(gateway);
  const storeClosed = once(store.redis, 'close');
  const gatewayDead = gateway.kill();
  store.kill();
  await Promise.all([gatewayDead, storeClosed]);
  store.close();
}

export interface StartTimes {
  /** From the spawn to the ready line. */
  readonly readyMs: number;
  /**
   * Processor time of the gateway until then, without the store: a busy machine changes it little.
   */
  readonly processorMs: number;
}

export async function timedStart(gateway: GatewayProcess, timeoutMs?: number): Promise<StartTimes> {
  const spawnedMs = performance.now();
  await gateway.start(timeoutMs);
  const readyMs = performance.now() - spawnedMs;
  return { readyMs, processorMs: await processorMs(gateway.processId) };
}

async function processorMs(processId: number): Promise<number> {
  const stat = await readFile(`/proc/${processId}/stat`, 'utf8');
  // After the name in brackets, which may contain spaces: state, ten numbers, utime, stime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
