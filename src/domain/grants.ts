/** Decides every permission of HTTP and of MQTT (contract 2 and 3). */

import {
  BRIDGE_TOPICS,
  deviceTopic,
  GATEWAY_STATUS_TOPIC,
  isFilter,
  type PublishTarget,
} from './topics.js';

/** Each may do everything that the ranks before it may do. */
const RANKS = ['viewer', 'responder', 'manager', 'admin'] as const;
export type Rank = (typeof RANKS)[number];
/** A publisher publishes for devices, and may do nothing else. */
export const ROLES = [...RANKS, 'publisher'] as const;
export type Role = (typeof ROLES)[number];

/** A role over one location (`location`), one of its groups (`group`), or everything (`*`). */
export interface Grant {
  readonly location: string;
  readonly group?: string | undefined;
  readonly role: Role;
}

/** The owner of a credential. */
export type Principal =
  | { readonly type: 'device'; readonly id: string }
  | { readonly type: 'token'; readonly id: string; readonly grants: readonly Grant[] };

/** The scope of a permission: a location as a whole, or one of its groups. */
export interface Scope {
  readonly locationId: string;
  readonly groupId?: string | null | undefined;
}

/** Whether one of the grants gives at least this role over the scope. */
export function permits(grants: readonly Grant[], role: Rank, scope: Scope): boolean {
  return grants.some((grant) => hasRank(grant, role) && covers(grant, scope));
}

/** Whether one of the grants lets its holder publish for the devices in the scope. */
export function permitsPublishing(grants: readonly Grant[], scope: Scope): boolean {
  return grants.some((grant) => grant.role === 'publisher' && covers(grant, scope));
}

function hasRank(grant: Grant, role: Rank): boolean {
  return grant.role !== 'publisher' && RANKS.indexOf(grant.role) >= RANKS.indexOf(role);
}

function covers(grant: Grant, { locationId, groupId }: Scope): boolean {
  return (
    (grant.location === '*' || grant.location === locationId) &&
    (grant.group === undefined || grant.group === groupId)
  );
}

/**
 * The groups of a location over which the grants give the role.
 *
 * Undefined when they give it over the whole location.
 */
export function permittedGroups(
  grants: readonly Grant[],
  role: Rank,
  locationId: string,
): readonly string[] | undefined {
  if (permits(grants, role, { locationId })) return undefined;
  const groupIds = grants.flatMap(({ group }) => group ?? []);
  return [...new Set(groupIds)].filter((groupId) => permits(grants, role, { locationId, groupId }));
}

/** Whether the grants give the role over any part of the location. */
export function touchesLocation(
  grants: readonly Grant[],
  locationId: string,
  role: Rank = 'viewer',
): boolean {
  return grants.some(
    (grant) => hasRank(grant, role) && (grant.location === '*' || grant.location === locationId),
  );
}

/** Whether the grants make their holder the administrator of the whole gateway. */
export function isAdmin(grants: readonly Grant[]): boolean {
  return grants.some((grant) => grant.location === '*' && grant.role === 'admin');
}

/** Identifies the principal across restarts: the owner of a session. */
export function principalKey(principal: Principal): string {
  return `${principal.type}:${principal.id}`;
}

/** Whether the principal may subscribe to the filter (contract 3, Subscribing). */
export function maySubscribe(principal: Principal, filter: string): boolean {
  if (!isFilter(filter)) return false;
  if (principal.type === 'device') {
    const commands = deviceTopic(principal.id, 'commands');
    return filter === deviceTopic(principal.id, 'rejected') || filter.startsWith(`${commands}/`);
  }
  if (filter.startsWith('$')) return filter.startsWith(BROKER_TOPICS);
  if (filter === GATEWAY_STATUS_TOPIC) {
    return principal.grants.some(({ role }) => role !== 'publisher');
  }
  // The status of a bridge is for the administrator, as over HTTP.
  if (filter.startsWith(BRIDGE_TOPICS)) return isAdmin(principal.grants);
  const [first = '', location = ''] = filter.split('/');
  // `mayReceive` decides for each message, so an integrator need not know an id first.
  if (first === '#' || filter === '+' || isWildcard(location)) return true;
  if (first !== 'care-homes' && first !== '+') return false;
  return location !== '' && touchesLocation(principal.grants, location);
}

/** Other brokers publish about themselves there; clients subscribe to it unprompted. */
const BROKER_TOPICS = '$SYS/';

function isWildcard(level: string): boolean {
  return level === '+' || level === '#';
}

/**
 * Whether the principal may publish to the topic.
 *
 * A later check, when a state arrives, decides whether the responder's grant covers its alarm.
 *
 * @param place where the device of the topic is; undefined: there is no such device
 */
export function mayPublish(
  principal: Principal,
  target: PublishTarget,
  place: Scope | undefined,
): boolean {
  if (target.type === 'unknown') return false;
  if (principal.type === 'device') {
    const isOwnTopic = target.type !== 'alarm-state' && target.type !== 'command';
    return isOwnTopic && target.deviceId === principal.id;
  }
  const { grants } = principal;
  if (target.type === 'alarm-state') return touchesLocation(grants, target.locationId, 'responder');
  if (target.type !== 'command') return place !== undefined && permitsPublishing(grants, place);
  return permits(grants, 'manager', { locationId: target.locationId, groupId: place?.groupId });
}

/** Topic, location and group of a message; they decide who may see it. */
export interface Audience {
  readonly topic: string;
  /** Null: about no location. */
  readonly locationId: string | null;
  readonly groupId: string | null;
}

/**
 * Whether the principal may see a message that matches its filters.
 *
 * A grant on a group lets its holder subscribe to the location, but see only what concerns the
 * group's devices.
 */
export function mayReceive(principal: Principal, audience: Audience): boolean {
  if (principal.type === 'device') return true;
  if (audience.locationId === null) return maySubscribe(principal, audience.topic);
  return permits(principal.grants, 'viewer', {
    locationId: audience.locationId,
    groupId: audience.groupId,
  });
}

/** `mayReceive` for one principal. */
export function receiverRule(principal: Principal): (audience: Audience) => boolean {
  if (principal.type === 'device') return always;
  return (audience) => mayReceive(principal, audience);
}

/** One for all devices, because there are many. */
const always = () => true;
