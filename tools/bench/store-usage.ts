import type { OwnRedis } from '../../test/chaos/faults/own-redis.js';
import { processorMs } from '../../test/former/gateway/process-usage.js';

/** Memory that a store uses for everything in it. */
export async function usedBytes(store: OwnRedis): Promise<number> {
  return numberIn(await store.redis.info('memory'), 'used_memory');
}

/** Processor time that a store has taken so far. */
export async function storeProcessorMs(store: OwnRedis): Promise<number> {
  return processorMs(numberIn(await store.redis.info('server'), 'process_id'));
}

function numberIn(info: string, field: string): number {
  return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1]);
}
