import type { Alarm } from '../../api.js';
import type { ChangeAlarm } from '../board/alarm-changes.js';
import { AlarmActions } from '../board/alarms/alarm-actions.js';
import { alarmTitle } from '../board/alarms/alarm-title.js';
import type { DelayedResolves } from '../board/delayed-resolves.js';
import { alarmOfHistory } from '../board/open-alarm.js';

/** What acknowledges and resolves the alarms of a list. */
export interface ListChanges {
  readonly change: ChangeAlarm;
  readonly resolves: DelayedResolves;
}

interface OpenAlarmActionsProps {
  readonly alarm: Alarm;
  readonly locationId: string;
  readonly changes: ListChanges;
}

/** The buttons of an open alarm, as on the board. */
export function OpenAlarmActions({ alarm, locationId, changes }: OpenAlarmActionsProps) {
  if (alarm.state === 'resolved') return null;
  const open = alarmOfHistory(alarm, { id: locationId, name: '' });
  return (
    <AlarmActions
      alarm={open}
      title={alarmTitle(open)}
      change={changes.change}
      resolves={changes.resolves}
    />
  );
}
