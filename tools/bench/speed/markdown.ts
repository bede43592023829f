import type { Verdict } from './goals.js';
import type { Machine } from './machine.js';
import { cell } from './print.js';
import type { MeasureResults, Results } from './results.js';
import type { Scale } from './scale.js';

/** The tables for docs/reports/performance.md: the machine, the goals, and a table for each measure. */
export function runAsMarkdown(
  machine: Machine,
  { rounds }: Scale,
  results: Results,
  verdicts: readonly Verdict[],
): string {
  const { processor, cores, memoryGib, kernel, node, redis, mosquitto, at, commit } = machine;
  const sections = [
    `${cores} × ${processor}, ${memoryGib} GiB, Linux ${kernel}, Node.js ${node}.`,
    `${redis}. ${mosquitto}.`,
    `Commit ${commit}, ${at}, rounds: ${rounds}.\n`,
    ...(verdicts.length === 0 ? [] : [table(['goal', 'figure', ''], verdicts.map(verdictRow))]),
    ...[...results.values()].map(measureAsMarkdown),
  ];
  return `${sections.join('\n')}\n`;
}

function verdictRow({ text, figure, isMet }: Verdict): readonly string[] {
  if (isMet === null) return [text, 'not measured', ''];
  return [text, figure ?? '', isMet ? 'met' : '**missed**'];
}

function measureAsMarkdown({ measure, rows }: MeasureResults): string {
  const { title, metrics } = measure;
  const cells = rows.map((row, index) => [
    rows[index - 1]?.case === row.case ? '' : row.case,
    row.contestant,
    ...metrics.map((metric) => cell(row, metric)),
  ]);
  const head = ['case', '', ...metrics.map((metric) => metric.title)];
  const notes = rows.flatMap((row) =>
    row.notes.map((note) => `- ${row.contestant}, ${row.case}: ${note}`),
  );
  return [`\n### ${title}\n`, table(head, cells), ...notes].join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
