import type { Redis } from 'ioredis';
import { z } from 'zod';
import { uuidBytes } from '../domain/notation.js';
import type { AlarmFinder } from '../site/alarm-states.js';
import { StoreTurns } from '../site/store-turns.js';
import { alarmIdPlace } from './alarm-records.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { scannedKeys } from './scan.js';
import { packRows, Script } from './scripts.js';

const findAlarm = new Script('find-alarm', z.array(z.number()));

/** Redis serves nobody else while a script runs: less than a millisecond for this many. */
const DEVICES_PER_CALL = 500;

/**
 * Finds alarms by id in Redis.
 *
 * Only device and id together tell an alarm, so it asks for each device: first for those that are in the
 * location, then for those that were when they raised an alarm there.
 */
export class AlarmFinderRedis implements AlarmFinder {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #devicesOf: (locationId: string) => readonly string[];
  readonly #turns = new StoreTurns();

  /** @param devicesOf the ids of the devices that are in a location */
  constructor(redis: Redis, keys: Keys, devicesOf: (locationId: string) => readonly string[]) {
    this.#redis = redis;
    this.#keys = keys;
    this.#devicesOf = devicesOf;
  }

  deviceOf(locationId: string, alarmId: string): Promise<string | undefined> {
    return answering(async () => {
      const present = new Set(this.#devicesOf(locationId));
      const found = await this.#newestOf([...present], locationId, alarmId);
      if (found !== undefined) return found;
      // Looking through all keys takes long: many at once would keep the store from everything else.
      const recorded = await this.#turns.take(() =>
        this.#turns.answered(this.#recordedIn(locationId)),
      );
      const former = recorded.filter((id) => !present.has(id));
      return this.#newestOf(former, locationId, alarmId);
    });
  }

  /** The one of the devices that raised the alarm, last if several have. */
  async #newestOf(
    deviceIds: readonly string[],
    locationId: string,
    alarmId: string,
  ): Promise<string | undefined> {
    const keys = this.#keys;
    const id = uuidBytes(alarmId);
    let [newest, newestSequence]: [string | undefined, number] = [undefined, 0];
    for (let from = 0; from < deviceIds.length; from += DEVICES_PER_CALL) {
      const asked = deviceIds.slice(from, from + DEVICES_PER_CALL);
      const places = asked.map((deviceId) => {
        const { piece, field } = alarmIdPlace(deviceId, id);
        return [String(piece), field];
      });
      const args = [keys.alarmIdsPrefix, keys.alarmPlacePrefix, locationId, packRows(places)];
      const found = await findAlarm.run(this.#redis, [keys.history], args);
      for (let at = 0; at + 1 < found.length; at += 2) {
        const [position = 0, sequence = 0] = found.slice(at);
        if (sequence > newestSequence) [newest, newestSequence] = [asked[position - 1], sequence];
      }
    }
    return newest;
  }

  /** The devices of whose alarms in the location there are any: the deleted and moved ones, too. */
  async #recordedIn(locationId: string): Promise<string[]> {
    const prefix = this.#keys.alarmGroups(locationId, '');
    const found = new Set<string>();
    for await (const page of scannedKeys(this.#redis, `*:alarm-groups:${locationId}:*`)) {
      for (const key of page) if (key.startsWith(prefix)) found.add(key.slice(prefix.length));
    }
    return [...found];
  }
}
