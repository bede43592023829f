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
 * The guards before a route's handler.
 *
 * Each checks permission, then whether the ids in the path are well formed, then whether they exist. So a
 * caller without a grant always gets 403, and learns nothing (CONTRACT 2). The body is read after that, and
 * then all checks are repeated. If the body names more that needs a permission, the guard stops at the ids,
 * and the handler checks that permission, then existence.
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
  location(role: Role): Guard {
    return this.#location((grants, locationId) => permits(grants, role, { locationId }));
  }

  /** Requires the role over a part of the location. The handler limits its answer to it (`Coverage`). */
  partOfLocation(role: Role): Guard {
    return this.#location((grants, locationId) => touchesLocation(grants, locationId, role));
  }

  /**
   * Requires the role over the device of the path.
   *
   * With a grant on a group, a device of another group and one that does not exist are both 403.
   */
  device(role: Role): Guard {
    return standingGuard((c) => {
      this.#existence.requireDevice(this.#permittedDevice(c, role));
    });
  }

  /** Requires the role over the path's device; the handler checks existence after the body's permissions. */
  permissionOverDevice(role: Role): Guard {
    return standingGuard((c) => {
      this.#permittedDevice(c, role);
    });
  }

  /**
   * Requires the role over the room of the path.
   *
   * With a grant on a group, a room of another group and one that does not exist are both 403.
   */
  room(role: Role): Guard {
    return standingGuard((c) => {
      const key = { locationId: pathId(c, 'locationId'), roomId: pathId(c, 'roomId') };
      this.requireRoom(c, role, key);
      requireUuids(key);
      this.#existence.requireRoom(key);
    });
  }

  /** Requires the role over the group of the path. */
  group(role: Role): Guard {
    return standingGuard((c) => {
      const key = { locationId: pathId(c, 'locationId'), groupId: pathId(c, 'groupId') };
      this.requireScope(c, role, key);
      requireUuids(key);
      this.#existence.requireGroup(key);
    });
  }

  /**
   * Requires the role over the group of the path.
   *
   * The handler checks that group and room exist, after the permissions of the body.
   */
  permissionOverRoomOfGroup(role: Role): Guard {
    return standingGuard((c) => {
      const key = { locationId: pathId(c, 'locationId'), groupId: pathId(c, 'groupId') };
      this.requireScope(c, role, key);
      requireUuids({ ...key, roomId: pathId(c, 'roomId') });
    });
  }

  /**
   * Requires the role over a scope that the body refers to: a location or a group in it.
   *
   * Call before the lookup. No grant on a group covers the scope with the group null, outside of groups.
   *
   * @throws GatewayError `forbidden`
   */
  requireScope(c: Context<HttpEnv>, role: Role, scope: Scope): void {
    requirePermission(permits(callerOf(c).grants, role, scope));
  }

  /**
   * Requires the role over a room that the body refers to.
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

/** An id of the path in lower case, as UUIDs are stored (RFC 9562, 4). */
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
