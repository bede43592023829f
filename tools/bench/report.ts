/** Prints rows under a title, in aligned columns. */
export function table(title: string, rows: readonly (readonly string[])[]): void {
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

/** The quantile of the values for a fraction from 0 to 1. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

export function milliseconds(ms: number): string {
  return `${ms.toFixed(2)} ms`;
}

export function times(ratio: number): string {
  return Number.isFinite(ratio) ? `× ${ratio.toFixed(2)}` : '× ∞';
}
