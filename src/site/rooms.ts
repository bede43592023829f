import { newId } from '../domain/identifiers.js';
import type { Room } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { SiteModel } from './site-model.js';
import type { RoomChange, RoomKey, SiteStore } from './site-store.js';

/** The rooms of the site. Names are already parsed (`parseName`). */
export class Rooms {
  readonly #store: SiteStore;
  readonly #model: SiteModel;

  constructor(store: SiteStore, model: SiteModel) {
    this.#store = store;
    this.#model = model;
  }

  /** @throws GatewayError `room-not-found` when it is not in this location */
  get(key: RoomKey): Room {
    const room = this.#model.room(key.roomId);
    if (room === undefined || room.locationId !== key.locationId) {
      throw new GatewayError('room-not-found', 'There is no such room in this location.');
    }
    return room;
  }

  /** @throws GatewayError `location-not-found`, `group-not-found` */
  async create(locationId: string, name: string, groupId: string | null): Promise<Room> {
    const order = this.#model.nextOrder();
    const room: Room = { id: newId(), locationId, groupId, name, order };
    await this.#store.createRoom(room);
    this.#model.putRoom(room);
    return room;
  }

  /** @throws GatewayError `room-not-found`, `group-not-found` */
  async change(key: RoomKey, change: RoomChange): Promise<Room> {
    await this.#store.changeRoom(key, change);
    const room = this.get(key);
    const { name = room.name, groupId = room.groupId } = change;
    return this.#replace({ ...room, name, groupId });
  }

  /**
   * From one group into another.
   *
   * @throws GatewayError `group-not-found` for either, `room-not-found` when it is not in the first
   */
  async move(key: RoomKey, fromGroupId: string, toGroupId: string): Promise<void> {
    await this.#store.moveRoom(key, fromGroupId, toGroupId);
    this.#replace({ ...this.get(key), groupId: toGroupId });
  }

  /** @throws GatewayError `room-not-found`, `room-has-devices` */
  async delete(key: RoomKey): Promise<void> {
    await this.#store.deleteRoom(key);
    this.#model.removeRoom(key.roomId);
  }

  #replace(room: Room): Room {
    this.#model.putRoom(room);
    return room;
  }
}
