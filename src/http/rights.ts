/**
 * The rights that routes ask for, as data, and what a caller's grants cover.
 *
 * Every right is checked in one order: who asks, whether the grants permit it, whether the ids in the path are UUIDs,
 * whether what they name exists. So a caller without a grant gets 403 whatever the ids are (contract 2). With a grant on a
 * group, a caller gets 403 for a room or device of another group, and for an unknown one, too.
 */

import { isLoopbackAddress, isLoopbackHost } from '../domain/addresses.js';
import type { FaultSubject } from '../domain/fault.js';
import { type Grant, isAdmin, permits, type Rank, touchesLocation } from '../domain/grants.js';
import { isUuid } from '../domain/ids.js';
import type { Device, Group, Room } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { SiteModel } from '../site/site-model.js';
import { type Caller, type Callers, type Identity, nobody, requirePermission } from './caller.js';
import { addressOf, type HttpContext } from './frame.js';
import { invalidRequest } from './problem.js';

/** Ids and names in a path. */
export type Ids<Id extends string> = Readonly<Record<Id, string>>;

/** What a route asks of its caller. */
export interface Right<Id extends string = string> {
  /** How the description names the credential: none, or one that shows more, or one that is needed. */
  readonly credential: 'none' | 'optional token' | 'token' | 'device' | 'signature';
  readonly identify: (callers: Callers, c: HttpContext) => Identity;
  /** Whether the caller may; true for everyone who is identified if left out. */
  readonly permits?: (caller: Caller, ids: Ids<Id>) => boolean;
  /** @throws GatewayError when what the path names does not exist */
  readonly find?: (ids: Ids<Id>) => void;
}

/** Checks the right, now and each time that the call is checked again. */
export function claim<Id extends string>(caller: Caller, right: Right<Id>, ids: Ids<Id>): void {
  caller.must(() => {
    requirePermission(right.permits?.(caller, ids) ?? true);
    // The path that was signed is asked for, whatever it is.
    if (right.credential !== 'signature') requireUuids(ids);
    right.find?.(ids);
  });
}

function requireUuids(ids: Readonly<Record<string, string>>): void {
  const faults = Object.entries(ids)
    .filter(([name, id]) => isIdName(name) && !isUuid(id))
    .map(([path]) => ({ path, message: 'must be a UUID' }));
  if (faults.length > 0) throw invalidRequest(faults);
}

/** Whether the parameter of a path is an id: in lower case (RFC 9562, 4), and a UUID. */
export function isIdName(name: string): boolean {
  return name.endsWith('Id');
}

const byToken = {
  credential: 'token',
  identify: (callers, c) => callers.token(c),
} as const satisfies Right;

/** Every access token: the answer has only what its grants cover. */
export const anyToken: Right<never> = byToken;

/** The administrator. */
export const admin: Right<never> = {
  ...byToken,
  permits: ({ grants }) => isAdmin(grants),
};

/** Everybody. */
export const everybody: Right<never> = { credential: 'none', identify: () => nobody };

/** Everybody; a valid token is shown more. */
export const everybodyOrToken: Right<never> = {
  credential: 'optional token',
  identify: (callers, c) => callers.tokenOrNobody(c),
};

/** A device, on its own path: any other id gets 403, whether or not such a device exists. */
export const ownDevice: Right<'deviceId'> = {
  credential: 'device',
  identify: (callers, c) => callers.device(c),
  permits: ({ device }, { deviceId }) => {
    if (deviceId === device.id) return true;
    throw new GatewayError('forbidden', 'A device may do this for itself only.');
  },
};

/**
 * The administrator, and this machine without a token.
 *
 * @param isOpen whether every machine needs none
 * @param isBehindProxy then requests from this machine may come from anywhere
 */
export function adminOrThisMachine(isOpen: boolean, isBehindProxy: boolean): Right<never> {
  const needsNone = (c: HttpContext) => {
    // A page of another site may point its own name here (DNS rebinding), and make a browser on this machine ask.
    const isLocal =
      isLoopbackAddress(addressOf(c) ?? '') && isLoopbackHost(new URL(c.req.url).hostname);
    return isOpen || (isLocal && !isBehindProxy);
  };
  return {
    credential: 'optional token',
    identify: (callers, c) => (needsNone(c) ? nobody : callers.token(c)),
    permits: (caller) => !caller.hasToken || isAdmin(caller.grants),
  };
}

/** The rights over places and devices of the site, and the parts of it that grants cover. */
export class Rights {
  readonly #model: SiteModel;

  constructor(model: SiteModel) {
    this.#model = model;
  }

