import type { Context, MiddlewareHandler } from 'hono';
import type { FaultSubject } from '../domain/faults/faults.js';
import {
  type Grant,
  isAdmin,
  permits,
  type Rank,
  type Scope,
  touchesLocation,
} from '../domain/grants.js';
import { isUuid } from '../domain/ids.js';
import type { Device, Group, Room } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { SiteModel } from '../site/site-model.js';
import type { DeviceKey, RoomKey } from '../site/site-store.js';
import { addStandingCheck, callerOf, type HttpEnv, type StandingCheck } from './http-env.js';
import { invalidRequest } from './problem.js';

type Guard = MiddlewareHandler<HttpEnv>;

/**
 * What a request may do and see: the guards before a route's handler, and the part of a location to show.
 *
 * Each guard checks permission, then whether the ids in the path are well formed, then whether they exist,
 * location first. So a caller without a grant always gets 403, and learns nothing (docs/reference/contract.md, 2).
 * The body is read next, and then all checks run again. If the body refers to something else that needs
 * permission, the guard stops after the ids, and the handler checks that permission, then existence.
 *
 * A grant covers a whole location, or a group with its rooms and the devices in them. With a grant on a group,
 * a caller gets 403 for a room or device of another group, and for an unknown one too.
 */
export class Access {
  readonly #model: SiteModel;

  constructor(model: SiteModel) {
    this.#model = model;
  }

  /** Requires the administrator. */
  admin(): Guard {
    return standingGuard((c) => {
      requirePermission(isAdmin(callerOf(c).grants));
    });
  }

  /** Requires the administrator, and that the path's location exists. */
  adminOfLocation(): Guard {
    return this.#location((grants) => isAdmin(grants));
  }

  /** Requires the role over the whole location of the path. */
  location(role: Rank): Guard {
    return this.#location((grants, locationId) => permits(grants, role, { locationId }));
  }

  /** Requires the role over a part of the location. The handler limits its answer to that part. */
  partOfLocation(role: Rank): Guard {
    return this.#location((grants, locationId) => touchesLocation(grants, locationId, role));
  }

  /** Requires the role over the device of the path. */
  device(role: Rank): Guard {
    return standingGuard((c) => {
      this.#model.requireDevice(this.#permittedDevice(c, role));
    });
  }

  /** Requires the role over the path's device; the handler checks existence after the body's permissions. */
  permissionOverDevice(role: Rank): Guard {
    return standingGuard((c) => {
      this.#permittedDevice(c, role);
    });
  }

  /** Requires the role over the room of the path. */
  room(role: Rank): Guard {
    return standingGuard((c) => {
      const key = { locationId: pathId(c, 'locationId'), roomId: pathId(c, 'roomId') };
      this.#checkRoom(c, role, key);
      requireUuids(key);
      this.#model.requireRoom(key);
    });
  }

  /** Requires the role over the group of the path. */
  group(role: Rank): Guard {
    return standingGuard((c) => {
      const key = { locationId: pathId(c, 'locationId'), groupId: pathId(c, 'groupId') };
      checkOver(c, role, key);
      requireUuids(key);
      this.#model.requireGroup(key);
    });
  }

  /** Requires the role over the path's group; the handler checks that group and room exist. */
  permissionOverRoomOfGroup(role: Rank): Guard {
    return standingGuard((c) => {
      const key = { locationId: pathId(c, 'locationId'), groupId: pathId(c, 'groupId') };
      checkOver(c, role, key);
      requireUuids({ ...key, roomId: pathId(c, 'roomId') });
    });
  }

  /**
   * Requires the role over a scope that the body refers to: a location or a group in it.
   *
   * Call before the lookup. A scope with the group null is outside all groups; no grant on a group covers it.
   *
   * @throws GatewayError `forbidden`
   */
  requireOver(c: Context<HttpEnv>, role: Rank, scope: Scope): void {
    checkAndStand(c, () => checkOver(c, role, scope));
  }

