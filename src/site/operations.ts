/**
 * What people change in the site: locations, groups, rooms and devices. Names are already parsed (`parseText`).
 *
 * Each operation looks its record up in the turn of the change (`SiteChanges`), so it throws `location-not-found`,
 * `group-not-found`, `room-not-found` or `device-not-found` if its key names nothing then.
 */
import { hashSecret, newSecret } from '../domain/credentials.js';
import { newId } from '../domain/ids.js';
import { mergePatch } from '../domain/json.js';
import type { Device, Group, Location, RecordChange, Room } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { Actor } from './audit-trail.js';
import type { SiteChanges } from './changes.js';
import type { DeviceKey, GroupKey, RoomKey, SiteModel } from './site-model.js';

/** Custom data of a device without any. */
const NO_CUSTOM_DATA = '{}';
/** Specification 8, on the payload; contract 2, on the merged result as well. */
export const MAX_CUSTOM_DATA_BYTES = 1024;

/** A change of a room: undefined parts stay; `null` takes the room out of its group. */
export interface RoomChange {
  readonly name?: string | undefined;
  readonly groupId?: string | null | undefined;
}

/** A change of a device: undefined parts stay; null: it is silent after as long as the configuration says. */
export interface DeviceChange {
  readonly name?: string | undefined;
  readonly supervision?: { readonly silentAfterSeconds?: number | null | undefined } | undefined;
}

/** A device with its secret, which is shown only once. */
export interface DeviceWithSecret {
  readonly device: Device;
  readonly secret: string;
}

export class Operations {
  readonly #changes: SiteChanges;
  readonly #model: SiteModel;
  readonly #now: () => number;

  constructor(changes: SiteChanges, model: SiteModel, now: () => number) {
    this.#changes = changes;
    this.#model = model;
    this.#now = now;
  }

