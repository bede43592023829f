import { z } from 'zod';
import { uuidBytes } from '../../domain/notation.js';
import type { AlarmFinder } from '../../site/alarms/alarm-states.js';
import { answering } from '../failures.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';
import { alarmIdPlace } from './alarm-records.js';

const findAlarm = new Script('find-alarm', z.string());

/** Finds alarms by id in Redis. */
export class AlarmFinderRedis implements AlarmFinder {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async deviceOf(locationId: string, alarmId: string): Promise<string | undefined> {
    const keys = this.#keys;
    const id = uuidBytes(alarmId);
    const { piece, field } = alarmIdPlace(id);
    const device = await answering(() =>
      this.#store.run(findAlarm, [keys.history, keys.alarmIds(piece)], [field, locationId, id]),
    );
    return device === '' ? undefined : device;
  }
}
