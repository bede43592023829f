import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import type { HttpEnv } from './http-env.js';

/** More than the thousandths of a weight, so that the weight comes before everything else. */
const WEIGHT_STEPS = 10_000;

interface AcceptedRange {
  readonly type: string;
  readonly q: number;
}

/**
 * The media type or coding that the client prefers (RFC 9110, 12.5); the first when none is accepted.
 *
 * Of several with equal weight, one that is named comes before one that a range covers, then the first.
 * Hono's own choice ignores ranges of all types, and takes a weight of zero for acceptance.
 */
export function preferred(
  c: Context<HttpEnv>,
  header: 'Accept' | 'Accept-Encoding',
  [first, ...others]: readonly [string, ...string[]],
): string {
  return accepts(c, {
    header,
    supports: [first, ...others],
    default: first,
    match: (ranges) => {
      const best = (one: string, other: string) =>
        weightOf(other, ranges) > weightOf(one, ranges) ? other : one;
      return others.reduce(best, first);
    },
  });
}

/** The weight that the most specific range gives a type, and within it, how specific that is. */
function weightOf(mediaType: string, ranges: readonly AcceptedRange[]): number {
  const [main] = mediaType.split('/');
  for (const [generality, wanted] of [mediaType, `${main}/*`, '*/*'].entries()) {
    const range = ranges.find(({ type }) => type.toLowerCase() === wanted);
    if (range !== undefined) return range.q === 0 ? 0 : range.q * WEIGHT_STEPS - generality;
  }
  return 0;
}
