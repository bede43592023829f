import type { Context, MiddlewareHandler } from 'hono';
import type { Grant, Role, Scope } from '../domain/grants.js';
import { isAdmin, permits, touchesLocation } from '../domain/grants.js';
import { isUuid } from '../domain/identifiers.js';
import { GatewayError } from '../errors.js';
import { NO_DEVICE, NO_GROUP, NO_LOCATION, NO_ROOM, NO_ROOM_IN_GROUP } from '../site/absences.js';
import type { SiteModel } from '../site/site-model.js';
import type { RoomKey } from '../site/site-store.js';
import type { Coverage } from './coverage.js';
import type { HttpEnv } from './http-env.js';
import { callerOf } from './http-env.js';
import { invalidRequest } from './problem.js';
import { standingGuard } from './standing-checks.js';

type Guard = MiddlewareHandler<HttpEnv>;

/**
 * The guards that stand before a route's handler. Each goes the same way: permission, then whether
 * the ids of the path are well formed, then whether they exist. So whoever has no grant gets 403
 * whatever he asks for, and learns nothing (CONTRACT 2); the body is read only after that, and then it
 * is all checked again.
 */
export class Access {
  readonly #model: SiteModel;
  readonly #coverage: Coverage;

  constructor(model: SiteModel, coverage: Coverage) {
    this.#model = model;
    this.#coverage = coverage;
  }

  /** The administrator of the gateway. */
  admin(): Guard {
    return standingGuard((c) => {
      requirePermission(isAdmin(callerOf(c).grants));
    });
  }

  /** The administrator, and the location of the path. */
  adminOfLocation(): Guard {
    return this.#location((grants) => isAdmin(grants));
  }

  /** The role over the whole location of the path. */
  location(role: Role): Guard {
    return this.#location((grants, locationId) => permits(grants, role, { locationId }));
  }

  /** The role over some of the location: what the handler shows it must limit (`Coverage`). */
  partOfLocation(role: Role): Guard {
    return this.#location((grants, locationId) => touchesLocation(grants, locationId, role));
  }

  /**
   * The role over the device of the path. To a grant on a group, a device of another group and one
   * that does not exist look the same: 403.
   */
  device(role: Role): Guard {
    return standingGuard((c) => {
      const { grants } = callerOf(c);
      const [locationId, deviceId] = [pathId(c, 'locationId'), pathId(c, 'deviceId')];
      const device = this.#model.deviceIn({ locationId, deviceId });
      requirePermission(
        device === undefined
          ? permits(grants, role, { locationId })
          : this.#coverage.coversDevice(grants, role, device),
      );
      requireUuids({ locationId, deviceId });
      this.#requireLocation(locationId);
      if (device === undefined) throw GatewayError.of(NO_DEVICE);
    });
  }

  /**
   * The role over the room of the path; as with devices, to a grant on a group a room of another
   * group and one that does not exist look the same.
   */
  room(role: Role): Guard {
    return standingGuard((c) => {
      const [locationId, roomId] = [pathId(c, 'locationId'), pathId(c, 'roomId')];
      const room = this.#model.roomIn({ locationId, roomId });
      requirePermission(permits(callerOf(c).grants, role, { locationId, groupId: room?.groupId }));
      requireUuids({ locationId, roomId });
      this.#requireLocation(locationId);
      if (room === undefined) throw GatewayError.of(NO_ROOM);
    });
  }

  /** The role over the group of the path. */
  group(role: Role): Guard {
    return standingGuard((c) => {
      const [locationId, groupId] = [pathId(c, 'locationId'), pathId(c, 'groupId')];
      requirePermission(permits(callerOf(c).grants, role, { locationId, groupId }));
      requireUuids({ locationId, groupId });
      this.#requireGroup(locationId, groupId);
    });
  }

  /** The role over the group of the path, in which its room must be. */
  roomOfGroup(role: Role): Guard {
    return standingGuard((c) => {
      const [locationId, groupId] = [pathId(c, 'locationId'), pathId(c, 'groupId')];
      const roomId = pathId(c, 'roomId');
      requirePermission(permits(callerOf(c).grants, role, { locationId, groupId }));
      requireUuids({ locationId, groupId, roomId });
      this.#requireGroup(locationId, groupId);
      const room = this.#model.roomIn({ locationId, roomId });
      if (room?.groupId !== groupId) throw GatewayError.of(NO_ROOM_IN_GROUP);
    });
  }

  /**
   * For what the body of a request refers to, before it is looked for: the role over all of a
   * location, or over a group in it. Null is what is in no group, which no grant on a group covers.
   *
   * @throws GatewayError `forbidden`
   */
  requireScope(c: Context<HttpEnv>, role: Role, scope: Scope): void {
    requirePermission(permits(callerOf(c).grants, role, scope));
  }

  /**
   * The same for a room.
   *
   * @throws GatewayError `forbidden`, to a grant on a group also for a room that does not exist
   */
  requireRoom(c: Context<HttpEnv>, role: Role, key: RoomKey): void {
    const { groupId } = this.#model.roomIn(key) ?? {};
    this.requireScope(c, role, { locationId: key.locationId, groupId });
  }

  #location(isPermitted: (grants: readonly Grant[], locationId: string) => boolean): Guard {
    return standingGuard((c) => {
      const locationId = pathId(c, 'locationId');
      requirePermission(isPermitted(callerOf(c).grants, locationId));
      requireUuids({ locationId });
      this.#requireLocation(locationId);
    });
  }

  #requireGroup(locationId: string, groupId: string): void {
    this.#requireLocation(locationId);
    if (this.#model.groupIn({ locationId, groupId }) === undefined) {
      throw GatewayError.of(NO_GROUP);
    }
  }

  #requireLocation(id: string): void {
    if (this.#model.location(id) === undefined) throw GatewayError.of(NO_LOCATION);
  }
}

/** UUIDs are compared in lower case, as they are kept (RFC 9562, 4). */
function pathId(c: Context<HttpEnv>, name: string): string {
  return (c.req.param(name) ?? '').toLowerCase();
}

function requirePermission(isPermitted: boolean): void {
  if (!isPermitted) {
    throw new GatewayError('forbidden', 'The access token has no grant for this.');
  }
}

function requireUuids(ids: Readonly<Record<string, string>>): void {
  const faults = Object.entries(ids)
    .filter(([, id]) => !isUuid(id))
    .map(([path]) => ({ path, message: 'must be a UUID' }));
  if (faults.length > 0) throw invalidRequest(faults);
}
