import type { Measure, Metric, Outcome } from './measure.js';

/** A metric over all rounds. */
export interface Figure {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly rounds: readonly number[];
}

/** The figures of one contestant in one case, over all rounds. */
export class Row {
  readonly case: string;
  readonly contestant: string;
  readonly #values = new Map<string, number[]>();
  readonly #notes = new Set<string>();

  constructor(name: string, contestant: string) {
    this.case = name;
    this.contestant = contestant;
  }

  get notes(): readonly string[] {
    return [...this.#notes];
  }

  add({ values, notes = [] }: Pick<Outcome, 'values' | 'notes'>): void {
    for (const [key, value] of Object.entries(values)) {
      this.#values.set(key, [...(this.#values.get(key) ?? []), value]);
    }
    for (const note of notes) this.#notes.add(note);
  }

  /** Undefined when no round yielded one. */
  figure({ key }: Pick<Metric, 'key'>): Figure | undefined {
    const rounds = this.#values.get(key);
    return rounds === undefined ? undefined : figureOf(rounds);
  }
}

/** The figures of one measure. */
export class MeasureResults {
  readonly measure: Measure;
  readonly #rows: Row[] = [];

  constructor(measure: Measure) {
    this.measure = measure;
  }

  /** In the order of their first results, grouped by case. */
  get rows(): readonly Row[] {
    const cases = new Set(this.#rows.map((row) => row.case));
    return [...cases].flatMap((name) => this.#rows.filter((row) => row.case === name));
  }

  add(contestant: string, { case: name, ...found }: Outcome): void {
    let row = this.#rows.find((one) => one.case === name && one.contestant === contestant);
    if (row === undefined) {
      row = new Row(name, contestant);
      this.#rows.push(row);
    }
    row.add(found);
  }
}

/** The figures of a run; an omitted measure has none. */
export type Results = ReadonlyMap<Measure, MeasureResults>;

/** The median of a metric over the rounds; undefined when it was not measured. */
export function medianOf(
  results: Results,
  measure: Measure,
  where: { readonly case: string; readonly contestant: string; readonly metric: string },
): number | undefined {
  const row = results
    .get(measure)
    ?.rows.find((one) => one.case === where.case && one.contestant === where.contestant);
  return row?.figure({ key: where.metric })?.median;
}

function figureOf(rounds: readonly number[]): Figure {
  const sorted = [...rounds].sort((one, other) => one - other);
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[Math.ceil(sorted.length / 2) - 1],
    sorted[Math.floor(sorted.length / 2)],
  ];
  const [min = Number.NaN, max = Number.NaN] = [sorted[0], sorted.at(-1)];
  return { median: (low + high) / 2, min, max, rounds };
}
