import { z } from 'zod';
import { answering } from '../failures.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';

const writeChange = new Script('write-change', z.number());

/** How many audit records of each sort are kept. */
export const MAX_AUDITED_CHANGES = 1_000_000;
const MAX_AUDITED_DENIALS = 100_000;

/** A record of the audit trail as written (audit/records.ts). */
export interface ChangeRecord {
  readonly isDenial: boolean;
  readonly atMs: number;
  /** When it is written, by the steady clock, which decides its age. */
  readonly steadyMs: number;
  /** JSON of the entry without its time. */
  readonly text: string;
}

/** A command of the store. */
export type Write = readonly [command: 'HSET' | 'HDEL' | 'DEL', key: string, ...args: string[]];

/** Writes, and the audit records about them. */
export interface Change {
  readonly writes: readonly Write[];
  readonly records: readonly ChangeRecord[];
  /** For a change of the site: the number of the previous change. */
  readonly revision?: number | undefined;
}

/**
 * Makes the change in one atomic call (write-change.lua).
 *
 * @returns false, with nothing written, if the site has another revision
 * @throws GatewayError `store-unavailable`
 */
export async function makeChange(store: Store, keys: Keys, change: Change): Promise<boolean> {
  const { siteRevision, auditSequence, auditChanges, auditDenials } = keys;
  const scriptKeys = [siteRevision, auditSequence, auditChanges, auditDenials];
  const args = [JSON.stringify(change), MAX_AUDITED_CHANGES, MAX_AUDITED_DENIALS];
  return (await answering(() => store.run(writeChange, scriptKeys, args))) === 1;
}
