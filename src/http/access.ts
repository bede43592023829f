import type { Context, MiddlewareHandler } from 'hono';
import {
  type Grant,
  isAdmin,
  permits,
  type Role,
  type Scope,
  touchesLocation,
} from '../domain/grants.js';
import { isUuid } from '../domain/notation.js';
import { GatewayError } from '../errors.js';
import type { SiteModel } from '../site/site-model.js';
import type { DeviceKey, RoomKey } from '../site/site-store.js';
import type { Coverage } from './coverage.js';
import type { Existence } from './existence.js';
import { callerOf, type HttpEnv } from './http-env.js';
import { invalidRequest } from './problem.js';
import { standingGuard } from './standing-checks.js';

type Guard = MiddlewareHandler<HttpEnv>;

/**
 * The guards before a route's handler. Each checks in the same order: permission, then whether the ids
 * of the path are well formed, then whether they exist. So a caller without a grant gets 403 whatever
 * he asks for, and learns nothing (CONTRACT 2); the body is read only after that, and then all checks
 * are repeated. Where the body names more that needs a permission, the guard goes as far as the ids,
 * and the handler goes on: that permission, then existence.
 */
export class Access {
  readonly #model: SiteModel;
  readonly #coverage: Coverage;
  readonly #existence: Existence;

  constructor(model: SiteModel, coverage: Coverage, existence: Existence) {
    this.#model = model;
    this.#coverage = coverage;
    this.#existence = existence;
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
      this.#existence.requireDevice(this.#permittedDevice(c, role));
    });
  }

  /** The role over the device of the path; its existence is for the handler, after the body's permissions. */
  permissionOverDevice(role: Role): Guard {
    return standingGuard((c) => {
      this.#permittedDevice(c, role);
    });
  }

  /**
   * The role over the room of the path; as with devices, to a grant on a group a room of another
   * group and one that does not exist look the same.
   */
  room(role: Role): Guard {
    return standingGuard((c) => {
      const key = { locationId: pathId(c, 'locationId'), roomId: pathId(c, 'roomId') };
      this.requireRoom(c, role, key);
      requireUuids(key);
      this.#existence.requireRoom(key);
    });
  }

  /** The role over the group of the path. */
  group(role: Role): Guard {
    return standingGuard((c) => {
      const key = { locationId: pathId(c, 'locationId'), groupId: pathId(c, 'groupId') };
      this.requireScope(c, role, key);
      requireUuids(key);
      this.#existence.requireGroup(key);
    });
  }

  /**
   * The role over the group of the path. Whether it exists, and the room in it, is for the handler to
   * ask, after the permissions of the body.
   */
  permissionOverRoomOfGroup(role: Role): Guard {
    return standingGuard((c) => {
      const key = { locationId: pathId(c, 'locationId'), groupId: pathId(c, 'groupId') };
      this.requireScope(c, role, key);
      requireUuids({ ...key, roomId: pathId(c, 'roomId') });
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
   * For a room that the body refers to.
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
      this.#existence.requireLocation(locationId);
    });
  }

  #permittedDevice(c: Context<HttpEnv>, role: Role): DeviceKey {
    const { grants } = callerOf(c);
    const key = { locationId: pathId(c, 'locationId'), deviceId: pathId(c, 'deviceId') };
    const device = this.#model.deviceIn(key);
    requirePermission(
      device === undefined
        ? permits(grants, role, { locationId: key.locationId })
        : this.#coverage.coversDevice(grants, role, device),
    );
    requireUuids(key);
    return key;
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
