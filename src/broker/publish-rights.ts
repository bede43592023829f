import type { Principal } from '../domain/grants.js';
import { touchesLocation } from '../domain/grants.js';
import type { PublishTarget } from '../domain/topics.js';

/**
 * Whether a topic is one of those on which the principal publishes at all. Whether a manager's grant
 * covers the device of a command is decided when the command comes.
 */
export function mayPublish(principal: Principal, target: PublishTarget): boolean {
  if (principal.type === 'device') {
    return (
      (target.type === 'alarm' || target.type === 'message' || target.type === 'unusable') &&
      target.deviceId === principal.id
    );
  }
  return target.type === 'command' && touchesLocation(principal.grants, target.locationId);
}
