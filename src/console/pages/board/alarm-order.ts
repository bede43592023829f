import type { OpenAlarm } from './open-alarm.js';

/** How urgent an alarm is, the most urgent first. */
const URGENCIES = ['urgent', 'raised', 'test', 'acknowledged'] as const;
type Urgency = (typeof URGENCIES)[number];

/** Kinds in which a person lies on the floor or calls for help. */
export const URGENT_KINDS = ['fall', 'helpCall'] as const;

export function urgencyOf({ state, isTest, kind }: OpenAlarm): Urgency {
  if (state === 'acknowledged') return 'acknowledged';
  if (isTest) return 'test';
  return URGENT_KINDS.some((urgent) => urgent === kind) ? 'urgent' : 'raised';
}

/** Sorts the most urgent first, and among equals the newest. */
export function compareAlarms(one: OpenAlarm, other: OpenAlarm): number {
  return rankOf(one) - rankOf(other) || other.receivedAtMs - one.receivedAtMs;
}

function rankOf(alarm: OpenAlarm): number {
  return URGENCIES.indexOf(urgencyOf(alarm));
}
