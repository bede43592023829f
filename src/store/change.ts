import type { Redis } from 'ioredis';
import { z } from 'zod';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const writeChange = new Script('write-change', z.number());

/** A record of the audit trail as written (audit/records.ts). */
export interface ChangeRecord {
  /** Key of the stream that takes it. */
  readonly stream: string;
  /** Key of the counter that numbers the records. */
  readonly sequence: string;
  readonly atMs: number;
  readonly text: string;
}

/** A command of the store. */
export type Write = readonly [command: 'HSET' | 'HDEL' | 'DEL', key: string, ...args: string[]];

/** Writes with the audit records that tell of them. */
export interface Change {
  readonly writes: readonly Write[];
  readonly records: readonly ChangeRecord[];
  /** For a change of the site: the number of the last one before. */
  readonly revision?: number | undefined;
}

/**
 * Makes the change in one atomic call (write-change.lua).
 *
 * @returns false, with nothing written, when the site has another revision
 * @throws GatewayError `store-unavailable`
 */
export async function makeChange(redis: Redis, keys: Keys, change: Change): Promise<boolean> {
  const args = [JSON.stringify(change)];
  return (await answering(() => writeChange.run(redis, [keys.siteRevision], args))) === 1;
}