  createLocation(actor: Actor, name: string): Promise<Location> {
    return this.#changes.create(actor, 'location', () => {
      return { id: newId(), name, order: this.#model.nextOrder() };
    });
  }

  renameLocation(actor: Actor, id: string, name: string): Promise<Location> {
    const find = () => this.#model.requireLocation(id);
    const rename = (before: Location) => ({ ...before, name });
    return this.#changes.edit(actor, ['location', 'location.changed'], find, rename);
  }

  /**
   * Deletes the location with its groups and rooms, which get no audit records of their own.
   *
   * @throws GatewayError `location-has-devices`
   */
  deleteLocation(actor: Actor, id: string): Promise<void> {
    const find = () => {
      const location = this.#model.requireLocation(id);
      refuse(this.#model.devicesOf(id).length > 0, 'location-has-devices', 'Devices', 'location');
      return location;
    };
    return this.#changes.remove(actor, 'location', find, () => {
      const groups = this.#model.groupsOf(id);
      const rooms = this.#model.roomsOf(id);
      const records: RecordChange[] = [
        ...groups.map((group) => ({ kind: 'group', before: group, after: undefined }) as const),
        ...rooms.map((room) => ({ kind: 'room', before: room, after: undefined }) as const),
      ];
      return { records, details: { groups: named(groups), rooms: named(rooms) } };
    });
  }

  createGroup(actor: Actor, locationId: string, name: string): Promise<Group> {
    return this.#changes.create(actor, 'group', () => {
      this.#model.requireLocation(locationId);
      return { id: newId(), locationId, name, order: this.#model.nextOrder() };
    });
  }

  renameGroup(actor: Actor, key: GroupKey, name: string): Promise<Group> {
    const find = () => this.#model.requireGroup(key);
    const rename = (before: Group) => ({ ...before, name });
    return this.#changes.edit(actor, ['group', 'group.changed'], find, rename);
  }

  /** @throws GatewayError `group-has-rooms` */
  deleteGroup(actor: Actor, key: GroupKey): Promise<void> {
    return this.#changes.remove(actor, 'group', () => {
      const group = this.#model.requireGroup(key);
      const hasRooms = this.#model.roomIdsByGroup(key.locationId).has(key.groupId);
      refuse(hasRooms, 'group-has-rooms', 'Rooms', 'group');
      return group;
    });
  }

  createRoom(
    actor: Actor,
    locationId: string,
    name: string,
    groupId: string | null,
  ): Promise<Room> {
    return this.#changes.create(actor, 'room', () => {
      this.#model.requireLocation(locationId);
      if (groupId !== null) this.#model.requireGroup({ locationId, groupId });
      return { id: newId(), locationId, groupId, name, order: this.#model.nextOrder() };
    });
  }

  changeRoom(actor: Actor, key: RoomKey, { name, groupId }: RoomChange): Promise<Room> {
    const find = () => {
      const room = this.#model.requireRoom(key);
      if (typeof groupId === 'string') this.#model.requireGroup({ ...key, groupId });
      return room;
    };
    return this.#changes.edit(actor, ['room', 'room.changed'], find, (before) => ({
      ...before,
      ...(name !== undefined && { name }),
      ...(groupId !== undefined && { groupId }),
    }));
  }

  /** Moves the room from one group to another. @throws GatewayError `room-not-found` when it is not in the first */
  async moveRoom(
    actor: Actor,
    key: RoomKey,
    fromGroupId: string,
    toGroupId: string,
  ): Promise<void> {
    const find = () => {
      const room = this.#model.requireRoomOfGroup({ ...key, groupId: fromGroupId });
      this.#model.requireGroup({ ...key, groupId: toGroupId });
      return room;
    };
    const move = (before: Room) => ({ ...before, groupId: toGroupId });
    await this.#changes.edit(actor, ['room', 'room.moved'], find, move);
  }

  /** @throws GatewayError `room-has-devices` */
  deleteRoom(actor: Actor, key: RoomKey): Promise<void> {
    return this.#changes.remove(actor, 'room', () => {
      const room = this.#model.requireRoom(key);
      const hasDevices = this.#model.deviceIdsByRoom(key.locationId).has(key.roomId);
      refuse(hasDevices, 'room-has-devices', 'Devices', 'room');
      return room;
    });
  }

  /** @throws GatewayError `device-id-in-use` */
  async createDevice(
    actor: Actor,
    locationId: string,
    name: string,
    givenId: string = newId(),
  ): Promise<DeviceWithSecret> {
    const id = givenId.toLowerCase();
    const secret = newSecret();
    const device = await this.#changes.create(actor, 'device', () => {
      this.#model.requireLocation(locationId);
      if (this.#model.device(id) !== undefined) {
        throw new GatewayError('device-id-in-use', 'A device with this id exists already.');
      }
      return {
        id,
        locationId,
        roomId: null,
        name,
        order: this.#model.nextOrder(),
        createdAtMs: this.#now(),
        secretHash: hashSecret(secret),
        customData: NO_CUSTOM_DATA,
      };
    });
    return { device, secret };
  }

  /** Changes the name, the time after which the device is silent, or both. */
  changeDevice(actor: Actor, key: DeviceKey, { name, supervision }: DeviceChange): Promise<Device> {
    return this.#changes.edit(
      actor,
      ['device', 'device.changed'],
      () => this.#model.requireDevice(key),
      (before) => ({
        ...before,
        ...(name !== undefined && { name }),
        ...(supervision && { silentAfterSeconds: supervision.silentAfterSeconds ?? undefined }),
      }),
    );
  }

  /** Gives the device a new secret: the old one, and certificates issued before, stop working immediately. */
  async replaceDeviceSecret(actor: Actor, key: DeviceKey): Promise<string> {
    const secret = newSecret();
    const secretHash = hashSecret(secret);
    const find = () => this.#model.requireDevice(key);
    const replace = (before: Device) => ({
      ...before,
      secretHash,
      secretRenewedAtMs: this.#now(),
    });
    await this.#changes.edit(actor, ['device', 'device.secret-replaced'], find, replace);
    return secret;
  }

  /** Moves the device to another location, where it is in no room. A move to its own changes nothing (contract 2). */
  async moveToLocation(actor: Actor, key: DeviceKey, locationId: string): Promise<void> {
    if (locationId === key.locationId) {
      this.#model.requireDevice(key);
      actor.precondition?.();
    } else await this.#moveDevice(actor, key, locationId, null);
  }

  /** Moves the device into a room of its location, or out of its room (null). */
  async moveToRoom(actor: Actor, key: DeviceKey, roomId: string | null): Promise<void> {
    await this.#moveDevice(actor, key, key.locationId, roomId);
  }

  async #moveDevice(
    actor: Actor,
    key: DeviceKey,
    locationId: string,
    roomId: string | null,
  ): Promise<void> {
    const find = () => {
      const device = this.#model.requireDevice(key);
      this.#model.requireLocation(locationId);
      if (roomId !== null) this.#model.requireRoom({ locationId, roomId });
      return device;
    };
    const move = (before: Device) => ({ ...before, locationId, roomId });
    await this.#changes.edit(actor, ['device', 'device.moved'], find, move);
  }

  deleteDevice(actor: Actor, key: DeviceKey): Promise<void> {
    return this.#changes.remove(actor, 'device', () => this.#model.requireDevice(key));
  }

  /**
   * Replaces the custom data, or merges the patch into it by RFC 7396.
   *
   * @param payload JSON text of an object, at most 1024 bytes
   * @returns the stored object as JSON text
   * @throws GatewayError `invalid-custom-data` when the result is too large
   */
  async setCustomData(
    actor: Actor,
    key: DeviceKey,
    payload: string,
    mode: 'replace' | 'merge',
  ): Promise<string> {
    const find = () => this.#model.requireDevice(key);
    const set = (before: Device) => {
      const customData = mode === 'merge' ? mergePatch(before.customData, payload) : payload;
      if (Buffer.byteLength(customData) > MAX_CUSTOM_DATA_BYTES) {
        throw new GatewayError(
          'invalid-custom-data',
          `The merged custom data would exceed ${MAX_CUSTOM_DATA_BYTES} bytes.`,
        );
      }
      return { ...before, customData };
    };
    const action = ['device', 'custom-data.changed'] as const;
    const { customData } = await this.#changes.edit(actor, action, find, set, () => ({ mode }));
    return customData;
  }
}

function refuse(
  isRefused: boolean,
  code: 'location-has-devices' | 'group-has-rooms' | 'room-has-devices',
  what: string,
  place: string,
): void {
  if (isRefused) throw new GatewayError(code, `${what} are still assigned to the ${place}.`);
}

function named(records: readonly (Group | Room)[]): string {
  return JSON.stringify(records.map(({ id, name }) => ({ id, name })));
}
