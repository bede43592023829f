/** Composes and parses every topic of contract 3. */

import { ALARM_KINDS, type AlarmKind } from './alarm.js';
import { isUuid } from './ids.js';

/** The prefix of shared subscriptions. */
export const SHARE_PREFIX = '$share/';
/** The level on which responders publish states of alarms, and under which they are forwarded. */
export const ALARM_STATES_LEVEL = 'alarm-states';
/** First topic level under `devices/<id>/` on which a device must not publish by itself. */
const RESERVED = new Set([
  'status',
  'rejected',
  'commands',
  ALARM_STATES_LEVEL,
  'supervision',
  'escalations',
]);
const MAX_MESSAGE_LEVELS = 6;
/**
 * Characters for which a receiver may close the connection [MQTT-1.5.3]; Mosquitto's clients do.
 */
const UNSAFE = /[\p{Cc}\p{Noncharacter_Code_Point}]/u;

/** Whether a receiver can be expected to accept the topic. */
export function isSafeTopic(topic: string): boolean {
  return !UNSAFE.test(topic);
}

export const GATEWAY_STATUS_TOPIC = 'gateway/status';
/** Prefix of every topic about a bridge. */
export const BRIDGE_TOPICS = 'gateway/bridges/';

/** The topic of a bridge's retained status. */
export function bridgeStatusTopic(name: string): string {
  return `${BRIDGE_TOPICS}${name}/status`;
}

export function deviceTopic(deviceId: string, rest: string): string {
  return `devices/${deviceId}/${rest}`;
}

/** The topic under which subscribers receive a device's message. */
export function forwardedTopic(locationId: string, deviceId: string, rest: string): string {
  return `care-homes/${locationId}/devices/${deviceId}/${rest}`;
}

/** Parses a forwarded topic; undefined for other topics. */
export function parseForwardedTopic(
  topic: string,
): { readonly locationId: string; readonly deviceId: string } | undefined {
  const [first, locationId, third, deviceId] = topic.split('/');
  if (first !== 'care-homes' || third !== 'devices') return undefined;
  return locationId === undefined || deviceId === undefined ? undefined : { locationId, deviceId };
}

/** Whether a forwarded topic is that of an alarm. */
export function isAlarmTopic(topic: string): boolean {
  const [first, , third, , level] = topic.split('/');
  return first === 'care-homes' && third === 'devices' && level === 'alarms';
}

/** The device of a command's topic, in the form that the device receives; undefined for other topics. */
export function parseCommandTopic(topic: string): string | undefined {
  const [first, deviceId, third] = topic.split('/');
  return first === 'devices' && third === 'commands' ? deviceId : undefined;
}

/** A shared subscription: each message goes to one member of the group. */
export interface SharedFilter {
  readonly group: string;
  readonly filter: string;
}

/**
 * Parses `$share/<group>/<filter>` (MQTT 5, 4.8.2).
 *
 * @returns undefined for any other filter, and if the group or filter is missing, or the group has wildcards
 */
export function parseSharedFilter(filter: string): SharedFilter | undefined {
  const [, group, shared] = /^\$share\/([^/+#]+)\/(.+)$/s.exec(filter) ?? [];
  return group === undefined || shared === undefined ? undefined : { group, filter: shared };
}

/** Writes the ids of location and device in a filter in lower case (RFC 9562, 4). */
export function withLowerCaseIds(filter: string): string {
  const shared = parseSharedFilter(filter);
  if (shared !== undefined) {
    return `${SHARE_PREFIX}${shared.group}/${withLowerCaseIds(shared.filter)}`;
  }
  const levels = filter.split('/');
  const isId = (index: number) => index === 1 || (index === 3 && levels[0] !== 'devices');
  return levels
    .map((level, index) => (isId(index) && isUuid(level) ? level.toLowerCase() : level))
    .join('/');
}

/** The meaning of a topic under `devices/<deviceId>/`. */
export type DeviceTarget =
  | {
      readonly type: 'alarm';
      readonly deviceId: string;
      /** Undefined: the payload has it. */
      readonly kind: AlarmKind | undefined;
    }
  | { readonly type: 'message'; readonly deviceId: string; readonly rest: string }
  | {
      readonly type: 'unusable';
      readonly deviceId: string;
      readonly reason: 'reserved-topic' | 'invalid-topic' | 'not-permitted';
      /** Whether it is meant as an alarm, but of an unknown kind. */
      readonly isAlarm: boolean;
    };

/** The meaning of a topic that a client publishes to. */
export type PublishTarget =
  | DeviceTarget
  | {
      readonly type: 'command';
      readonly locationId: string;
      readonly deviceId: string;
      readonly rest: string;
    }
  | { readonly type: 'alarm-state'; readonly locationId: string; readonly deviceId: string }
  | { readonly type: 'unknown' };

const KINDS_BY_REST: ReadonlyMap<string, AlarmKind | undefined> = new Map([
  ['alarms', undefined],
  ...ALARM_KINDS.map((kind) => [`alarms/${kind}`, kind] as const),
]);

/** Parses the topic of a PUBLISH. */
export function parsePublishTopic(topic: string): PublishTarget {
  const levels = topic.split('/');
  const [first, second = '', third = '', fourth = '', fifth] = levels;
  if (first === 'devices' && levels.length >= 3) {
    return devicePublish(second.toLowerCase(), levels.slice(2));
  }
  if (first !== 'care-homes' || third !== 'devices') return { type: 'unknown' };
  const [locationId, deviceId] = [second.toLowerCase(), fourth.toLowerCase()];
  if (fifth === ALARM_STATES_LEVEL && levels.length === 5) {
    return { type: 'alarm-state', locationId, deviceId };
  }
  if (fifth === 'commands' && levels.length >= 6) {
    const rest = levels.slice(5).join('/');
    if (!isSafeTopic(rest)) return { type: 'unknown' };
    return { type: 'command', locationId, deviceId, rest };
  }
  return { type: 'unknown' };
}

function devicePublish(deviceId: string, levels: readonly string[]): DeviceTarget {
  const rest = levels.join('/');
  if (KINDS_BY_REST.has(rest)) return { type: 'alarm', deviceId, kind: KINDS_BY_REST.get(rest) };
  const [first = ''] = levels;
  const isAlarm = first === 'alarms';
  // Under `alarms/` the subscribers see the alarm kinds: a plain message must not pass for an alarm.
  if (RESERVED.has(first) || isAlarm) {
    return { type: 'unusable', deviceId, reason: 'reserved-topic', isAlarm };
  }
  if (levels.length > MAX_MESSAGE_LEVELS || levels.includes('') || !isSafeTopic(rest)) {
    return { type: 'unusable', deviceId, reason: 'invalid-topic', isAlarm };
  }
  return { type: 'message', deviceId, rest };
}

/** Whether the text is a well-formed topic filter [MQTT-4.7.1-2], [MQTT-4.7.1-3], [MQTT-4.7.3-1]. */
export function isFilter(filter: string): boolean {
  if (filter === '' || filter.includes('\u0000')) return false;
  const levels = filter.split('/');
  return levels.every((level, index) => {
    if (level.includes('#')) return level === '#' && index === levels.length - 1;
    return !level.includes('+') || level === '+';
  });
}
