import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { useConsole } from '../../console-parts.js';
import { t } from '../../language.js';
import { hrefTo } from '../../place.js';
import { urgencyOf } from './alarm-order.js';
import { alarmAnnouncement, andMore } from './alarms/alarm-title.js';
import { BoardFeed } from './board-feed.js';
import type { OpenAlarm } from './open-alarm.js';
import { AlarmSound } from './sound/alarm-sound.js';
import { Bell } from './sound/bell.js';
import { isWaiting, ringingFor } from './sound/ringing.js';

/** How often it checks whether an alarm has waited too long to sound. */
const TICK_MS = 60_000;

/** For every page but the board: shows and sounds the alarms that wait for someone. */
export function WaitingAlarms() {
  const { live } = useConsole();
  const nowMs = useSignal(live.clock.now());
  const [{ sound, bell, feed }] = useState(() => {
    const sound = new AlarmSound();
    const bell = new Bell(sound);
    const onNew = (alarm: OpenAlarm) => {
      const urgency = urgencyOf(alarm);
      if (urgency === 'urgent' || urgency === 'raised') bell.newAlarm(urgency);
    };
    return { sound, bell, feed: new BoardFeed({ live, onNew }) };
  });
  const waiting = useComputed(() =>
    feed.state.value.alarms.filter((alarm) => isWaiting(alarm, nowMs.value)),
  );
  useEffect(() => {
    const timer = setInterval(() => {
      nowMs.value = live.clock.now();
    }, TICK_MS);
    const ends = [sound.start(), feed.start(), () => bell.stop()];
    return () => {
      clearInterval(timer);
      for (const end of ends) end();
    };
  }, [live, nowMs, sound, bell, feed]);
  useSignalEffect(() => {
    bell.set(live.state.value === 'lost' ? 'lost' : ringingFor(waiting.value));
  });
  const [first] = waiting.value;
  return (
    <div class="waiting-alarms" role="alert">
      {first !== undefined && (
        <>
          {`${t('Open alarm', 'Offener Alarm')}: ${alarmAnnouncement(first)}`}
          {waiting.value.length > 1 && ` ${andMore(waiting.value.length - 1)}`}{' '}
          <a href={hrefTo('/')}>{t('To the board', 'Zur Tafel')}</a>
        </>
      )}
    </div>
  );
}
