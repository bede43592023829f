import { hashSecret, newSecret, secretMatches } from '../domain/credentials.js';
import { principalKey } from '../domain/grants.js';
import { changedLimits, type LimitsChange } from '../domain/limits.js';
import { mergePatch, newId } from '../domain/notation.js';
import type { Device } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import { NO_DEVICE } from './absences.js';
import type { Actor, AuditAction, AuditEntry } from './audit-trail.js';
import type { SiteEvents } from './site-events.js';
import type { SiteModel } from './site-model.js';
import type { DeviceChange, DeviceKey, DevicePlace, SiteStore } from './site-store.js';

/** Custom data of a device without any (specification 2). */
const NO_CUSTOM_DATA = '{}';
/** Far more attempts than people edit one device's data at the same moment. */
const MAX_MERGE_ATTEMPTS = 20;
/** Specification 8, on the payload; CONTRACT 2, on the merged result as well. */
export const MAX_CUSTOM_DATA_BYTES = 1024;

/** A device with its secret, which is shown only once. */
export interface DeviceWithSecret {
  readonly device: Device;
  readonly secret: string;
}

/** The devices of the site. Names are already parsed (`parseName`). */
export class Devices {
  readonly #store: SiteStore;
  readonly #model: SiteModel;
  readonly #events: SiteEvents;
  readonly #now: () => number;

  constructor(store: SiteStore, model: SiteModel, events: SiteEvents, now: () => number) {
    this.#store = store;
    this.#model = model;
    this.#events = events;
    this.#now = now;
  }

  /** @throws GatewayError `device-not-found` when it is not in this location */
  get(key: DeviceKey): Device {
    const device = this.#model.deviceIn(key);
    if (device === undefined) throw GatewayError.of(NO_DEVICE);
    return device;
  }

  /** @throws GatewayError `location-not-found`, `device-id-in-use` */
  async create(
    actor: Actor,
    locationId: string,
    name: string,
    id: string = newId(),
  ): Promise<DeviceWithSecret> {
    const secret = newSecret();
    const device: Device = {
      id: id.toLowerCase(),
      locationId,
      roomId: null,
      name,
      order: this.#model.nextOrder(),
      createdAtMs: this.#now(),
      secretHash: hashSecret(secret),
      customData: NO_CUSTOM_DATA,
      limits: {},
    };
    const key = { locationId, deviceId: device.id };
    await this.#store.createDevice(device, this.#entry(actor, 'device.created', key, { name }));
    this.#model.putDevice(device);
    return { device, secret };
  }

