import { useWords } from '../../console-parts.js';
import { useAnnouncement } from './alarms/alarm-title.js';
import type { Announcements } from './announcements.js';
import { BOARD_WORDS } from './board-words.js';

interface AnnouncerProps {
  readonly announcements: Announcements;
}

/** Says new alarms to a screen reader; the list itself would be said over and over. */
export function Announcer({ announcements }: AnnouncerProps) {
  const words = useWords(BOARD_WORDS);
  const textOf = useAnnouncement();
  const announcement = announcements.current.value;
  return (
    <div class="board-announcer visually-hidden" role="alert">
      {announcement !== undefined && (
        <p key={announcement.number}>
          {[
            ...announcement.alarms.map((alarm) => `${words.newAlarm}: ${textOf(alarm)}`),
            ...(announcement.more > 0 ? [words.andMore(announcement.more)] : []),
          ].join('. ')}
        </p>
      )}
    </div>
  );
}
