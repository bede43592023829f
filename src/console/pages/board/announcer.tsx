import { useWords } from '../../console-parts.js';
import { useAnnouncement } from './alarms/alarm-title.js';
import type { Announcements } from './announcements.js';
import { BOARD_WORDS } from './board-words.js';

interface AnnouncerProps {
  readonly announcements: Announcements;
}

/** Announces new alarms to a screen reader, which would otherwise read the whole list again and again. */
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
