import { times } from '../report.js';
import { AEDES, AEDES_REDIS } from './contestants/aedes.js';
import { ENRICHER } from './contestants/enricher.js';
import { GATEWAY } from './contestants/gateway.js';
import { MOSQUITTO } from './contestants/mosquitto.js';
import type { Measure } from './measure.js';
import { BRIDGE, BRIDGE_CASE } from './measures/bridge.js';
import { DRAIN, caseOf as drainCase } from './measures/drain.js';
import { HISTORY, caseOf as historyCase } from './measures/history.js';
import { IDLE_CASE, IDLE_MEMORY } from './measures/idle-memory.js';
import { BARE_SET, LATENCY, caseOf as latencyCase } from './measures/latency.js';
import { LOADED_CASE, PAGES_UNDER_LOAD } from './measures/pages-under-load.js';
import { IMPATIENT, PATIENT, RECONNECT, caseOf as reconnectCase } from './measures/reconnect.js';
import { FIVE_DURABLE, ONE_DURABLE, SUSTAINED } from './measures/sustained.js';
import { QOS_0, QOS_1, TELEMETRY } from './measures/telemetry.js';
import { medianOf, type Results } from './results.js';
import type { Scale } from './scale.js';
import { bytes, count, duration } from './show.js';

/** A figure that the gateway should reach. */
export interface Goal {
  readonly text: string;
  readonly measure: Measure;
  readonly bound: number;
  readonly kind: 'at least' | 'at most';
  readonly show: (figure: number) => string;
  /** NaN when a figure that the goal needs was not measured. */
  figure(results: Results): number;
}

interface At {
  readonly case: string;
  /** Omitted: the gateway. */
  readonly contestant?: string;
}

/** All goals; goals about sizes use the largest size of the run. */
export function goals(scale: Scale): readonly Goal[] {
  const devices = Math.max(...scale.reconnecting);
  const [smallest, largest] = [Math.min(...scale.historySizes), Math.max(...scale.historySizes)];
  const rates = of(SUSTAINED, 'perSecond');
  const p99 = of(LATENCY, 'p99Ms');
  const telemetry = of(TELEMETRY, 'perSecond');
  const drained = of(DRAIN, 'perSecond');
  const back = of(RECONNECT, 'durationMs');
  const page = of(HISTORY, 'pageP50Ms');
  return [
    rates.ratio('at least', 0.75, { case: ONE_DURABLE.name }, beside(AEDES)),
    rates.ratio('at least', 3, { case: ONE_DURABLE.name }, beside(AEDES_REDIS)),
    rates.ratio('at least', 4, { case: ONE_DURABLE.name }, beside(ENRICHER)),
    rates.ratio('at least', 0.5, { case: FIVE_DURABLE.name }, beside(AEDES)),
    p99.ratio('at most', 2.5, { case: latencyCase(1_000) }, beside({ name: BARE_SET })),
    p99.ratio('at most', 4, { case: latencyCase(3_000) }, beside({ name: BARE_SET })),
    telemetry.ratio('at least', 0.85, { case: QOS_0.name }, beside(AEDES)),
    telemetry.ratio('at least', 0.75, { case: QOS_1.name }, beside(AEDES)),
    drained.itself('at least', 40_000, { case: drainCase(50_000) }, count),
    drained.ratio('at least', 0.9, { case: drainCase(200_000) }, { case: drainCase(50_000) }),
    back.ratio('at most', 2, { case: reconnectCase(devices, IMPATIENT) }, beside(AEDES)),
    back.ratio('at most', 2, { case: reconnectCase(devices, PATIENT) }, beside(AEDES)),
    of(IDLE_MEMORY, 'bytesEach').ratio('at most', 1.3, { case: IDLE_CASE }, beside(AEDES)),
    of(HISTORY, 'bytesEach').itself('at most', 300, { case: historyCase(largest) }, bytes),
    page.ratio('at most', 1.2, { case: historyCase(largest) }, { case: historyCase(smallest) }),
    of(PAGES_UNDER_LOAD, 'p99Ms').itself('at most', 50, { case: LOADED_CASE }, duration),
    of(BRIDGE, 'perSecond').ratio('at least', 0.7, { case: BRIDGE_CASE }, beside(MOSQUITTO)),
  ];
}

function beside({ name }: { readonly name: string }): { readonly contestant: string } {
  return { contestant: name };
}

/** Goals about one metric of a measure. */
function of(measure: Measure, metric: string) {
  const title = measure.metrics.find(({ key }) => key === metric)?.title ?? metric;
  const subject = (at: At) => `${measure.name}, ${at.case}: ${title}`;
  const median = (results: Results, { case: name, contestant = GATEWAY.name }: At) =>
    medianOf(results, measure, { case: name, contestant, metric }) ?? Number.NaN;
  return {
    /** @param other how the second differs from the first: in the contestant or in the case */
    ratio(kind: Goal['kind'], bound: number, at: At, other: Partial<At>): Goal {
      const than = other.contestant ?? other.case ?? '';
      return {
        measure,
        bound,
        kind,
        show: times,
        text: `${subject(at)} ${kind} ${times(bound)} of ${than}`,
        figure: (results) => median(results, at) / median(results, { ...at, ...other }),
      };
    },
    itself(kind: Goal['kind'], bound: number, at: At, show: Goal['show']): Goal {
      return {
        measure,
        bound,
        kind,
        show,
        text: `${subject(at)} ${kind} ${show(bound)}`,
        figure: (results) => median(results, at),
      };
    },
  };
}

export interface Verdict {
  readonly text: string;
  readonly figure: string | null;
  /** Null: not measured. */
  readonly isMet: boolean | null;
}

/** Judges the goals about the measures of the run. */
export function verdicts(results: Results, scale: Scale): readonly Verdict[] {
  return goals(scale)
    .filter(({ measure }) => results.has(measure))
    .map((goal) => {
      const { text, kind, bound, show } = goal;
      const figure = goal.figure(results);
      if (Number.isNaN(figure)) return { text, figure: null, isMet: null };
      const isMet = kind === 'at least' ? figure >= bound : figure <= bound;
      return { text, figure: show(figure), isMet };
    });
}
