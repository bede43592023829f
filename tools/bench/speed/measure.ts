import type { Cleanups } from './cleanups.js';
import type { Scale } from './scale.js';

/** A figure that a measure gives. */
export interface Metric {
  /** The name in the JSON file. */
  readonly key: string;
  /** The name in tables. */
  readonly title: string;
  readonly better: 'more' | 'less';
  readonly show: (value: number) => string;
}

/** The findings of a trial in one case: a figure for each metric, as far as there is one. */
export interface Outcome {
  readonly case: string;
  readonly values: Readonly<Record<string, number>>;
  /** For the reader of the figures: that a contestant fell behind, or was given up. */
  readonly notes?: readonly string[];
}

/** A contestant, started fresh, measured, and stopped. */
export interface Trial {
  readonly contestant: string;
  /** Everything started goes to the cleanups, which the caller runs. */
  run(cleanups: Cleanups): Promise<readonly Outcome[]>;
}

/** Something that is measured of several contestants by turns. */
export interface Measure {
  /** The name for `--only` and in the JSON file. */
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
