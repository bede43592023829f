import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import { contextText } from '../domain/messages.js';
import { parseJson } from '../domain/notation.js';
import { GatewayError } from '../errors.js';
import type { Keys } from './keys.js';
import { execute } from './transaction.js';

/** What this version reads and writes; a store without any number was written by version 1. */
const LAYOUT = 2;
/** Some milliseconds in which other users of the store wait. */
const KEYS_A_SCAN = 1_000;

/** Location, device, room and group, '' for none, and the JSON text of the custom data. */
const version1PlaceSchema = z.tuple([z.string(), z.string(), z.string(), z.string(), z.string()]);

interface Version1Place {
  readonly key: string;
  readonly locationId: string;
  readonly deviceId: string;
  readonly roomId: string;
  readonly groupId: string;
  readonly customData: string;
}

/**
 * Brings a store of version 1 into the present layout.
 *
 * Alarms of version 1 refer to places that hold ids only; the present ones hold names, too. The names of
 * then are lost, so the places get those of now. Each place is changed by one command, and a changed one
 * is left alone: what a crash interrupts goes on at the next start. The queue of version 1 stays until
 * every consumer has passed it (version-1-backlog.ts).
 */
export class CarryOver {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #log: Logger;

  constructor(redis: Redis, keys: Keys, log: Logger) {
    this.#redis = redis;
    this.#keys = keys;
    this.#log = log;
  }

  /** @throws GatewayError `start-failed` when a newer version wrote the store */
  async run(): Promise<void> {
    const layout = Number(await this.#redis.get(this.#keys.layout));
    if (layout === LAYOUT) return;
    if (layout > LAYOUT) {
      throw new GatewayError(
        'start-failed',
        `the store was written by a newer version of the gateway (layout ${layout}, this version knows ${LAYOUT}): install that version, or restore a backup from before it`,
      );
    }
    const places = await this.#carryPlacesOver();
    await this.#redis.set(this.#keys.layout, LAYOUT);
    if (places > 0) this.#log.info({ places }, 'carried the data of version 1 over');
  }

  /** Returns how many there were. */
  async #carryPlacesOver(): Promise<number> {
    const pattern = `${this.#keys.alarmPlacePrefix}*`;
    let total = 0;
    let cursor = '0';
    do {
      const page = await this.#redis.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_A_SCAN);
      cursor = page[0];
      const places = await this.#placesOf(page[1]);
      await this.#rewrite(places);
      total += places.length;
    } while (cursor !== '0');
    return total;
  }

  /** Those of the places that version 1 wrote. */
  async #placesOf(keys: readonly string[]): Promise<Version1Place[]> {
    const texts = await Promise.all(keys.map((key) => this.#redis.hget(key, 't')));
    return keys.flatMap((key, at) => {
      const place = version1PlaceSchema.safeParse(parseJson(texts[at] ?? '')).data;
      if (place === undefined) return [];
      const [locationId, deviceId, roomId, groupId, customData] = place;
      return [{ key, locationId, deviceId, roomId, groupId, customData }];
    });
  }

  async #rewrite(places: readonly Version1Place[]): Promise<void> {
    if (places.length === 0) return;
    const names = await this.#namesOf(places);
    const keys = this.#keys;
    const pipeline = this.#redis.pipeline();
    for (const { key, locationId, deviceId, roomId, groupId, customData } of places) {
      const named = (record: string, id: string) => ({ id, name: names.get(record) ?? id });
      const text = contextText({
        device: named(keys.device(deviceId), deviceId),
        location: named(keys.location(locationId), locationId),
        room: roomId === '' ? null : named(keys.room(roomId), roomId),
        group: groupId === '' ? null : named(keys.group(groupId), groupId),
        customData,
      });
      pipeline.hset(key, { t: `{${text}}`, l: locationId, d: deviceId, g: groupId });
    }
    await execute(pipeline);
  }

  /** By the keys of the records; nothing for records that are gone. */
  async #namesOf(places: readonly Version1Place[]): Promise<ReadonlyMap<string, string>> {
    const keys = this.#keys;
    const records = new Set(
      places.flatMap(({ locationId, deviceId, roomId, groupId }) => [
        ...[keys.location(locationId), keys.device(deviceId)],
        ...[keys.room(roomId), keys.group(groupId)],
      ]),
    );
    const names = new Map<string, string>();
    await Promise.all(
      [...records].map(async (record) => {
        const name = await this.#redis.hget(record, 'name');
        if (name !== null) names.set(record, name);
      }),
    );
    return names;
  }
}
