import type { Principal } from '../domain/grants.js';
import { touchesLocation } from '../domain/grants.js';
import { parsePublishTopic } from '../domain/topics.js';

/**
 * Whether a topic is one of those on which the principal publishes at all. Whether a manager's grant
 * covers the device of a command is decided when the command comes.
 */
export function mayPublish(principal: Principal, topic: string): boolean {
  const target = parsePublishTopic(topic);
  if (principal.type === 'device') {
    return (
      (target.type === 'alarm' || target.type === 'message' || target.type === 'unusable') &&
      target.deviceId === principal.id
    );
  }
  return target.type === 'command' && touchesLocation(principal.grants, target.locationId);
}

/**
 * Whether the principal may leave a will there: devices on their own topics only. A will is published
 * when nobody looks any more whether the token of a manager may still command.
 */
export function mayLeaveWill(principal: Principal, topic: string): boolean {
  return principal.type === 'device' && mayPublish(principal, topic);
}
