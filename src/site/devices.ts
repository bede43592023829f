import { hashSecret, newSecret, secretMatches } from '../domain/credentials.js';
import { newId } from '../domain/ids.js';
import { mergePatch } from '../domain/json.js';
import type { Device } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { Actor, AuditAction, AuditEntry } from './audit-trail.js';
import type { SiteChanges } from './site-changes.js';
import type { DeviceKey, SiteModel } from './site-model.js';

/** The place of a device. */
export interface DevicePlace {
  readonly locationId: string;
  readonly roomId: string | null;
}

/** A change of a device: undefined parts stay. */
export interface DeviceChange {
  readonly name?: string | undefined;
  readonly supervision?: { readonly silentAfterSeconds?: number | null | undefined } | undefined;
}

/** Custom data of a device without any. */
const NO_CUSTOM_DATA = '{}';
/** Specification 8, on the payload; docs/reference/contract.md, 2, on the merged result as well. */
export const MAX_CUSTOM_DATA_BYTES = 1024;

/** A device with its secret, which is shown only once. */
export interface DeviceWithSecret {
  readonly device: Device;
  readonly secret: string;
}

/** The result of a change of a device. */
interface Changed {
  readonly details: AuditEntry['details'];
  readonly after: Device;
}

/** The devices of the site. Names are already parsed (`parseText`). */
export class Devices {
  readonly #changes: SiteChanges;
  readonly #model: SiteModel;
  readonly #now: () => number;

  constructor(changes: SiteChanges, model: SiteModel, now: () => number) {
    this.#changes = changes;
    this.#model = model;
    this.#now = now;
  }

  /** @throws GatewayError `location-not-found`, `device-id-in-use` */
  create(
    actor: Actor,
    locationId: string,
    name: string,
    givenId: string = newId(),
  ): Promise<DeviceWithSecret> {
    const id = givenId.toLowerCase();
    const secret = newSecret();
    return this.#changes.make(actor, () => {
      this.#model.requireLocation(locationId);
      if (this.has(id)) {
        throw new GatewayError('device-id-in-use', 'A device with this id exists already.');
      }
      const after: Device = {
        id,
        locationId,
        roomId: null,
        name,
        order: this.#model.nextOrder(),
        createdAtMs: this.#now(),
        secretHash: hashSecret(secret),
        customData: NO_CUSTOM_DATA,
      };
      const records = [{ kind: 'device', before: undefined, after }] as const;
      const result = { device: after, secret };
      return { action: 'device.created', details: { name }, records, result };
    });
  }

  /**
   * Changes the name, the time after which the device is silent, or both.
   *
   * @throws GatewayError `device-not-found`
   */
  change(actor: Actor, key: DeviceKey, { name, supervision }: DeviceChange): Promise<Device> {
    return this.#change(actor, 'device.changed', key, (before) => {
      const after = { ...before, name: name ?? before.name };
      const details = { ...(name !== undefined && { name, previousName: before.name }) };
      if (supervision === undefined) return { details, after };
      const silentAfterSeconds = supervision.silentAfterSeconds ?? undefined;
      return {
        details: { ...details, ...silenceDetails(before.silentAfterSeconds, silentAfterSeconds) },
        after: { ...after, silentAfterSeconds },
      };
    });
  }

  /**
   * Gives the device a new secret: the old one stops working immediately.
   *
   * @throws GatewayError `device-not-found`
   */
  async replaceSecret(actor: Actor, key: DeviceKey): Promise<string> {
    const secret = newSecret();
    const secretHash = hashSecret(secret);
    await this.#change(actor, 'device.secret-replaced', key, (before) => ({
      details: {},
      after: { ...before, secretHash },
    }));
    return secret;
  }

  /**
   * Moves the device to another location, where it is in no room.
   *
   * A move to its own location changes nothing (docs/reference/contract.md, 2).
   *
   * @throws GatewayError `device-not-found`, `location-not-found`
   */
  async moveToLocation(actor: Actor, key: DeviceKey, locationId: string): Promise<void> {
    if (locationId === key.locationId) {
      this.#model.requireDevice(key);
      actor.precondition?.();
    } else await this.#move(actor, key, { locationId, roomId: null });
  }

  /**
   * Moves the device into a room of its location, or out of its room (null).
   *
   * @throws GatewayError `device-not-found`, `room-not-found` when the room is not in the location
   */
  async moveToRoom(actor: Actor, key: DeviceKey, roomId: string | null): Promise<void> {
    await this.#move(actor, key, { locationId: key.locationId, roomId });
  }

  /** @throws GatewayError `device-not-found` */
  delete(actor: Actor, key: DeviceKey): Promise<void> {
    return this.#changes.make(actor, () => {
      const before = this.#model.requireDevice(key);
      const details = { name: before.name, roomId: before.roomId };
      const records = [{ kind: 'device', before, after: undefined }] as const;
      return { action: 'device.deleted', details, records, result: undefined };
    });
  }

  /**
   * Replaces the custom data, or merges the patch into it by RFC 7396.
   *
   * @param payload JSON text of an object, at most 1024 bytes
   * @returns the stored object as JSON text
   * @throws GatewayError `device-not-found`, `invalid-custom-data` when the result is too large
   */
  async setCustomData(
    actor: Actor,
    key: DeviceKey,
    payload: string,
    mode: 'replace' | 'merge',
  ): Promise<string> {
    const device = await this.#change(actor, 'custom-data.changed', key, (before) => {
      const customData = mode === 'merge' ? mergePatch(before.customData, payload) : payload;
      assertSize(customData);
      return { details: { mode }, after: { ...before, customData } };
    });
    return device.customData;
  }

  /** Whether a device with this id exists, in any location. */
  has(id: string): boolean {
    return this.#model.device(id) !== undefined;
  }

  /** The device with this id and secret; undefined when there is none. */
  authenticate(id: string, secret: Uint8Array): Device | undefined {
    const device = this.#model.device(id);
    if (device === undefined || !secretMatches(secret, device.secretHash)) return undefined;
    return device;
  }

  async #move(actor: Actor, key: DeviceKey, to: DevicePlace): Promise<void> {
    const { locationId, roomId } = to;
    await this.#change(actor, 'device.moved', key, (before) => {
      this.#model.requireLocation(locationId);
      if (roomId !== null) this.#model.requireRoom({ locationId, roomId });
      const details = {
        targetLocationId: locationId,
        targetRoomId: roomId,
        previousRoomId: before.roomId,
      };
      return { details, after: { ...before, locationId, roomId } };
    });
  }

  #change(
    actor: Actor,
    action: AuditAction,
    key: DeviceKey,
    changed: (before: Device) => Changed,
  ): Promise<Device> {
    return this.#changes.make(actor, () => {
      const before = this.#model.requireDevice(key);
      const { details, after } = changed(before);
      const records = [{ kind: 'device', before, after }] as const;
      return { action, details, records, result: after };
    });
  }
}

function silenceDetails(before: number | undefined, after: number | undefined) {
  return {
    silentAfterSeconds: after?.toString() ?? null,
    previousSilentAfterSeconds: before?.toString() ?? null,
  };
}

function assertSize(customData: string): void {
  if (Buffer.byteLength(customData) > MAX_CUSTOM_DATA_BYTES) {
    throw new GatewayError(
      'invalid-custom-data',
      `The merged custom data would exceed ${MAX_CUSTOM_DATA_BYTES} bytes.`,
    );
  }
}
