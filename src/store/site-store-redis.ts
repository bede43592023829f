import type { Redis } from 'ioredis';
import type { AccessToken, Device, Group, Location, Room, SiteRecords } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import {
  NO_ACCESS_TOKEN,
  NO_DEVICE,
  NO_GROUP,
  NO_LOCATION,
  NO_ROOM,
  NO_ROOM_IN_GROUP,
} from '../site/absences.js';
import type { AuditEntry } from '../site/audit-trail.js';
import type { SiteFinding, SiteState } from '../site/site-findings.js';
import type {
  DeviceChange,
  DeviceKey,
  DevicePlace,
  GroupKey,
  RoomChange,
  RoomKey,
  SiteStore,
} from '../site/site-store.js';
import { StoreHeadroom } from '../site/store-headroom.js';
import type { AuditRecords, Before } from './audit/records.js';
import { Change, type ChangeTarget } from './change.js';
import type { Keys } from './keys.js';
import { SiteLoader } from './site-loader.js';
import { SiteMembers } from './site-members.js';
import {
  accessTokenFields,
  deviceFields,
  groupFields,
  limitField,
  locationFields,
  roomFields,
} from './site-records.js';

/** The site in Redis: a hash for each record, a set of ids for each kind and each membership. */
export class SiteStoreRedis implements SiteStore {
  readonly #keys: Keys;
  readonly #headroom: StoreHeadroom;
  readonly #target: ChangeTarget;
  readonly #records: AuditRecords;
  readonly #loader: SiteLoader;
  readonly #members: SiteMembers;
  #onUnknownOutcome: () => void = () => undefined;

  constructor(redis: Redis, keys: Keys, records: AuditRecords, headroom = new StoreHeadroom()) {
    this.#keys = keys;
    this.#headroom = headroom;
    this.#records = records;
    this.#loader = new SiteLoader(redis, keys);
    this.#members = new SiteMembers(redis, keys);
    this.#target = { redis, onUnknownOutcome: () => this.#onUnknownOutcome() };
  }

  /** Registers the listener for a change without an answer: it may or may not be made. */
  whenOutcomeIsUnknown(listener: () => void): void {
    this.#onUnknownOutcome = listener;
  }

  load(): Promise<SiteState> {
    return this.#loader.load();
  }

  repairMembers(records: SiteRecords): Promise<SiteFinding[]> {
    return this.#members.repair(records);
  }

