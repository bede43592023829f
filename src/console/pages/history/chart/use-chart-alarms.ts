import { useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf } from '../../../api/failure.js';
import type { LocationAlarm } from '../../../api/generated.js';
import { readPages } from '../alarm-pages.js';
import type { AlarmSearch } from '../history-search.js';

/** The most alarms that are read for a chart: fifty answers of the gateway. */
export const MAX_CHART_ALARMS = 5_000;

type End = 'complete' | 'more' | 'cancelled' | 'failed';

interface ChartState {
  readonly alarms: readonly LocationAlarm[];
  readonly alarmsRead: number;
  /** Detection of the oldest alarm that was read. */
  readonly oldestMs: number | undefined;
  /** Undefined while they are read. */
  readonly end: End | undefined;
  readonly failure: Failure | undefined;
}

export interface ChartAlarms extends ChartState {
  readonly cancel: () => void;
  readonly again: () => void;
}

const NOTHING: ChartState = {
  alarms: [],
  alarmsRead: 0,
  oldestMs: undefined,
  end: undefined,
  failure: undefined,
};

/** Reads the newest alarms of a search for a chart. */
export function useChartAlarms(search: AlarmSearch): ChartAlarms {
  const [state, setState] = useState(NOTHING);
  const stopping = useRef<AbortController | undefined>(undefined);
  const read = async () => {
    stopping.current?.abort();
    const controller = new AbortController();
    stopping.current = controller;
    const isNewest = () => stopping.current === controller;
    setState(NOTHING);
    const alarms: LocationAlarm[] = [];
    let alarmsRead = 0;
    let oldestMs: number | undefined;
    const show = (end?: End, failure?: Failure) => {
      if (isNewest()) setState({ alarms, alarmsRead, oldestMs, end, failure });
    };
    try {
      for await (const page of readPages(search, controller.signal)) {
        alarms.push(...page.alarms);
        alarmsRead += page.alarms.length;
        oldestMs = page.oldestMs ?? oldestMs;
        if (page.nextCursor === null) return show('complete');
        if (alarmsRead >= MAX_CHART_ALARMS) return show('more');
        show();
      }
    } catch (error) {
      if (controller.signal.aborted) show('cancelled');
      else show('failed', failureOf(error));
    }
  };
  useEffect(() => {
    void read();
    return () => {
      const unneeded = stopping.current;
      stopping.current = undefined;
      unneeded?.abort();
    };
  }, [JSON.stringify(search)]);
  return { ...state, cancel: () => stopping.current?.abort(), again: () => void read() };
}
