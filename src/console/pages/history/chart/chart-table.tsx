import { KindName } from '../../../kinds.js';
import { number, t } from '../../../language.js';
import type { Bucket, Unit } from './alarm-counts.js';
import { totalsOf } from './chart-legend.js';
import { bucketName } from './chart-times.js';

interface ChartTableProps {
  readonly buckets: readonly Bucket[];
  readonly unit: Unit;
}

/** The numbers of the chart as a table. */
export function ChartTable({ buckets, unit }: ChartTableProps) {
  const totals = totalsOf(buckets);
  const all = totals.reduce((sum, { total }) => sum + total, 0);
  return (
    <details>
      <summary>{t('The same as a table', 'Dasselbe als Tabelle')}</summary>
      <p class="hint">
        {t(
          'Hours and days without alarms are left out.',
          'Stunden und Tage ohne Alarme sind ausgelassen.',
        )}
      </p>
      <section
        class="scroll"
        aria-label={t(
          'Table of the chart, scrolls sideways',
          'Tabelle zum Diagramm, lässt sich seitlich verschieben',
        )}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it, too
        tabIndex={0}
      >
        <table class="history-numbers">
          <thead>
            <tr>
              <th scope="col">{t('Time', 'Zeit')}</th>
              {totals.map(({ kind }) => (
                <th key={kind} scope="col">
                  <KindName kind={kind} />
                </th>
              ))}
              <th scope="col">{t('Total', 'Summe')}</th>
            </tr>
          </thead>
          <tbody>
            {buckets
              .filter(({ total }) => total > 0)
              .map(({ startMs, byKind, total }) => (
                <tr key={startMs}>
                  <th scope="row">{bucketName(startMs, unit)}</th>
                  {totals.map(({ kind }) => (
                    <td key={kind}>{number(byKind[kind] ?? 0)}</td>
                  ))}
                  <td>{number(total)}</td>
                </tr>
              ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{t('Total', 'Summe')}</th>
              {totals.map(({ kind, total }) => (
                <td key={kind}>{number(total)}</td>
              ))}
              <td>{number(all)}</td>
            </tr>
          </tfoot>
        </table>
      </section>
    </details>
  );
}
