import type { Grant, Role } from '../domain/grants.js';
import { permits } from '../domain/grants.js';
import type { Device } from '../domain/site.js';
import type { SiteModel } from '../site/site-model.js';

/**
 * What of a location a caller's grants cover: all of it, or, by a grant on a group, the devices in
 * the group's rooms (CONTRACT 2). Everything that shows devices asks here.
 */
export class Coverage {
  readonly #model: SiteModel;

  constructor(model: SiteModel) {
    this.#model = model;
  }

  /** Whether the grants give the role over the device where it stands now. */
  coversDevice(grants: readonly Grant[], role: Role, device: Device): boolean {
    const room = device.roomId === null ? undefined : this.#model.room(device.roomId);
    const groupId = room?.groupId ?? null;
    return permits(grants, role, { locationId: device.locationId, groupId });
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
