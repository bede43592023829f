/** Erases alarms of one device from the history, with everything that tells of them (GDPR 17). */

import { z } from 'zod';
import { FOOTAGE_TYPES } from '../../domain/alarm.js';
import { parseJson } from '../../domain/json.js';
import { Script } from '../scripts.js';
import { answering, type Store } from '../store.js';

const eraseAlarms = new Script(
  'erase-alarms',
  z.tuple([z.number(), z.number(), z.array(z.string())]),
);

/** Redis serves nobody else while a script runs: a few milliseconds for this many. */
const ENTRIES_PER_CALL = 500;

const extras = z.object({
  footage: z.partialRecord(z.enum(FOOTAGE_TYPES), z.string()).default({}),
});

export interface ErasedAlarms {
  readonly deleted: number;
  /** The object keys of their recordings. */
  readonly footage: readonly string[];
}

export class Erasure {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Erases alarms that were detected before the time. Those that a destination still waits for stay: queues have no
   * records but those of the history.
   *
   * @throws GatewayError `store-unavailable`
   */
  erase(locationId: string, deviceId: string, beforeMs: number): Promise<ErasedAlarms> {
    return answering(async () => {
      const args = { location: locationId, device: deviceId, beforeMs };
      const footage: string[] = [];
      let deleted = 0;
      for (let from = 1; from > 0; ) {
        const count = ENTRIES_PER_CALL;
        const call = { ...args, from, count };
        const [next, removed, texts] = await this.#store.run(eraseAlarms, call);
        deleted += removed;
        footage.push(...texts.flatMap(keysIn));
        from = next;
      }
      return { deleted, footage };
    });
  }
}

function keysIn(text: string): string[] {
  return Object.values(extras.safeParse(parseJson(text)).data?.footage ?? {});
}
