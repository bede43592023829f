import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { useConsole } from '../../console-parts.js';
import { urgencyOf } from './alarm-order.js';
import { Announcements } from './announcements.js';
import { BoardFeed } from './board-feed.js';
import type { DelayedResolves } from './delayed-resolves.js';
import type { OpenAlarm } from './open-alarm.js';
import { AlarmSound } from './sound/alarm-sound.js';
import { Bell } from './sound/bell.js';
import { isWaiting, ringingFor } from './sound/ringing.js';

/** The interval of the wall's clock. */
const TICK_MS = 2_000;

/** Everything behind the board, while it is shown. */
export function useBoard(resolves: DelayedResolves) {
  const { live } = useConsole();
  const chosenHomeId = useSignal<string | undefined>(undefined);
  const nowMs = useSignal(live.clock.now());
  const [{ sound, bell, announcements, feed }] = useState(() => {
    const sound = new AlarmSound();
    const bell = new Bell(sound);
    const announcements = new Announcements();
    const onNew = (alarm: OpenAlarm) => {
      nowMs.value = live.clock.now();
      if (homeId.peek() !== undefined && homeId.peek() !== alarm.location.id) return;
      announcements.add(alarm);
      const urgency = urgencyOf(alarm);
      if (urgency !== 'acknowledged') bell.newAlarm(urgency);
    };
    return { sound, bell, announcements, feed: new BoardFeed({ live, onNew }) };
  });
  // Once the chosen home is deleted, all homes are shown: the list to choose from may be gone.
  const homeId = useComputed(
    () => feed.state.value.locations.find(({ id }) => id === chosenHomeId.value)?.id,
  );
  // An empty or short list means nothing while alarms may be missing from it.
  const isKnown = useComputed(() => {
    const { isRead, failure } = feed.state.value;
    return live.state.value !== 'lost' && isRead && failure === undefined;
  });
  useEffect(() => {
    const timer = setInterval(() => {
      nowMs.value = live.clock.now();
    }, TICK_MS);
    const ends = [sound.start(), feed.start(), () => bell.stop(), () => announcements.stop()];
    return () => {
      clearInterval(timer);
      for (const end of ends) end();
    };
  }, [sound, bell, announcements, feed]);
  useSignalEffect(() => {
    const waiting = feed.state.value.alarms.filter(
      (alarm) =>
        isWaiting(alarm, nowMs.value) &&
        !resolves.states.value.has(alarm.key) &&
        (homeId.value === undefined || homeId.value === alarm.location.id),
    );
    bell.set(live.state.value === 'lost' ? 'lost' : ringingFor(waiting));
  });
  const chooseHome = (id: string | undefined) => {
    chosenHomeId.value = id;
  };
  return { feed, sound, announcements, homeId, chooseHome, isKnown, nowMs };
}
