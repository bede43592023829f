/** A part of a representation; both ends are inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

const BYTES_RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/**
 * Parses a `Range` header (RFC 9110, 14.2); undefined for the whole representation.
 *
 * A header that is malformed, has another unit or has several ranges is ignored, as RFC 9110 allows.
 */
export function requestedRange(
  header: string | undefined,
  totalBytes: number,
): ByteRange | 'not-satisfiable' | undefined {
  const [, from = '', to = ''] = BYTES_RANGE.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const lastByte = totalBytes - 1;
  if (from === '') {
    const suffixBytes = Math.min(Number(to), totalBytes);
    return suffixBytes === 0
      ? 'not-satisfiable'
      : { first: totalBytes - suffixBytes, last: lastByte };
  }
  if (to !== '' && Number(to) < Number(from)) return undefined;
  if (Number(from) > lastByte) return 'not-satisfiable';
  const last = to === '' ? lastByte : Math.min(Number(to), lastByte);
  return { first: Number(from), last };
}
