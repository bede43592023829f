import { type Grant, permits, type Role } from '../domain/grants.js';
import type { Device, Group, Room } from '../domain/site.js';
import type { SiteModel } from '../site/site-model.js';

/**
 * Decides which part of a location a caller's grants cover.
 *
 * A grant covers the whole location, or a group with its rooms and the devices in them (CONTRACT 2). All
 * routes that show groups, rooms or devices ask here.
 */
export class Coverage {
  readonly #model: SiteModel;

  constructor(model: SiteModel) {
    this.#model = model;
  }

  /** Whether the grants give the role over the device in its present place. */
  coversDevice(grants: readonly Grant[], role: Role, device: Device): boolean {
    const room = device.roomId === null ? undefined : this.#model.room(device.roomId);
    const groupId = room?.groupId ?? null;
    return permits(grants, role, { locationId: device.locationId, groupId });
  }

  /** The covered groups of one location, in the order of creation. */
  groupsOf(grants: readonly Grant[], role: Role, locationId: string): Group[] {
    return this.#model
      .groupsOf(locationId)
      .filter(({ id }) => permits(grants, role, { locationId, groupId: id }));
  }

  /** The covered rooms of one location, in the order of creation. */
  roomsOf(grants: readonly Grant[], role: Role, locationId: string): Room[] {
    return this.#model.roomsOf(locationId).filter((room) => permits(grants, role, room));
  }

  /** The covered devices of one location, in the order of creation. */
  devicesOf(grants: readonly Grant[], role: Role, locationId: string): Device[] {
    return this.#model
      .devicesOf(locationId)
      .filter((device) => this.coversDevice(grants, role, device));
  }

  /** The ids of all covered devices by location: one pass, however many locations there are. */
  deviceIdsByLocation(grants: readonly Grant[]): ReadonlyMap<string, string[]> {
    const idsByLocation = new Map<string, string[]>();
    for (const device of this.#model.devices()) {
      if (!this.coversDevice(grants, 'viewer', device)) continue;
      const ids = idsByLocation.get(device.locationId);
      if (ids === undefined) idsByLocation.set(device.locationId, [device.id]);
      else ids.push(device.id);
    }
    return idsByLocation;
  }
}
