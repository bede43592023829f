import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { AccessToken, Device, Location, SiteRecords } from '../domain/site.js';
import type { DeviceChange, DeviceKey, SiteStore } from '../site/site-store.js';
import type { Failure } from './change.js';
import { Change } from './change.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';
import {
  accessTokenFields,
  deviceFields,
  locationFields,
  readAccessToken,
  readDevice,
  readGroup,
  readLocation,
  readRoom,
} from './site-records.js';

const rawRecords = z.array(z.tuple([z.string(), z.array(z.string())]));
const loadSite = new Script('load-site', z.array(rawRecords));

const NO_LOCATION: Failure = {
  code: 'location-not-found',
  detail: 'There is no such location.',
};
const NO_DEVICE: Failure = {
  code: 'device-not-found',
  detail: 'There is no such device in this location.',
};

/** The site in Redis: a hash for each record, a set of ids for each kind and each membership. */
export class SiteStoreRedis implements SiteStore {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async load(): Promise<SiteRecords> {
    const keys = this.#keys;
    const [locations = [], groups = [], rooms = [], devices = [], accessTokens = []] =
      await answering(() =>
        loadSite.run(
          this.#redis,
          [keys.locations, keys.groups, keys.rooms, keys.devices, keys.accessTokens],
          [keys.location(''), keys.group(''), keys.room(''), keys.device(''), keys.accessToken('')],
        ),
      );
    return {
      locations: locations.map(readLocation),
      groups: groups.map(readGroup),
      rooms: rooms.map(readRoom),
      devices: devices.map(readDevice),
      accessTokens: accessTokens.map(readAccessToken),
    };
  }

  async createLocation(location: Location): Promise<void> {
    await new Change()
      .write('HSET', this.#keys.location(location.id), ...locationFields(location))
      .write('SADD', this.#keys.locations, location.id)
      .apply(this.#redis);
  }

  async renameLocation(id: string, name: string): Promise<void> {
    await new Change()
      .require('exists', this.#keys.location(id), NO_LOCATION)
      .write('HSET', this.#keys.location(id), 'name', name)
      .apply(this.#redis);
  }

  async deleteLocation(id: string): Promise<void> {
    const keys = this.#keys;
    await new Change()
      .require('exists', keys.location(id), NO_LOCATION)
      .require('empty', keys.locationDevices(id), {
        code: 'location-has-devices',
        detail: 'Devices are still assigned to the location.',
      })
      .write('DEL', keys.location(id))
      .write('SREM', keys.locations, id)
      .apply(this.#redis);
  }

  async createDevice(device: Device): Promise<void> {
    const keys = this.#keys;
    await new Change()
      .require('exists', keys.location(device.locationId), NO_LOCATION)
      .require('absent', keys.device(device.id), {
        code: 'device-id-in-use',
        detail: 'A device with this id exists already.',
      })
      .write('HSET', keys.device(device.id), ...deviceFields(device))
      .write('SADD', keys.devices, device.id)
      .write('SADD', keys.locationDevices(device.locationId), device.id)
      .apply(this.#redis);
  }

  async changeDevice(key: DeviceKey, change: DeviceChange): Promise<void> {
    const fields = Object.entries(change).flat();
    await this.#changeOf(key)
      .write('HSET', this.#keys.device(key.deviceId), ...fields)
      .apply(this.#redis);
  }

  async replaceCustomData(
    key: DeviceKey,
    expected: string | undefined,
    customData: string,
  ): Promise<void> {
    const device = this.#keys.device(key.deviceId);
    const change = this.#changeOf(key);
    if (expected !== undefined) {
      change.requireField(device, 'customData', expected, {
        code: 'changed-meanwhile',
        detail: 'The custom data was changed by somebody else at the same time.',
      });
    }
    await change.write('HSET', device, 'customData', customData).apply(this.#redis);
  }

  async deleteDevice(key: DeviceKey): Promise<void> {
    const keys = this.#keys;
    await this.#changeOf(key)
      .write('DEL', keys.device(key.deviceId))
      .write('SREM', keys.devices, key.deviceId)
      .write('SREM', keys.locationDevices(key.locationId), key.deviceId)
      .write('HDEL', keys.lastSeen, key.deviceId)
      .write('DEL', keys.receipts(key.deviceId))
      .apply(this.#redis);
  }

  async createAccessToken(token: AccessToken): Promise<void> {
    await new Change()
      .write('HSET', this.#keys.accessToken(token.id), ...accessTokenFields(token))
      .write('SADD', this.#keys.accessTokens, token.id)
      .apply(this.#redis);
  }

  async deleteAccessToken(id: string): Promise<void> {
    await new Change()
      .require('exists', this.#keys.accessToken(id), {
        code: 'access-token-not-found',
        detail: 'There is no such access token.',
      })
      .write('DEL', this.#keys.accessToken(id))
      .write('SREM', this.#keys.accessTokens, id)
      .apply(this.#redis);
  }

  #changeOf(key: DeviceKey): Change {
    return new Change().requireField(
      this.#keys.device(key.deviceId),
      'locationId',
      key.locationId,
      NO_DEVICE,
    );
  }
}
