import { withEnds } from '../interrupt.js';
import type { Contestant } from './contestants.js';
import { DEVICES, type Figure, type Measure, type Scale } from './measure.js';

/** The figures of a measure: of each contestant, one a round. */
export class Results {
  readonly #measure: Measure;
  readonly #figures = new Map<string, Map<string, Figure[]>>();

  constructor(measure: Measure) {
    this.#measure = measure;
  }

  add({ name }: Contestant, figures: readonly Figure[]): void {
    for (const figure of figures) {
      const row = this.#figures.get(figure.title) ?? new Map<string, Figure[]>();
      this.#figures.set(figure.title, row);
      row.set(name, [...(row.get(name) ?? []), figure]);
    }
  }

  /** A row for each figure: the median of each contestant, and how the gateway compares with the others. */
  print(): void {
    const { contestants, title } = this.#measure;
    const [first, ...others] = contestants.map(({ name }) => name);
    const head = ['', ...contestants.map(({ name }) => name), ...others.map((name) => `× ${name}`)];
    const rows = [...this.#figures].map(([name, row]) => {
      const values = contestants.map((one) => median(row.get(one.name) ?? []));
      const [own = Number.NaN] = values;
      const ratios = others.map((_, at) => own / (values[at + 1] ?? Number.NaN));
      const unit = [...row.values()][0]?.[0]?.unit ?? '';
      return [name, ...values.map((value) => shown(value, unit)), ...ratios.map(times)];
    });
    printTable(`${title} (× is ${first} divided by the other)`, [head, ...rows]);
  }
}

/** Prints rows under a title, in aligned columns. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => (row[at] ?? '').length)),
  );
  console.log(`\n${title}`);
  for (const row of rows) {
    const cells = row.map((cell, at) =>
      at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
    );
    console.log(`  ${cells.join('   ')}`);
  }
}

/** Prints a target of the gateway's own; returns whether it is met. */
export function verdict(target: string, isMet: boolean): boolean {
  console.log(`  target: ${target}: ${isMet ? 'met' : 'MISSED'}`);
  return isMet;
}

/** Round by round, so that other load on the machine affects all contestants. */
export async function compare(measure: Measure, scale: Scale): Promise<void> {
  const results = new Results(measure);
  for (let round = 1; round <= scale.rounds; round++) {
    for (const contestant of measure.contestants) {
      console.log(`${measure.name}, round ${round} of ${scale.rounds}: ${contestant.name}`);
      for (const run of measure.runs) {
        await withEnds(async (onEnd) => {
          const broker = await contestant.start(measure.devices ?? DEVICES);
          onEnd(() => broker.remove());
          results.add(contestant, await run(broker, scale));
        });
      }
    }
  }
  results.print();
}

function median(figures: readonly Figure[]): number {
  const sorted = figures.map(({ value }) => value).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function shown(value: number, unit: string): string {
  if (Number.isNaN(value)) return '';
  const text = value.toLocaleString('en', { maximumSignificantDigits: value >= 1_000 ? 5 : 3 });
  return `${text} ${unit}`.trim();
}

function times(ratio: number): string {
  return Number.isFinite(ratio) ? ratio.toFixed(2) : '';
}
