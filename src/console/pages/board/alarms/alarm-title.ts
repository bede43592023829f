import { kindName, kindOf } from '../../../kinds.js';
import { t } from '../../../language.js';
import type { OpenAlarm } from '../open-alarm.js';

/** Names an alarm: its kind and its room. */
export function alarmTitle({ kind, room }: OpenAlarm): string {
  const known = kindOf(kind);
  // A kind that only a newer gateway knows is shown by its name there.
  const name = known === undefined ? kind : kindName(known);
  return `${name}, ${room?.name ?? t('No room', 'Kein Zimmer')}`;
}

/** Names an alarm for someone who cannot see the board. */
export function alarmAnnouncement(alarm: OpenAlarm): string {
  return `${alarmTitle(alarm)}, ${alarm.device.name}`;
}

/** How many more there are than those named. */
export function andMore(count: number): string {
  return t(`and ${count} more`, count === 1 ? 'und 1 weiterer' : `und ${count} weitere`);
}
