import type { AlarmState } from '../../api.js';
import { t } from '../../language.js';

export const readingText = () => t('Reading the history …', 'Der Verlauf wird gelesen …');

export const noAlarmsText = () => t('No alarms in this time.', 'Keine Alarme in diesem Zeitraum.');

export const stateNames = () => ({
  raised: t('Raised', 'Ausgelöst'),
  acknowledged: t('Acknowledged', 'Quittiert'),
  resolved: t('Resolved', 'Erledigt'),
});

/** In the order in which an alarm goes through them. */
export const ALARM_STATES: readonly AlarmState[] = ['raised', 'acknowledged', 'resolved'];
