import { GatewayError } from '../errors.js';
import { NO_DEVICE, NO_GROUP, NO_LOCATION, NO_ROOM, NO_ROOM_IN_GROUP } from '../site/absences.js';
import type { SiteModel } from '../site/site-model.js';
import type { DeviceKey, GroupKey, RoomKey } from '../site/site-store.js';

/** Checks that a path's resources exist, location first, for permitted callers. */
export class Existence {
  readonly #model: SiteModel;

  constructor(model: SiteModel) {
    this.#model = model;
  }

  /** @throws GatewayError `location-not-found` */
  requireLocation(id: string): void {
    if (this.#model.location(id) === undefined) throw GatewayError.of(NO_LOCATION);
  }

  /** @throws GatewayError `location-not-found`, `device-not-found` */
  requireDevice(key: DeviceKey): void {
    this.requireLocation(key.locationId);
    if (this.#model.deviceIn(key) === undefined) throw GatewayError.of(NO_DEVICE);
  }

  /** @throws GatewayError `location-not-found`, `room-not-found` */
  requireRoom(key: RoomKey): void {
    this.requireLocation(key.locationId);
    if (this.#model.roomIn(key) === undefined) throw GatewayError.of(NO_ROOM);
  }

  /** @throws GatewayError `location-not-found`, `group-not-found` */
  requireGroup(key: GroupKey): void {
    this.requireLocation(key.locationId);
    if (this.#model.groupIn(key) === undefined) throw GatewayError.of(NO_GROUP);
  }

  /** @throws GatewayError `location-not-found`, `group-not-found`, `room-not-found` */
  requireRoomOfGroup(key: GroupKey & RoomKey): void {
    this.requireGroup(key);
    if (this.#model.roomIn(key)?.groupId !== key.groupId) throw GatewayError.of(NO_ROOM_IN_GROUP);
  }
}
