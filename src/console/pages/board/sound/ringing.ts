import { urgencyOf } from '../alarm-order.js';
import type { OpenAlarm } from '../open-alarm.js';
import type { Ringing } from './bell.js';

/** How long an alarm sounds. After an hour, more sound helps nobody. */
const SOUNDS_FOR_MS = 60 * 60 * 1000;

/** Whether an alarm is unacknowledged, and recent enough to sound. */
export function isWaiting(alarm: OpenAlarm, nowMs: number): boolean {
  const urgency = urgencyOf(alarm);
  const isRaised = urgency === 'urgent' || urgency === 'raised';
  return isRaised && nowMs - alarm.knownAtMs < SOUNDS_FOR_MS;
}

/** The sound for the most urgent of the waiting alarms. */
export function ringingFor(waiting: readonly OpenAlarm[]): Ringing {
  if (waiting.length === 0) return 'nothing';
  return waiting.some((alarm) => urgencyOf(alarm) === 'urgent') ? 'urgent' : 'raised';
}
