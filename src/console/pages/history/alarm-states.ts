import type { AlarmState } from '../../api.js';

/** In the order in which an alarm goes through them. */
export const ALARM_STATES: readonly AlarmState[] = ['raised', 'acknowledged', 'resolved'];
