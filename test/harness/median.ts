/**
 * The middle one of the values.
 *
 * Of times taken one after the other, a stall of the machine makes one long, and hardly moves this.
 */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