  async createLocation(location: Location, entry: AuditEntry): Promise<void> {
    await this.#creation()
      .write('HSET', this.#keys.location(location.id), ...locationFields(location))
      .write('SADD', this.#keys.locations, location.id)
      .record(this.#records.of(entry))
      .apply(this.#target);
  }

  async renameLocation(id: string, name: string, entry: AuditEntry): Promise<void> {
    await new Change()
      .require('exists', this.#keys.location(id), NO_LOCATION)
      .write('HSET', this.#keys.location(id), 'name', name)
      .record(this.#records.of(entry, { previousName: [this.#keys.location(id), 'name'] }))
      .apply(this.#target);
  }

  async deleteLocation(id: string, entry: AuditEntry): Promise<void> {
    const keys = this.#keys;
    await new Change()
      .require('exists', keys.location(id), NO_LOCATION)
      .require('empty', keys.locationDevices(id), {
        code: 'location-has-devices',
        detail: 'Devices are still assigned to the location.',
      })
      .deleteEach(keys.locationRooms(id), keys.room(''))
      .write('SDIFFSTORE', keys.rooms, keys.rooms, keys.locationRooms(id))
      .write('DEL', keys.locationRooms(id))
      .deleteEach(keys.locationGroups(id), keys.group(''))
      .deleteEach(keys.locationGroups(id), keys.groupRooms(''))
      .write('SDIFFSTORE', keys.groups, keys.groups, keys.locationGroups(id))
      .write('DEL', keys.locationGroups(id))
      .write('DEL', keys.rejected(id))
      .write('DEL', keys.location(id))
      .write('SREM', keys.locations, id)
      .record(this.#records.of(entry, { name: [keys.location(id), 'name'] }))
      .apply(this.#target);
  }

  async createGroup(group: Group, entry: AuditEntry): Promise<void> {
    const keys = this.#keys;
    await this.#creation()
      .require('exists', keys.location(group.locationId), NO_LOCATION)
      .write('HSET', keys.group(group.id), ...groupFields(group))
      .write('SADD', keys.groups, group.id)
      .write('SADD', keys.locationGroups(group.locationId), group.id)
      .record(this.#records.of(entry))
      .apply(this.#target);
  }

  async renameGroup(key: GroupKey, name: string, entry: AuditEntry): Promise<void> {
    const change = new Change();
    this.#requireGroup(change, key);
    await change
      .write('HSET', this.#keys.group(key.groupId), 'name', name)
      .record(this.#records.of(entry, { previousName: [this.#keys.group(key.groupId), 'name'] }))
      .apply(this.#target);
  }

  async deleteGroup(key: GroupKey, entry: AuditEntry): Promise<void> {
    const keys = this.#keys;
    const change = new Change();
    this.#requireGroup(change, key);
    await change
      .require('empty', keys.groupRooms(key.groupId), {
        code: 'group-has-rooms',
        detail: 'Rooms are still assigned to the group.',
      })
      .write('DEL', keys.group(key.groupId))
      .write('SREM', keys.groups, key.groupId)
      .write('SREM', keys.locationGroups(key.locationId), key.groupId)
      .record(this.#records.of(entry, { name: [keys.group(key.groupId), 'name'] }))
      .apply(this.#target);
  }

  async createRoom(room: Room, entry: AuditEntry): Promise<void> {
    const keys = this.#keys;
    const { id, locationId, groupId } = room;
    const change = this.#creation().require('exists', keys.location(locationId), NO_LOCATION);
    if (groupId !== null) {
      this.#requireGroup(change, { locationId, groupId });
      change.write('SADD', keys.groupRooms(groupId), id);
    }
    await change
      .write('HSET', keys.room(id), ...roomFields(room))
      .write('SADD', keys.rooms, id)
      .write('SADD', keys.locationRooms(locationId), id)
      .record(this.#records.of(entry))
      .apply(this.#target);
  }

  async changeRoom(key: RoomKey, { name, groupId }: RoomChange, entry: AuditEntry): Promise<void> {
    const record = this.#keys.room(key.roomId);
    const before: Before = {
      ...(name !== undefined && { previousName: [record, 'name'] }),
      ...(groupId !== undefined && { previousGroupId: [record, 'groupId'] }),
    };
    const change = this.#changeOfRoom(key);
    if (name !== undefined) change.write('HSET', record, 'name', name);
    if (groupId !== undefined) this.#regroup(change, key, groupId);
    await change.record(this.#records.of(entry, before)).apply(this.#target);
  }

  async moveRoom(
    key: RoomKey,
    fromGroupId: string,
    toGroupId: string,
    entry: AuditEntry,
  ): Promise<void> {
    const change = new Change();
    this.#requireGroup(change, { ...key, groupId: fromGroupId });
    change.requireField(this.#keys.room(key.roomId), 'groupId', fromGroupId, NO_ROOM_IN_GROUP);
    this.#regroup(change, key, toGroupId);
    await change
      .record(
        this.#records.of(entry, { previousGroupId: [this.#keys.room(key.roomId), 'groupId'] }),
      )
      .apply(this.#target);
  }

  async deleteRoom(key: RoomKey, entry: AuditEntry): Promise<void> {
    const keys = this.#keys;
    await this.#changeOfRoom(key)
      .require('empty', keys.roomDevices(key.roomId), {
        code: 'room-has-devices',
        detail: 'Devices are still assigned to the room.',
      })
      .leave(keys.room(key.roomId), 'groupId', keys.groupRooms(''), key.roomId)
      .write('DEL', keys.room(key.roomId))
      .write('SREM', keys.rooms, key.roomId)
      .write('SREM', keys.locationRooms(key.locationId), key.roomId)
      .record(
        this.#records.of(entry, {
          name: [keys.room(key.roomId), 'name'],
          groupId: [keys.room(key.roomId), 'groupId'],
        }),
      )
      .apply(this.#target);
  }

  async createDevice(device: Device, entry: AuditEntry): Promise<void> {
    const keys = this.#keys;
    await this.#creation()
      .require('exists', keys.location(device.locationId), NO_LOCATION)
      .require('absent', keys.device(device.id), {
        code: 'device-id-in-use',
        detail: 'A device with this id exists already.',
      })
      .write('HSET', keys.device(device.id), ...deviceFields(device))
      .write('SADD', keys.devices, device.id)
      .write('SADD', keys.locationDevices(device.locationId), device.id)
      .record(this.#records.of(entry))
      .apply(this.#target);
  }

  async changeDevice(key: DeviceKey, change: DeviceChange, entry: AuditEntry): Promise<void> {
    const device = this.#keys.device(key.deviceId);
    const before: Record<string, readonly [key: string, field: string]> = {};
    const applied = this.#changeOf(key);
    if (change.secretHash !== undefined)
      applied.write('HSET', device, 'secretHash', change.secretHash);
    if (change.name !== undefined) {
      before['previousName'] = [device, 'name'];
      applied.write('HSET', device, 'name', change.name);
    }
    for (const [name, limit] of Object.entries(change.limits ?? {})) {
      const field = limitField(name);
      before[`previous${name.charAt(0).toUpperCase()}${name.slice(1)}`] = [device, field];
      if (limit === null) applied.write('HDEL', device, field);
      else applied.write('HSET', device, field, limit);
    }
    await applied.record(this.#records.of(entry, before)).apply(this.#target);
  }

  async moveDevice(
    key: DeviceKey,
    { locationId, roomId }: DevicePlace,
    entry: AuditEntry,
  ): Promise<void> {
    const keys = this.#keys;
    const { deviceId } = key;
    const device = keys.device(deviceId);
    const change = this.#changeOf(key)
      .require('exists', keys.location(locationId), NO_LOCATION)
      .leave(device, 'roomId', keys.roomDevices(''), deviceId)
      .write('SREM', keys.locationDevices(key.locationId), deviceId)
      .write('SADD', keys.locationDevices(locationId), deviceId)
      .write('HSET', device, 'locationId', locationId);
    if (roomId === null) change.write('HDEL', device, 'roomId');
    else {
      change
        .requireField(keys.room(roomId), 'locationId', locationId, NO_ROOM)
        .write('SADD', keys.roomDevices(roomId), deviceId)
        .write('HSET', device, 'roomId', roomId);
    }
    await change
      .record(this.#records.of(entry, { previousRoomId: [device, 'roomId'] }))
      .apply(this.#target);
  }

  async replaceCustomData(
    key: DeviceKey,
    expected: string | undefined,
    customData: string,
    entry: AuditEntry,
  ): Promise<void> {
    const device = this.#keys.device(key.deviceId);
    const change = this.#changeOf(key);
    if (expected !== undefined) {
      change.requireField(device, 'customData', expected, {
        code: 'changed-meanwhile',
        detail: 'The custom data was changed by another request at the same time.',
      });
    }
    await change
      .write('HSET', device, 'customData', customData)
      .record(this.#records.of(entry))
      .apply(this.#target);
  }

  async deleteDevice(key: DeviceKey, entry: AuditEntry): Promise<void> {
    const keys = this.#keys;
    await this.#changeOf(key)
      .leave(keys.device(key.deviceId), 'roomId', keys.roomDevices(''), key.deviceId)
      .write('DEL', keys.device(key.deviceId))
      .write('SREM', keys.devices, key.deviceId)
      .write('SREM', keys.locationDevices(key.locationId), key.deviceId)
      .write('HDEL', keys.lastSeen, key.deviceId)
      .write('DEL', keys.receipts(key.deviceId))
      .record(
        this.#records.of(entry, {
          name: [keys.device(key.deviceId), 'name'],
          roomId: [keys.device(key.deviceId), 'roomId'],
        }),
      )
      .apply(this.#target);
  }

  async createAccessToken(token: AccessToken, entry: AuditEntry): Promise<void> {
    await this.#creation()
      .write('HSET', this.#keys.accessToken(token.id), ...accessTokenFields(token))
      .write('SADD', this.#keys.accessTokens, token.id)
      .record(this.#records.of(entry))
      .apply(this.#target);
  }

  async deleteAccessToken(id: string, entry: AuditEntry): Promise<void> {
    await new Change()
      .require('exists', this.#keys.accessToken(id), NO_ACCESS_TOKEN)
      .write('DEL', this.#keys.accessToken(id))
      .write('SREM', this.#keys.accessTokens, id)
      .record(this.#records.of(entry, { name: [this.#keys.accessToken(id), 'name'] }))
      .apply(this.#target);
  }

  async noteExpiry(id: string, entry: AuditEntry): Promise<void> {
    const token = this.#keys.accessToken(id);
    await new Change()
      .require('exists', token, NO_ACCESS_TOKEN)
      .requireNoField(token, 'isExpiryNoted', {
        code: 'changed-meanwhile',
        detail: "The token's expiry is already recorded.",
      })
      .write('HSET', token, 'isExpiryNoted', '1')
      .record(this.#records.of(entry))
      .apply(this.#target);
  }

  #requireGroup(change: Change, { locationId, groupId }: GroupKey): void {
    change.requireField(this.#keys.group(groupId), 'locationId', locationId, NO_GROUP);
  }

  /** Moves the room from its group, if any, to the new one. */
  #regroup(change: Change, { locationId, roomId }: RoomKey, groupId: string | null): void {
    const keys = this.#keys;
    change.leave(keys.room(roomId), 'groupId', keys.groupRooms(''), roomId);
    if (groupId === null) change.write('HDEL', keys.room(roomId), 'groupId');
    else {
      this.#requireGroup(change, { locationId, groupId });
      change
        .write('SADD', keys.groupRooms(groupId), roomId)
        .write('HSET', keys.room(roomId), 'groupId', groupId);
    }
  }

  #changeOfRoom(key: RoomKey): Change {
    return new Change().requireField(
      this.#keys.room(key.roomId),
      'locationId',
      key.locationId,
      NO_ROOM,
    );
  }

  #changeOf(key: DeviceKey): Change {
    return new Change().requireField(
      this.#keys.device(key.deviceId),
      'locationId',
      key.locationId,
      NO_DEVICE,
    );
  }

  /**
   * A change that adds to the store, which must leave its last room to alarms.
   *
   * @throws GatewayError `store-unavailable`
   */
  #creation(): Change {
    if (this.#headroom.isAmple) return new Change();
    throw new GatewayError('store-unavailable', 'The store is nearly full: it takes alarms only.');
  }
}