  /** The role over the whole location. */
  location(role: Rank): Right<'locationId'> {
    return {
      ...byToken,
      permits: ({ grants }, { locationId }) => permits(grants, role, { locationId }),
      find: ({ locationId }) => this.#model.requireLocation(locationId),
    };
  }

  /** The role over a part of the location; the answer is limited to that part. */
  partOf(role: Rank): Right<'locationId'> {
    return {
      ...this.location(role),
      permits: ({ grants }, { locationId }) => touchesLocation(grants, locationId, role),
    };
  }

  /** The administrator, for a location. */
  adminOfLocation(): Right<'locationId'> {
    return { ...this.location('manager'), permits: ({ grants }) => isAdmin(grants) };
  }

  /** The role over the device. */
  device(role: Rank): Right<'locationId' | 'deviceId'> {
    return { ...this.deviceUnseen(role), find: (ids) => this.#model.requireDevice(ids) };
  }

  /** The role over the device, which the handler looks up once it has checked what the body refers to. */
  deviceUnseen(role: Rank): Right<'locationId' | 'deviceId'> {
    return {
      ...byToken,
      permits: ({ grants }, ids) => {
        const device = this.#model.deviceIn(ids);
        if (device !== undefined) return this.#coversDevice(grants, role, device);
        return permits(grants, role, { locationId: ids.locationId });
      },
    };
  }

  /** The role over the room. */
  room(role: Rank): Right<'locationId' | 'roomId'> {
    return {
      ...byToken,
      permits: ({ grants }, ids) => this.#coversRoom(grants, role, ids),
      find: (ids) => this.#model.requireRoom(ids),
    };
  }

  /** Requires the role over a room that the body refers to, before it is looked up. @throws GatewayError `forbidden` */
  mustHaveRoom(caller: Caller, role: Rank, ids: Ids<'locationId' | 'roomId'>): void {
    caller.must(() => requirePermission(this.#coversRoom(caller.grants, role, ids)));
  }

  /** The role over the group. */
  group(role: Rank): Right<'locationId' | 'groupId'> {
    return { ...this.groupUnseen(role), find: (ids) => this.#model.requireGroup(ids) };
  }

  /** The role over the group, which the handler looks up once it has checked what the body refers to. */
  groupUnseen(role: Rank): Right<'locationId' | 'groupId'> {
    return { ...byToken, permits: ({ grants }, ids) => permits(grants, role, ids) };
  }

  /** The covered groups of a location, in the order of creation. */
  groupsOf({ grants }: Caller, locationId: string): Group[] {
    const covers = ({ id }: Group) => permits(grants, 'viewer', { locationId, groupId: id });
    return this.#model.groupsOf(locationId).filter(covers);
  }

  /** The covered rooms of a location, in the order of creation. */
  roomsOf({ grants }: Caller, locationId: string): Room[] {
    return this.#model.roomsOf(locationId).filter((room) => permits(grants, 'viewer', room));
  }

  /** The covered devices of a location, in the order of creation. */
  devicesOf({ grants }: Caller, locationId: string): Device[] {
    const covers = (device: Device) => this.#coversDevice(grants, 'viewer', device);
    return this.#model.devicesOf(locationId).filter(covers);
  }

  /** The ids of all covered devices by location: one pass, however many locations there are. */
  deviceIdsByLocation({ grants }: Caller): ReadonlyMap<string, string[]> {
    const covered = this.#model
      .devices()
      .filter((device) => this.#coversDevice(grants, 'viewer', device));
    const idsByLocation = new Map<string, string[]>();
    for (const { id, locationId } of covered) {
      const ids = idsByLocation.get(locationId);
      if (ids === undefined) idsByLocation.set(locationId, [id]);
      else ids.push(id);
    }
    return idsByLocation;
  }

  /** Whether the caller may see what a fault is about. */
  coversSubject({ grants }: Caller, { type, id }: FaultSubject): boolean {
    if (isAdmin(grants)) return true;
    if (type === 'location') return permits(grants, 'viewer', { locationId: id });
    const device = type === 'device' ? this.#model.device(id) : undefined;
    return device !== undefined && this.#coversDevice(grants, 'viewer', device);
  }

  /** Whether the grants give the role over the room; those on a group never over an unknown one. */
  #coversRoom(grants: readonly Grant[], role: Rank, ids: Ids<'locationId' | 'roomId'>): boolean {
    const { groupId } = this.#model.roomIn(ids) ?? {};
    return permits(grants, role, { locationId: ids.locationId, groupId });
  }

  /** Whether the grants give the role over the device in its present place. */
  #coversDevice(grants: readonly Grant[], role: Rank, { locationId, roomId }: Device): boolean {
    const room = roomId === null ? undefined : this.#model.room(roomId);
    return permits(grants, role, { locationId, groupId: room?.groupId ?? null });
  }
}
