import type { Cleanups } from './cleanups.js';
import type { Scale } from './scale.js';

/** A figure that a measure yields. */
export interface Metric {
  /** The name in the JSON file. */
  readonly key: string;
  /** The name in tables. */
  readonly title: string;
  readonly better: 'more' | 'less';
  readonly show: (value: number) => string;
}

/** The results of a trial in one case: a figure for each metric that has one. */
export interface Outcome {
  readonly case: string;
  readonly values: Readonly<Record<string, number>>;
  /** For readers of the figures: that a contestant fell behind, for example, or was given up. */
  readonly notes?: readonly string[];
}

/** Starts a contestant from scratch, measures it, and stops it. */
export interface Trial {
  readonly contestant: string;
  /** Registers everything that it starts with the cleanups; the caller runs them. */
  run(cleanups: Cleanups): Promise<readonly Outcome[]>;
}

/** Something to measure for several contestants in turn. */
export interface Measure {
  /** The name for `--only` and in the JSON file. */
  readonly name: string;
  /** At most 66 characters: a chart has two columns. */
  readonly title: string;
  /** The chart shows the first one. */
  readonly metrics: readonly Metric[];
  /** Omitted: as many rounds as the run has. */
  readonly maxRounds?: number;
  /** The trials of one round, in the order in which they run. */
  trials(scale: Scale): readonly Trial[];
}
