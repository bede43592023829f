import type { Cleanups } from './cleanups.js';
import type { Scale } from './scale.js';

/** One figure that a measure gives. */
export interface Metric {
  /** Its name in the JSON file. */
  readonly key: string;
  /** Its name in tables. */
  readonly title: string;
  readonly better: 'more' | 'less';
  readonly show: (value: number) => string;
}

/** What a trial found in one case: a figure for each metric, as far as there is one. */
export interface Outcome {
  readonly case: string;
  readonly values: Readonly<Record<string, number>>;
  /** What the figures do not say: that a contestant fell behind, or was given up. */
  readonly notes?: readonly string[];
}

/** One contestant, started fresh, measured, and stopped. */
export interface Trial {
  readonly contestant: string;
  /** Everything that it starts goes to the cleanups, which the caller runs. */
  run(cleanups: Cleanups): Promise<readonly Outcome[]>;
}

/** Something that is measured of several contestants by turns. */
export interface Measure {
  /** Its name for `--only` and in the JSON file. */
  readonly name: string;
  /** At most 66 characters: a chart has two columns. */
  readonly title: string;
  /** The first one is drawn in the chart. */
  readonly metrics: readonly Metric[];
  /** Left out: as many rounds as the run has. */
  readonly maxRounds?: number;
  /** The trials of one round, in the order in which they are run. */
  trials(scale: Scale): readonly Trial[];
}
