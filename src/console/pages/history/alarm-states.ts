import type { AlarmState } from '../../api/generated.js';

/** In the order in which an alarm goes through them. */
export const ALARM_STATES: readonly AlarmState[] = ['raised', 'acknowledged', 'resolved'];
