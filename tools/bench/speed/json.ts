import type { Verdict } from './goals.js';
import type { Machine } from './machine.js';
import type { Metric } from './measure.js';
import type { MeasureResults, Results, Row } from './results.js';
import type { Scale } from './scale.js';

/** A run as JSON; figures are in the units that their keys name. */
export function runAsJson(
  machine: Machine,
  scale: Scale,
  results: Results,
  verdicts: readonly Verdict[],
): string {
  const measures = [...results.values()].map(measureAsJson);
  return `${JSON.stringify({ machine, scale, measures, goals: verdicts }, null, 2)}\n`;
}

function measureAsJson({ measure, rows }: MeasureResults) {
  const { name, title, metrics } = measure;
  return { name, title, rows: rows.map((row) => rowAsJson(row, metrics)) };
}

function rowAsJson(row: Row, metrics: readonly Metric[]) {
  const figures = metrics.map((metric) => [metric.key, row.figure(metric)]);
  const { contestant, notes } = row;
  return { case: row.case, contestant, ...Object.fromEntries(figures), notes };
}
