/**
 * The middle value.
 *
 * If times are taken one after the other, a stall of the machine makes only one long: the median hardly moves.
 */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
