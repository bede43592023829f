import { useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf } from '../../api/failure.js';
import type { LocationAlarm } from '../../api/generated.js';
import { alarmKey, type StateChange } from '../board/open-alarm.js';
import { type ReadAlarm, readPages } from './alarm-pages.js';
import type { AlarmSearch } from './history-search.js';

/** How many alarms one click brings at least, while there are as many. */
const WANTED_PER_CLICK = 100;
/** How many answers one click reads at most: a room may have been calm for weeks. */
const MAX_PAGES_PER_CLICK = 20;
/** How many rows are shown: a browser with thousands is slow. */
export const MAX_ROWS = 300;

interface ListState {
  readonly alarms: readonly ReadAlarm[];
  /** Where it goes on; null at the end, undefined before the first page. */
  readonly nextCursor: string | null | undefined;
  readonly isPending: boolean;
  readonly failure: Failure | undefined;
  readonly pagesRead: number;
  readonly alarmsRead: number;
  /** Whether newer rows made room for older ones. */
  readonly isCut: boolean;
}

export interface AlarmList extends ListState {
  /** Reads on from where it is. */
  readonly more: () => void;
  /** Begins anew, with the newest. */
  readonly again: () => void;
  /** Takes a state that the gateway has answered with. */
  readonly changed: (change: StateChange) => void;
}

const NOTHING: ListState = {
  alarms: [],
  nextCursor: undefined,
  isPending: true,
  failure: undefined,
  pagesRead: 0,
  alarmsRead: 0,
  isCut: false,
};

/** The alarms of a search as rows, read as far as asked for. */
export function useAlarmList(search: AlarmSearch): AlarmList {
  const [state, setState] = useState(NOTHING);
  const stopping = useRef<AbortController | undefined>(undefined);
  const readOn = async (start: ListState) => {
    stopping.current?.abort();
    const controller = new AbortController();
    stopping.current = controller;
    const { signal } = controller;
    setState({ ...start, isPending: true, failure: undefined });
    try {
      let wanted = WANTED_PER_CLICK;
      let pages = 0;
      for await (const page of readPages(search, start.nextCursor ?? undefined, signal)) {
        wanted -= page.found.length;
        pages += 1;
        const isPending = wanted > 0 && pages < MAX_PAGES_PER_CLICK && page.nextCursor !== null;
        setState((before) => ({
          alarms: [...before.alarms, ...page.found].slice(-MAX_ROWS),
          nextCursor: page.nextCursor,
          isPending,
          failure: undefined,
          pagesRead: before.pagesRead + 1,
          alarmsRead: before.alarmsRead + page.readCount,
          isCut: before.isCut || before.alarms.length + page.found.length > MAX_ROWS,
        }));
        if (!isPending) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      setState((before) => ({ ...before, isPending: false, failure: failureOf(error) }));
    }
  };
  useEffect(() => {
    void readOn(NOTHING);
    return () => stopping.current?.abort();
  }, [JSON.stringify(search)]);
  const changed = (change: StateChange) =>
    setState((before) => ({
      ...before,
      alarms: before.alarms.map((read) => ({ ...read, alarm: withChange(read.alarm, change) })),
    }));
  return {
    ...state,
    more: () => void readOn(state),
    again: () => void readOn(NOTHING),
    changed,
  };
}

function withChange(
  alarm: LocationAlarm,
  { key, state, by, at, note }: StateChange,
): LocationAlarm {
  if (alarmKey(alarm.deviceId, alarm.id) !== key) return alarm;
  const author = { id: '', name: by };
  const step =
    state === 'resolved'
      ? { resolvedBy: author, resolvedAt: at }
      : { acknowledgedBy: author, acknowledgedAt: at };
  return { ...alarm, ...step, state, note: note ?? alarm.note };
}
