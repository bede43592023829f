import type { Alarm } from '../../api.js';
import { AlarmActions } from '../../board/actions.js';
import { alarmOfHistory, alarmTitle, type Step, stepOfAnswer } from '../../board/alarm.js';

export type ListChanges = (step: Step) => void;

interface OpenAlarmActionsProps {
  readonly alarm: Alarm;
  readonly locationId: string;
  readonly changes: ListChanges;
}

/** The buttons of an open alarm, as on the board. */
export function OpenAlarmActions({ alarm, locationId, changes }: OpenAlarmActionsProps) {
  if (alarm.state === 'resolved') return null;
  const open = alarmOfHistory(alarm, { id: locationId, name: '' });
  const onStep = (states: Parameters<typeof stepOfAnswer>[1]) =>
    changes(stepOfAnswer(open.key, states));
  return <AlarmActions alarms={[open]} title={alarmTitle(open)} onStep={onStep} />;
}
