import { KIND_WORDS, kindOf } from '../../../alarms/kinds.js';
import { useWords } from '../../../console-parts.js';
import { BOARD_WORDS } from '../board-words.js';
import type { OpenAlarm } from '../open-alarm.js';

/** Names an alarm in the current language: its kind and its room. */
export function useAlarmTitle(): (alarm: OpenAlarm) => string {
  const kinds = useWords(KIND_WORDS);
  const words = useWords(BOARD_WORDS);
  return ({ kind, room }) => `${nameOf(kind, kinds)}, ${room?.name ?? words.noRoom}`;
}

/** Names an alarm for someone who cannot see the board. */
export function useAnnouncement(): (alarm: OpenAlarm) => string {
  const titleOf = useAlarmTitle();
  return (alarm) => `${titleOf(alarm)}, ${alarm.device.name}`;
}

/** A kind that only a newer gateway knows is shown by its name there. */
function nameOf(kind: string, names: (typeof KIND_WORDS)['en']): string {
  const known = kindOf(kind);
  return known === undefined ? kind : names[known];
}
