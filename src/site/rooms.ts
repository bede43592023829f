import { newId } from '../domain/ids.js';
import type { Room } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { Actor } from './audit-trail.js';
import type { SiteChanges } from './site-changes.js';
import type { RoomKey, SiteModel } from './site-model.js';

/** A change of a room: undefined parts stay; `null` takes the room out of its group. */
export interface RoomChange {
  readonly name?: string | undefined;
  readonly groupId?: string | null | undefined;
}

/** The rooms of the site. Names are already parsed (`parseText`). */
export class Rooms {
  readonly #changes: SiteChanges;
  readonly #model: SiteModel;

  constructor(changes: SiteChanges, model: SiteModel) {
    this.#changes = changes;
    this.#model = model;
  }

  /** @throws GatewayError `location-not-found`, `group-not-found` */
  create(actor: Actor, locationId: string, name: string, groupId: string | null): Promise<Room> {
    return this.#changes.make(actor, () => {
      this.#model.requireLocation(locationId);
      if (groupId !== null) this.#model.requireGroup({ locationId, groupId });
      const after = { id: newId(), locationId, groupId, name, order: this.#model.nextOrder() };
      const records = [{ kind: 'room', before: undefined, after }] as const;
      return { action: 'room.created', details: { name, groupId }, records, result: after };
    });
  }

  /** @throws GatewayError `location-not-found`, `room-not-found`, `group-not-found` */
  change(actor: Actor, key: RoomKey, { name, groupId }: RoomChange): Promise<Room> {
    return this.#changes.make(actor, () => {
      const before = this.#model.requireRoom(key);
      if (typeof groupId === 'string') this.#model.requireGroup({ ...key, groupId });
      const given = {
        ...(name !== undefined && { name }),
        ...(groupId !== undefined && { groupId }),
      };
      const after = { ...before, ...given };
      const details = {
        ...given,
        ...(name !== undefined && { previousName: before.name }),
        ...(groupId !== undefined && { previousGroupId: before.groupId }),
      };
      const records = [{ kind: 'room', before, after }] as const;
      return { action: 'room.changed', details, records, result: after };
    });
  }

  /**
   * Moves the room from one group to another.
   *
   * @throws GatewayError `group-not-found` for either, `room-not-found` when it is not in the first
   */
  move(actor: Actor, key: RoomKey, fromGroupId: string, toGroupId: string): Promise<void> {
    return this.#changes.make(actor, () => {
      const before = this.#model.requireRoomOfGroup({ ...key, groupId: fromGroupId });
      this.#model.requireGroup({ ...key, groupId: toGroupId });
      const details = { groupId: toGroupId, previousGroupId: fromGroupId };
      const records = [{ kind: 'room', before, after: { ...before, groupId: toGroupId } }] as const;
      return { action: 'room.moved', details, records, result: undefined };
    });
  }

  /** @throws GatewayError `location-not-found`, `room-not-found`, `room-has-devices` */
  delete(actor: Actor, key: RoomKey): Promise<void> {
    return this.#changes.make(actor, () => {
      const before = this.#model.requireRoom(key);
      if (this.#model.devicesWithin(new Set([key.roomId])).length > 0) {
        throw new GatewayError('room-has-devices', 'Devices are still assigned to the room.');
      }
      const details = { name: before.name, groupId: before.groupId };
      const records = [{ kind: 'room', before, after: undefined }] as const;
      return { action: 'room.deleted', details, records, result: undefined };
    });
  }
}
