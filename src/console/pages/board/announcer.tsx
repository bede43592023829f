import { t } from '../../language.js';
import { alarmAnnouncement, andMore } from './alarms/alarm-title.js';
import type { Announcements } from './announcements.js';

interface AnnouncerProps {
  readonly announcements: Announcements;
}

/** Announces new alarms to a screen reader, which would otherwise read the whole list again and again. */
export function Announcer({ announcements }: AnnouncerProps) {
  const announcement = announcements.current.value;
  return (
    <div class="board-announcer visually-hidden" role="alert">
      {announcement !== undefined && (
        <p key={announcement.number}>
          {[
            ...announcement.alarms.map(
              (alarm) => `${t('New alarm', 'Neuer Alarm')}: ${alarmAnnouncement(alarm)}`,
            ),
            ...(announcement.more > 0 ? [andMore(announcement.more)] : []),
          ].join('. ')}
        </p>
      )}
    </div>
  );
}
