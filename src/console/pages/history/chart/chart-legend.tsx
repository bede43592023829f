import { KINDS, type Kind, KindName } from '../../../kinds.js';
import { number } from '../../../language.js';
import type { Bucket } from './alarm-counts.js';
import { KindPatterns, patternOf } from './chart-patterns.js';

/** The kinds that occur, in the order of the stacks from the bottom, with their numbers. */
export function totalsOf(buckets: readonly Bucket[]): { kind: Kind; total: number }[] {
  return KINDS.map((kind) => ({
    kind,
    total: buckets.reduce((sum, { byKind }) => sum + (byKind[kind] ?? 0), 0),
  })).filter(({ total }) => total > 0);
}

/** What the colours and patterns mean. */
export function ChartLegend({ buckets }: { readonly buckets: readonly Bucket[] }) {
  return (
    <ul class="history-legend">
      {totalsOf(buckets).map(({ kind, total }) => (
        <li key={kind}>
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <KindPatterns prefix="legend" kinds={[kind]} />
            <rect width="24" height="24" fill={patternOf('legend', kind)} />
          </svg>
          <KindName kind={kind} /> <span class="hint">{number(total)}</span>
        </li>
      ))}
    </ul>
  );
}