  /** @throws GatewayError `forbidden`; with a grant on a group, also for a room that does not exist */
  requireOverRoom(c: Context<HttpEnv>, role: Rank, key: RoomKey): void {
    checkAndStand(c, () => this.#checkRoom(c, role, key));
  }

  /** The covered groups of one location, in the order of creation. */
  groupsOf(c: Context<HttpEnv>, locationId: string): Group[] {
    const { grants } = callerOf(c);
    return this.#model
      .groupsOf(locationId)
      .filter(({ id }) => permits(grants, 'viewer', { locationId, groupId: id }));
  }

  /** The covered rooms of one location, in the order of creation. */
  roomsOf(c: Context<HttpEnv>, locationId: string): Room[] {
    const { grants } = callerOf(c);
    return this.#model.roomsOf(locationId).filter((room) => permits(grants, 'viewer', room));
  }

  /** The covered devices of one location, in the order of creation. */
  devicesOf(c: Context<HttpEnv>, locationId: string): Device[] {
    return this.#covered(c, this.#model.devicesOf(locationId));
  }

  /** The ids of all covered devices by location: one pass, however many locations there are. */
  deviceIdsByLocation(c: Context<HttpEnv>): ReadonlyMap<string, readonly string[]> {
    const idsByLocation = new Map<string, string[]>();
    for (const { id, locationId } of this.#covered(c, this.#model.devices())) {
      const ids = idsByLocation.get(locationId);
      if (ids === undefined) idsByLocation.set(locationId, [id]);
      else ids.push(id);
    }
    return idsByLocation;
  }

  /** Whether the grants let their holder see what a fault is about. */
  covers(grants: readonly Grant[], { type, id }: FaultSubject): boolean {
    if (isAdmin(grants)) return true;
    if (type === 'location') return permits(grants, 'viewer', { locationId: id });
    const device = type === 'device' ? this.#model.device(id) : undefined;
    return device !== undefined && this.#coversDevice(grants, 'viewer', device);
  }

  #covered(c: Context<HttpEnv>, devices: Iterable<Device>): Device[] {
    const { grants } = callerOf(c);
    return [...devices].filter((device) => this.#coversDevice(grants, 'viewer', device));
  }

  /** Whether the grants give the role over the device in its present place. */
  #coversDevice(grants: readonly Grant[], role: Rank, { locationId, roomId }: Device): boolean {
    const room = roomId === null ? undefined : this.#model.room(roomId);
    return permits(grants, role, { locationId, groupId: room?.groupId ?? null });
  }

  #checkRoom(c: Context<HttpEnv>, role: Rank, key: RoomKey): void {
    const { groupId } = this.#model.roomIn(key) ?? {};
    checkOver(c, role, { locationId: key.locationId, groupId });
  }

  #location(isPermitted: (grants: readonly Grant[], locationId: string) => boolean): Guard {
    return standingGuard((c) => {
      const locationId = pathId(c, 'locationId');
      requirePermission(isPermitted(callerOf(c).grants, locationId));
      requireUuids({ locationId });
      this.#model.requireLocation(locationId);
    });
  }

  #permittedDevice(c: Context<HttpEnv>, role: Rank): DeviceKey {
    const { grants } = callerOf(c);
    const key = { locationId: pathId(c, 'locationId'), deviceId: pathId(c, 'deviceId') };
    const device = this.#model.deviceIn(key);
    requirePermission(
      device === undefined
        ? permits(grants, role, { locationId: key.locationId })
        : this.#coversDevice(grants, role, device),
    );
    requireUuids(key);
    return key;
  }
}

/** Makes a guard from a check that `checkAgain` repeats. */
function standingGuard(check: StandingCheck): Guard {
  return (c, next) => {
    checkAndStand(c, check);
    return next();
  };
}

/** Makes a check that `checkAgain` repeats. */
function checkAndStand(c: Context<HttpEnv>, check: StandingCheck): void {
  check(c);
  addStandingCheck(c, check);
}

function checkOver(c: Context<HttpEnv>, role: Rank, scope: Scope): void {
  requirePermission(permits(callerOf(c).grants, role, scope));
}

/** An id from the path in lower case, as UUIDs are stored (RFC 9562, 4). */
function pathId(c: Context<HttpEnv>, name: string): string {
  return (c.req.param(name) ?? '').toLowerCase();
}

function requirePermission(isPermitted: boolean): void {
  if (!isPermitted) throw noGrant();
}

export function noGrant(): GatewayError {
  return new GatewayError('forbidden', 'The access token has no grant for this.');
}

function requireUuids(ids: Readonly<Record<string, string>>): void {
  const faults = Object.entries(ids)
    .filter(([, id]) => !isUuid(id))
    .map(([path]) => ({ path, message: 'must be a UUID' }));
  if (faults.length > 0) throw invalidRequest(faults);
}
