import { newId } from '../domain/notation.js';
import type { Room } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import { NO_ROOM } from './absences.js';
import type { Actor, AuditAction, AuditEntry } from './audit-trail.js';
import type { SiteEvents } from './site-events.js';
import type { SiteModel } from './site-model.js';
import type { RoomChange, RoomKey, SiteStore } from './site-store.js';

/** The rooms of the site. Names are already parsed (`parseName`). */
export class Rooms {
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

  /** @throws GatewayError `location-not-found`, `group-not-found` */
  async create(
    actor: Actor,
    locationId: string,
    name: string,
    groupId: string | null,
  ): Promise<Room> {
    const order = this.#model.nextOrder();
    const room: Room = { id: newId(), locationId, groupId, name, order };
    const key = { locationId, roomId: room.id };
    const entry = this.#entry(actor, 'room.created', key, { name, groupId });
    await this.#store.createRoom(room, entry);
    this.#model.putRoom(room);
    return room;
  }

  /** @throws GatewayError `room-not-found`, `group-not-found` */
  async change(actor: Actor, key: RoomKey, change: RoomChange): Promise<Room> {
    await this.#store.changeRoom(
      key,
      change,
      this.#entry(actor, 'room.changed', key, given(change)),
    );
    const room = this.get(key);
    const { name = room.name, groupId = room.groupId } = change;
    return this.#replace({ ...room, name, groupId });
  }

  /**
   * Moves the room from one group to another.
   *
   * @throws GatewayError `group-not-found` for either, `room-not-found` when it is not in the first
   */
  async move(actor: Actor, key: RoomKey, fromGroupId: string, toGroupId: string): Promise<void> {
    const entry = this.#entry(actor, 'room.moved', key, { groupId: toGroupId });
    await this.#store.moveRoom(key, fromGroupId, toGroupId, entry);
    this.#replace({ ...this.get(key), groupId: toGroupId });
  }

  /** @throws GatewayError `room-not-found`, `room-has-devices` */
  async delete(actor: Actor, key: RoomKey): Promise<void> {
    await this.#store.deleteRoom(key, this.#entry(actor, 'room.deleted', key));
    this.#model.removeRoom(key.roomId);
  }

  /** @throws GatewayError `room-not-found` when it is not in this location */
  get(key: RoomKey): Room {
    const room = this.#model.roomIn(key);
    if (room === undefined) throw GatewayError.of(NO_ROOM);
    return room;
  }

  #entry(
    actor: Actor,
    action: AuditAction,
    { locationId, roomId }: RoomKey,
    details: AuditEntry['details'] = {},
  ): AuditEntry {
    return { action, actor, atMs: this.#now(), locationId, resourceId: roomId, details };
  }

  #replace(room: Room): Room {
    this.#model.putRoom(room);
    for (const id of this.#model.deviceIdsIn(room.locationId, new Set([room.id]))) {
      this.#events.emit('deviceChanged', id);
    }
    return room;
  }
}

/** The parts of a room that a change names. */
function given({ name, groupId }: RoomChange): AuditEntry['details'] {
  return { ...(name !== undefined && { name }), ...(groupId !== undefined && { groupId }) };
}
