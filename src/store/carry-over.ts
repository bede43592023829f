import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import { contextText } from '../domain/messages.js';
import { parseJson } from '../domain/notation.js';
import { GatewayError } from '../errors.js';
import { carryAuditRecordsOver } from './audit/carry-over.js';
import type { Keys } from './keys.js';
import { removeLeftovers } from './leftovers.js';
import { scannedKeys } from './scan.js';
import { Script } from './scripts.js';
import { execute } from './transaction.js';

/** The layout of this version; a store without a number was written by version 1. */
const LAYOUT = 5;
/** The first whose audit records are in a stream. */
const LAYOUT_OF_AUDIT_STREAM = 5;
/** The first whose sessions are stored under their owners. */
const LAYOUT_OF_OWNERS = 3;
/** The first whose alarms refer to places with names. */
const LAYOUT_OF_PLACES = 2;

const carrySessionsOver = new Script('carry-sessions-over', z.number());

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
 * Converts a store of an earlier version to the present layout.
 *
 * Layout 4 has the audit records in a sorted set for each action, today's are in a stream.
 *
 * Layout 3 differs by its indexes alone, which have no blocks yet: they get them as alarms come
 * (append-alarms.lua).
 *
 * Sessions of layout 2 are stored under their client ids alone, today's in the name space of their owners.
 *
 * Alarms of version 1 refer to places that hold ids only; today's also hold names. The names of that time
 * are lost, so the places get today's. Each place is converted by one command and then left alone, so an
 * interrupted conversion goes on at the next start. The queue of version 1 stays until every consumer
 * has read it (version-1-backlog.ts).
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
    const isOfVersion1 = layout < LAYOUT_OF_PLACES;
    const places = isOfVersion1 ? await this.#carryPlacesOver() : 0;
    const leftovers = isOfVersion1 ? await removeLeftovers(this.#redis, this.#keys) : 0;
    const sessions = layout < LAYOUT_OF_OWNERS ? await this.#carrySessionsOver() : 0;
    const auditRecords =
      layout < LAYOUT_OF_AUDIT_STREAM ? await carryAuditRecordsOver(this.#redis, this.#keys) : 0;
    await this.#redis.set(this.#keys.layout, LAYOUT);
    if (places + leftovers + sessions + auditRecords === 0) return;
    this.#log.info(
      { places, leftovers, sessions, auditRecords },
      'carried the data of an earlier version over',
    );
  }

  /** Gives all sessions their keys, and the store its layout, in one atomic call; returns how many. */
  async #carrySessionsOver(): Promise<number> {
    const { sessions, layout, receivedPrefix } = this.#keys;
    const prefixes = [this.#keys.session(''), receivedPrefix];
    return carrySessionsOver.run(this.#redis, [sessions, layout], [...prefixes, LAYOUT_OF_OWNERS]);
  }

  /** Converts all places; returns how many. */
  async #carryPlacesOver(): Promise<number> {
    let total = 0;
    for await (const keys of scannedKeys(this.#redis, `${this.#keys.alarmPlacePrefix}*`)) {
      const places = await this.#placesOf(keys);
      await this.#rewrite(places);
      total += places.length;
    }
    return total;
  }

  /** Picks the places that version 1 wrote. */
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
        device: named(keys.record('device', deviceId), deviceId),
        location: named(keys.record('location', locationId), locationId),
        room: roomId === '' ? null : named(keys.record('room', roomId), roomId),
        group: groupId === '' ? null : named(keys.record('group', groupId), groupId),
        customData,
      });
      pipeline.hset(key, { t: `{${text}}`, l: locationId, d: deviceId, g: groupId });
    }
    await execute(pipeline);
  }

  /** Reads the names by the keys of their records; nothing for records that are gone. */
  async #namesOf(places: readonly Version1Place[]): Promise<ReadonlyMap<string, string>> {
    const keys = this.#keys;
    const records = new Set(
      places.flatMap(({ locationId, deviceId, roomId, groupId }) => [
        ...[keys.record('location', locationId), keys.record('device', deviceId)],
        ...[keys.record('room', roomId), keys.record('group', groupId)],
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
