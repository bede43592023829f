/** Reads new alarms out to screen readers, and shows the most urgent alarm as a line on other pages. */

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { t } from '../language.js';
import { hrefTo } from '../place.js';
import { alarmAnnouncement, andMore, type OpenAlarm } from './alarm.js';
import { openAlarms } from './open-alarms.js';
import { isOnPage, isWaiting } from './sound.js';

/** A screen reader that is constantly interrupted says nothing. */
const PAUSE_MS = 2_000;
/** This many are announced one by one; of more, only the number. */
const MAX_SAID = 3;

/** Announces new alarms to a screen reader, which would otherwise read the whole list again and again. */
export function Announcer() {
  const said = useAnnouncement();
  return (
    <div class="board-announcer visually-hidden" role="alert">
      {said !== undefined && (
        <p key={said.number}>
          {[
            ...said.alarms.map(
              (alarm) => `${t('New alarm', 'Neuer Alarm')}: ${alarmAnnouncement(alarm)}`,
            ),
            ...(said.more > 0 ? [andMore(said.more)] : []),
          ].join('. ')}
        </p>
      )}
    </div>
  );
}

/** New alarms to announce together. */
interface Announcement {
  /** Distinguishes two announcements with the same text. */
  readonly number: number;
  readonly alarms: readonly OpenAlarm[];
  readonly more: number;
}

const announced = signal<Announcement | undefined>(undefined);

/** Gathers new alarms: the first is said immediately, those of a burst together. */
function useAnnouncement(): Announcement | undefined {
  useEffect(() => {
    let waiting: OpenAlarm[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const say = () => {
      timer = undefined;
      if (waiting.length === 0) return;
      const number = (announced.peek()?.number ?? 0) + 1;
      const more = Math.max(0, waiting.length - MAX_SAID);
      announced.value = { number, alarms: waiting.slice(0, MAX_SAID), more };
      waiting = [];
      timer = setTimeout(say, PAUSE_MS);
    };
    const endListening = openAlarms.onNew((alarm) => {
      if (!isOnPage(alarm)) return;
      waiting.push(alarm);
      if (timer === undefined) say();
    });
    return () => {
      endListening();
      clearTimeout(timer);
      announced.value = undefined;
    };
  }, []);
  return announced.value;
}

/** For every page but the board: the alarms that wait for someone. */
export function WaitingLine() {
  const waiting = openAlarms.shown.value.filter(isWaiting);
  const [first] = waiting;
  return (
    <div class="waiting-alarms" role="alert">
      {first !== undefined && (
        <>
          {`${t('Open alarm', 'Offener Alarm')}: ${alarmAnnouncement(first)}`}
          {waiting.length > 1 && ` ${andMore(waiting.length - 1)}`}{' '}
          <a href={hrefTo('/')}>{t('To the board', 'Zur Tafel')}</a>
        </>
      )}
    </div>
  );
}
