import { once } from 'node:events';
import { Store } from '../stored/store.js';
import type { GatewayProcess } from './gateway-process.js';
import { processorMs } from './process-usage.js';

/** Ends a running gateway; the store may keep running. */
type End = (gateway: GatewayProcess) => Promise<void>;

/** Ways to end a gateway before it starts again. */
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
  /** From spawn to the ready line. */
  readonly readyMs: number;
  /**
   * Processor time of the gateway until then, without the store: a busy machine hardly changes it.
   */
  readonly processorMs: number;
}

export async function timedStart(gateway: GatewayProcess, timeoutMs?: number): Promise<StartTimes> {
  const spawnedMs = performance.now();
  await gateway.start(timeoutMs);
  const readyMs = performance.now() - spawnedMs;
  return { readyMs, processorMs: await processorMs(gateway.processId) };
}
