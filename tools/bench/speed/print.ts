import { table } from '../report.js';
import type { Verdict } from './goals.js';
import type { Metric } from './measure.js';
import type { MeasureResults, Row } from './results.js';

/** Prints a measure's figures: medians, and the spread after more than one round. */
export function printResults({ measure, rows }: MeasureResults): void {
  const { title, metrics } = measure;
  table(title, [
    ['', '', ...metrics.map((metric) => metric.title)],
    ...rows.map((row, index) => [
      rows[index - 1]?.case === row.case ? '' : row.case,
      row.contestant,
      ...metrics.map((metric) => cell(row, metric)),
    ]),
  ]);
  for (const row of rows) {
    for (const note of row.notes) console.log(`  * ${row.contestant}, ${row.case}: ${note}`);
  }
}

/** A figure as tables show it: the median, and the spread after more than one round. */
export function cell(row: Row, metric: Metric): string {
  const figure = row.figure(metric);
  if (figure === undefined) return 'none';
  const { median, min, max, rounds } = figure;
  const spread = rounds.length > 1 ? ` (${metric.show(min)} to ${metric.show(max)})` : '';
  return metric.show(median) + spread;
}

export function printVerdicts(verdicts: readonly Verdict[]): void {
  console.log();
  for (const { text, figure, isMet } of verdicts) {
    const verdict = isMet === null ? 'not measured' : `${figure}, ${isMet ? 'met' : 'MISSED'}`;
    console.log(`  goal: ${text}: ${verdict}`);
  }
}
