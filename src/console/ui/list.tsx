/** A list of rows with its title: searched in the browser, a table on a wide screen, cards on a narrow one. */

import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { number, t } from '../language.js';
import { FailureText } from './bits.js';
import type { Loaded } from './load.js';

/** More are drawn on request: an old tablet takes seconds for a thousand rows. */
const FIRST_ROWS = 100;

/** The head of a column, and what it shows of a row. */
export type Column<Row> = readonly [head: string, cell: (row: Row) => ComponentChildren];

interface ListProps<Row> {
  readonly title: string;
  readonly hint?: ComponentChildren;
  readonly loaded: Pick<Loaded<unknown>, 'failure' | 'again' | 'pause'>;
  /** Undefined until they are read. */
  readonly rows: readonly Row[] | undefined;
  /** Rows with the same key are told apart by their order. */
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** The text of a row to search; without it there is no search. */
  readonly textOf?: (row: Row) => string;
  /** Whether somebody asked for all these rows, page by page; then all of them are drawn. */
  readonly isPaged?: boolean;
  /** Shown instead of an empty list. */
  readonly empty: ComponentChildren;
  /** Next to the search. */
  readonly tools?: ComponentChildren;
  /** Below the rows. */
  readonly foot?: ComponentChildren;
}

/** A list with its title. */
export function List<Row>(props: ListProps<Row>) {
  const { title, hint, loaded, rows, textOf, empty, tools, foot } = props;
  const [searched, setSearched] = useState('');
  const titleId = useId();
  const wanted = searched.trim().toLowerCase();
  const isFound = (row: Row) => textOf?.(row).toLowerCase().includes(wanted) ?? true;
  const found = wanted === '' ? rows : rows?.filter(isFound);
  return (
    <section class="list" aria-labelledby={titleId}>
      <h2 id={titleId}>{title}</h2>
      {hint !== undefined && <p class="hint">{hint}</p>}
      <div class="row">
        {textOf !== undefined && (
          <label class="row">
            {t('Search', 'Suchen')}
            <input
              type="search"
              value={searched}
              onInput={({ currentTarget }) => setSearched(currentTarget.value)}
            />
          </label>
        )}
        {loaded.pause !== undefined && <PauseButton {...loaded.pause} />}
        {tools}
      </div>
      <FailureText failure={loaded.failure} onRetry={loaded.again} />
      {found === undefined && loaded.failure === undefined && (
        <p role="status">{t('Loading …', 'Wird geladen …')}</p>
      )}
      {found?.length === 0 && (
        <p>{wanted === '' ? empty : t('Nothing found.', 'Nichts gefunden.')}</p>
      )}
      {found !== undefined && found.length > 0 && <Rows key={wanted} {...props} rows={found} />}
      {foot}
    </section>
  );
}

/** Stops a list from changing while someone reads it (WCAG 2.2.2). */
function PauseButton({ isPaused, setPaused }: NonNullable<Loaded<unknown>['pause']>) {
  return (
    <span class="row">
      <button type="button" onClick={() => setPaused(!isPaused)}>
        {isPaused ? t('Resume', 'Fortsetzen') : t('Pause', 'Anhalten')}
      </button>
      <span class="hint">
        {isPaused
          ? t('Paused', 'Angehalten')
          : t('Refreshed every few seconds', 'Wird alle paar Sekunden erneuert')}
      </span>
    </span>
  );
}

function Rows<Row>({
  title,
  rows,
  columns,
  keyOf,
  isPaged = false,
}: Pick<ListProps<Row>, 'title' | 'columns' | 'keyOf' | 'isPaged'> & {
  readonly rows: readonly Row[];
}) {
  const [isWhole, setWhole] = useState(isPaged);
  const drawn = isWhole ? rows : rows.slice(0, FIRST_ROWS);
  return (
    <>
      <table class="card-table">
        <caption class="visually-hidden">{title}</caption>
        <thead>
          <tr>
            {columns.map(([head]) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keyed(drawn, keyOf).map(([key, row]) => (
            <tr key={key}>
              {columns.map(([head, cell]) => (
                <td key={head} data-label={head}>
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {drawn.length < rows.length && (
        <button type="button" onClick={() => setWhole(true)}>
          {t(`Show all ${number(rows.length)}`, `Alle ${number(rows.length)} zeigen`)}
        </button>
      )}
    </>
  );
}

function keyed<Row>(rows: readonly Row[], keyOf: (row: Row) => string): [string, Row][] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const key = keyOf(row);
    const repeats = seen.get(key) ?? 0;
    seen.set(key, repeats + 1);
    return [repeats === 0 ? key : `${key} ${repeats}`, row];
  });
}
