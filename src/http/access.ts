import type { Context, MiddlewareHandler } from 'hono';
import type { Grant, Role } from '../domain/grants.js';
import { isAdmin, permits, touchesLocation } from '../domain/grants.js';
import { isUuid } from '../domain/identifiers.js';
import { GatewayError } from '../errors.js';
import type { SiteModel } from '../site/site-model.js';
import type { Coverage } from './coverage.js';
import type { HttpEnv } from './http-env.js';
import { callerOf } from './http-env.js';
import { invalidRequest } from './problem.js';

type Guard = MiddlewareHandler<HttpEnv>;

/**
 * The guards that stand before a route's handler. Each goes the same way: permission, then whether
 * the ids of the path are well formed, then whether they exist. So whoever has no grant gets 403
 * whatever he asks for, and learns nothing (CONTRACT 2); the body is read only after that.
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
    return (c, next) => {
      requirePermission(isAdmin(callerOf(c).grants));
      return next();
    };
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
    return (c, next) => {
      const { grants } = callerOf(c);
      const [locationId, deviceId] = [pathId(c, 'locationId'), pathId(c, 'deviceId')];
      const found = this.#model.device(deviceId);
      const device = found?.locationId === locationId ? found : undefined;
      requirePermission(
        device === undefined
          ? permits(grants, role, { locationId })
          : this.#coverage.coversDevice(grants, role, device),
      );
      requireUuids({ locationId, deviceId });
      this.#requireLocation(locationId);
      if (device === undefined) {
        throw new GatewayError('device-not-found', 'There is no such device in this location.');
      }
      return next();
    };
  }

  #location(isPermitted: (grants: readonly Grant[], locationId: string) => boolean): Guard {
    return (c, next) => {
      const locationId = pathId(c, 'locationId');
      requirePermission(isPermitted(callerOf(c).grants, locationId));
      requireUuids({ locationId });
      this.#requireLocation(locationId);
      return next();
    };
  }

  #requireLocation(id: string): void {
    if (this.#model.location(id) === undefined) {
      throw new GatewayError('location-not-found', 'There is no such location.');
    }
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
