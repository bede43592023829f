import { KindName } from '../../../alarms/kinds.js';
import { useConsole, useWords } from '../../../console-parts.js';
import { useNumber } from '../../../ui/numbers.js';
import { HISTORY_WORDS } from '../history-words.js';
import type { Bucket, Unit } from './alarm-counts.js';
import { totalsOf } from './chart-legend.js';
import { bucketName } from './chart-times.js';

interface ChartTableProps {
  readonly buckets: readonly Bucket[];
  readonly unit: Unit;
}

/** The numbers of the chart as a table. */
export function ChartTable({ buckets, unit }: ChartTableProps) {
  const { language } = useConsole();
  const words = useWords(HISTORY_WORDS);
  const totals = totalsOf(buckets);
  const text = useNumber();
  const all = totals.reduce((sum, { total }) => sum + total, 0);
  return (
    <details>
      <summary>{words.asTable}</summary>
      <p class="hint">{words.quietLeftOut}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it, too */}
      <section class="scroll" aria-label={words.tableScroll} tabIndex={0}>
        <table class="history-numbers">
          <thead>
            <tr>
              <th scope="col">{words.time}</th>
              {totals.map(({ kind }) => (
                <th key={kind} scope="col">
                  <KindName kind={kind} />
                </th>
              ))}
              <th scope="col">{words.total}</th>
            </tr>
          </thead>
          <tbody>
            {buckets
              .filter(({ total }) => total > 0)
              .map(({ startMs, byKind, total }) => (
                <tr key={startMs}>
                  <th scope="row">{bucketName(startMs, unit, language.current.value)}</th>
                  {totals.map(({ kind }) => (
                    <td key={kind}>{text(byKind[kind] ?? 0)}</td>
                  ))}
                  <td>{text(total)}</td>
                </tr>
              ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{words.total}</th>
              {totals.map(({ kind, total }) => (
                <td key={kind}>{text(total)}</td>
              ))}
              <td>{text(all)}</td>
            </tr>
          </tfoot>
        </table>
      </section>
    </details>
  );
}