  /**
   * Changes the name, limits of its own, or both.
   *
   * @throws GatewayError `device-not-found`
   */
  async change(
    actor: Actor,
    key: DeviceKey,
    change: Pick<DeviceChange, 'name' | 'limits'>,
  ): Promise<Device> {
    const { name, limits = {} } = change;
    const details = {
      ...(name !== undefined && { name }),
      ...limitDetails(limits),
    };
    await this.#store.changeDevice(key, change, this.#entry(actor, 'device.changed', key, details));
    const before = this.get(key);
    return this.#change({
      ...before,
      name: name ?? before.name,
      limits: changedLimits(before.limits, limits),
    });
  }

  /**
   * Gives the device a new secret: the old one stops working at once.
   *
   * @throws GatewayError `device-not-found`
   */
  async replaceSecret(actor: Actor, key: DeviceKey): Promise<string> {
    const secret = newSecret();
    const secretHash = hashSecret(secret);
    const entry = this.#entry(actor, 'device.secret-replaced', key);
    await this.#store.changeDevice(key, { secretHash }, entry);
    const device = { ...this.get(key), secretHash };
    this.#model.putDevice(device);
    this.#events.emit('credentialEnded', principalKey({ type: 'device', id: device.id }));
    return secret;
  }

  /**
   * Moves the device to another location, where it is in no room.
   *
   * A move to its own location changes nothing (CONTRACT 2).
   *
   * @throws GatewayError `device-not-found`, `location-not-found`
   */
  async moveToLocation(actor: Actor, key: DeviceKey, locationId: string): Promise<void> {
    if (locationId === key.locationId) this.get(key);
    else await this.#move(actor, key, { locationId, roomId: null });
  }

  /**
   * Moves the device into a room of its location, or with null out of its room.
   *
   * @throws GatewayError `device-not-found`, `room-not-found` when the room is not in the location
   */
  async moveToRoom(actor: Actor, key: DeviceKey, roomId: string | null): Promise<void> {
    await this.#move(actor, key, { locationId: key.locationId, roomId });
  }

  async #move(actor: Actor, key: DeviceKey, to: DevicePlace): Promise<void> {
    const target = { targetLocationId: to.locationId, targetRoomId: to.roomId };
    await this.#store.moveDevice(key, to, this.#entry(actor, 'device.moved', key, target));
    const before = this.get(key);
    const after = { ...before, ...to };
    this.#model.putDevice(after);
    if (after.locationId !== before.locationId) this.#events.emit('deviceMoved', { before, after });
    else this.#events.emit('deviceChanged', after.id);
  }

  /** @throws GatewayError `device-not-found` */
  async delete(actor: Actor, key: DeviceKey): Promise<void> {
    await this.#store.deleteDevice(key, this.#entry(actor, 'device.deleted', key));
    const device = this.get(key);
    this.#model.removeDevice(device.id);
    const principal = principalKey({ type: 'device', id: device.id });
    this.#events.emit('credentialEnded', principal);
    this.#events.emit('principalRemoved', principal);
    this.#events.emit('deviceDeleted', device);
  }

  /**
   * Replaces the custom data, or merges the patch into it by RFC 7396.
   *
   * A merge is retried when another request changed the data between its read and its write.
   *
   * @param payload JSON text of an object, at most 1024 bytes
   * @returns the stored object as JSON text
   * @throws GatewayError `device-not-found`, `changed-meanwhile` when others keep changing it,
   *   `invalid-custom-data` when the result is too large
   */
  async setCustomData(
    actor: Actor,
    key: DeviceKey,
    payload: string,
    mode: 'replace' | 'merge',
  ): Promise<string> {
    const entry = this.#entry(actor, 'custom-data.changed', key, { mode });
    if (mode === 'replace') {
      await this.#store.replaceCustomData(key, undefined, payload, entry);
      this.#change({ ...this.get(key), customData: payload });
      return payload;
    }
    for (let attempt = 1; ; attempt++) {
      const read = this.get(key).customData;
      const customData = mergePatch(read, payload);
      assertSize(customData);
      try {
        await this.#store.replaceCustomData(key, read, customData, entry);
        this.#change({ ...this.get(key), customData });
        return customData;
      } catch (error) {
        if (!isLostRace(error) || attempt === MAX_MERGE_ATTEMPTS) throw error;
      }
    }
  }

  /** Whether there is a device with this id, in any location. */
  has(id: string): boolean {
    return this.#model.device(id) !== undefined;
  }

  /** The device with this id and secret; undefined when there is none. */
  authenticate(id: string, secret: Uint8Array): Device | undefined {
    const device = this.#model.device(id);
    if (device === undefined || !secretMatches(secret, device.secretHash)) return undefined;
    return device;
  }

  #entry(
    actor: Actor,
    action: AuditAction,
    { locationId, deviceId }: DeviceKey,
    details: AuditEntry['details'] = {},
  ): AuditEntry {
    return { action, actor, atMs: this.#now(), locationId, resourceId: deviceId, details };
  }

  #change(device: Device): Device {
    this.#model.putDevice(device);
    this.#events.emit('deviceChanged', device.id);
    return device;
  }
}

/** A change of limits as the audit trail shows it, by their names. */
function limitDetails(change: LimitsChange): AuditEntry['details'] {
  const details = Object.entries(change).map(([name, limit]) => [name, limit?.toString() ?? null]);
  return Object.fromEntries(details);
}

function assertSize(customData: string): void {
  if (Buffer.byteLength(customData) > MAX_CUSTOM_DATA_BYTES) {
    throw new GatewayError(
      'invalid-custom-data',
      `The merged custom data would exceed ${MAX_CUSTOM_DATA_BYTES} bytes.`,
    );
  }
}

function isLostRace(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'changed-meanwhile';
}
