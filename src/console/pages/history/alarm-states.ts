import type { AlarmState } from '../../api/generated.js';

/** In the order in which an alarm has them. */
export const ALARM_STATES: readonly AlarmState[] = ['raised', 'acknowledged', 'resolved'];
