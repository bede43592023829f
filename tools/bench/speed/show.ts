/** How figures are shown in tables and in the chart. */

const KIB = 1024;
const SECOND_MS = 1000;

export function count(value: number): string {
  return Math.round(value).toLocaleString('en');
}

export function microseconds(value: number): string {
  return `${value.toFixed(0)} µs`;
}

/** Milliseconds; seconds from one second on. */
export function duration(ms: number): string {
  return ms < SECOND_MS ? `${ms.toFixed(ms < 100 ? 1 : 0)} ms` : `${(ms / SECOND_MS).toFixed(2)} s`;
}

export function bytes(value: number): string {
  return `${value.toFixed(0)} bytes`;
}

export function kibibytes(value: number): string {
  return `${(value / KIB).toFixed(1)} KiB`;
}
