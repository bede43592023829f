import { useEffect, useRef, useState } from 'preact/hooks';
import { alarmOfMessage, type Step, stepOfMessage } from '../../board/alarm.js';
import { useConsole } from '../../console-parts.js';
import { type Failure, failureOf } from '../../request.js';
import { type HistoryAlarm, readPage } from './alarm-pages.js';
import { type AlarmSearch, isFound } from './history-search.js';

/** How many rows to show: a browser is slow with thousands. */
export const MAX_ROWS = 300;

interface ListState {
  readonly alarms: readonly HistoryAlarm[];
  /** Where to continue; null at the end, undefined before the first page. */
  readonly nextCursor: string | null | undefined;
  readonly isPending: boolean;
  readonly failure: Failure | undefined;
  /** Whether newer rows made room for older ones. */
  readonly isCut: boolean;
  /** Whether the gateway has received matching alarms since the newest were read. */
  readonly isOutdated: boolean;
}

export interface AlarmList extends ListState {
  /** Reads the next page. */
  readonly more: () => void;
  /** Starts again with the newest. */
  readonly again: () => void;
  /** Takes a state from the gateway's answer. */
  readonly changed: (change: Step) => void;
}

const NOTHING: ListState = {
  alarms: [],
  nextCursor: undefined,
  isPending: true,
  failure: undefined,
  isCut: false,
  isOutdated: false,
};

/** The alarms of a search as rows, read as far as asked for. Their states are live. */
export function useAlarmList(search: AlarmSearch): AlarmList {
  const { live } = useConsole();
  const [state, setState] = useState(NOTHING);
  const stopping = useRef<AbortController | undefined>(undefined);
  const readOn = async (start: ListState) => {
    stopping.current?.abort();
    const controller = new AbortController();
    stopping.current = controller;
    const { signal } = controller;
    setState({ ...start, isPending: true, failure: undefined });
    try {
      const page = await readPage(search, start.nextCursor ?? undefined, signal);
      setState((before) => {
        const alarms = before.alarms.concat(page.alarms);
        return {
          ...before,
          alarms: alarms.slice(-MAX_ROWS),
          nextCursor: page.nextCursor,
          isPending: false,
          isCut: before.isCut || alarms.length > MAX_ROWS,
        };
      });
    } catch (error) {
      if (signal.aborted) return;
      setState((before) => ({ ...before, isPending: false, failure: failureOf(error) }));
    }
  };
  const changed = (change: Step) =>
    setState((before) => ({
      ...before,
      alarms: before.alarms.map((alarm) => withChange(alarm, change)),
    }));
  const outdate = () => setState((before) => ({ ...before, isOutdated: true }));
  useEffect(() => {
    const endListening = live.listen({
      message: (message) => {
        const change = stepOfMessage(message);
        if (change !== undefined) changed(change);
        const alarm = alarmOfMessage(message, live.clock.now());
        if (alarm?.isRecorded && isFound(search, alarm)) outdate();
      },
      missed: outdate,
    });
    void readOn(NOTHING);
    return () => {
      endListening();
      stopping.current?.abort();
    };
  }, [JSON.stringify(search)]);
  return {
    ...state,
    more: () => void readOn(state),
    again: () => void readOn(NOTHING),
    changed,
  };
}

function withChange(alarm: HistoryAlarm, { key, state, by, at, note }: Step): HistoryAlarm {
  if (`${alarm.deviceId}/${alarm.id}` !== key) return alarm;
  const author = { id: '', name: by };
  const step =
    state === 'resolved'
      ? { resolvedBy: author, resolvedAt: at }
      : { acknowledgedBy: author, acknowledgedAt: at };
  return { ...alarm, ...step, state, note: note ?? alarm.note };
}
