import type { Context } from 'hono';
import { plainAddress } from '../domain/addresses.js';
import { isUuid } from '../domain/ids.js';
import type { Actor, AuditEntry, AuditSubject } from '../site/audit-trail.js';
import { checkAgain, type HttpEnv, pathOf } from './http-env.js';

/**
 * The actor of this request, as the audit trail names it; decided only here.
 *
 * Its change may wait for others, one of which may end its right: so this is checked again at the moment of the change.
 */
export function actorOf(c: Context<HttpEnv>): Actor {
  const precondition = () => checkAgain(c);
  const origin = { address: addressOf(c) ?? null, requestId: c.get('requestId'), precondition };
  const device = c.get('device');
  if (device !== undefined) return { type: 'device', id: device.id, ...origin };
  const id = c.get('caller')?.id ?? null;
  return { type: id === null ? 'anonymous' : 'access-token', id, ...origin };
}

/** The client's address; undefined when the connection has already ended. */
export function addressOf(c: Context<HttpEnv>): string | undefined {
  return plainAddress(c.env.incoming.socket.remoteAddress);
}

/** The caller, for the log: the principal, and the address of the connection. */
export function whoAsks(c: Context<HttpEnv>): { principal: string | undefined; address: string } {
  const principal = c.get('caller')?.id ?? c.get('device')?.id;
  return { principal, address: addressOf(c) ?? 'unknown' };
}

/** The subject of a denied request, by the ids in its path. */
export function subjectOf(c: Context<HttpEnv>): AuditSubject {
  const parts = pathOf(c).toLowerCase().split('/');
  const locationId = parts[1] === 'care-homes' ? parts[2] : undefined;
  return {
    locationId: locationId !== undefined && isUuid(locationId) ? locationId : null,
    resourceId: parts.findLast(isUuid) ?? null,
  };
}

/** Method and path of a denied request. */
export function requestDetails(c: Context<HttpEnv>): AuditEntry['details'] {
  return { method: c.req.method, path: pathOf(c) };
}
