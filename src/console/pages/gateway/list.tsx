import '../../ui/card-table.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { t } from '../../language.js';
import { FailureText } from '../../ui/bits.js';
import type { Loaded } from '../../ui/load.js';
import { PageButtons } from './page-buttons.js';

const PAGE_ROWS = 50;

/** A column of a list. */
export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
}

interface ListProps<Row> {
  readonly title: string;
  readonly hint?: ComponentChildren;
  /** The state of the request that reads the rows. */
  readonly loaded: Pick<Loaded<unknown>, 'failure' | 'again' | 'isPending'>;
  readonly rows: readonly Row[] | undefined;
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** The text of a row to search; without it there is no search. */
  readonly textOf?: (row: Row) => string;
  /** Shown instead of an empty list. */
  readonly empty: string;
  /** Next to the search. */
  readonly tools?: ComponentChildren;
  /** Below the rows. */
  readonly foot?: ComponentChildren;
}

/** A list with its title, searched and paged in the browser. */
export function List<Row>(props: ListProps<Row>) {
  const { title, hint, loaded, rows, textOf, empty, tools, foot } = props;
  const [searched, setSearched] = useState('');
  const titleId = useId();
  const wanted = searched.trim().toLowerCase();
  const isFound = (row: Row) => textOf?.(row).toLowerCase().includes(wanted) ?? true;
  const found = wanted === '' ? rows : rows?.filter(isFound);
  return (
    <section class="gateway-list" aria-labelledby={titleId}>
      <h2 id={titleId}>{title}</h2>
      {hint !== undefined && <p class="hint">{hint}</p>}
      <div class="gateway-tools">
        {textOf !== undefined && (
          <label class="gateway-search">
            {t('Search', 'Suchen')}
            <input
              type="search"
              value={searched}
              onInput={({ currentTarget }) => setSearched(currentTarget.value)}
            />
          </label>
        )}
        {tools}
      </div>
      <FailureText failure={loaded.failure} onRetry={loaded.again} />
      {found === undefined && loaded.failure === undefined && (
        <p role="status">{t('Loading …', 'Wird geladen …')}</p>
      )}
      {found?.length === 0 && (
        <p>{wanted === '' ? empty : t('Nothing found.', 'Nichts gefunden.')}</p>
      )}
      {found !== undefined && found.length > 0 && <Rows {...props} rows={found} />}
      {foot}
    </section>
  );
}

function Rows<Row>({
  title,
  rows,
  columns,
  keyOf,
}: Pick<ListProps<Row>, 'title' | 'columns' | 'keyOf'> & { readonly rows: readonly Row[] }) {
  const [page, setPage] = useState(0);
  const last = Math.max(0, Math.ceil(rows.length / PAGE_ROWS) - 1);
  const shown = Math.min(page, last);
  useEffect(() => {
    if (page > last) setPage(last);
  }, [page, last]);
  const from = shown * PAGE_ROWS;
  return (
    <>
      <table class="gateway-table card-table">
        <caption class="visually-hidden">{title}</caption>
        <thead>
          <tr>
            {columns.map(({ head }) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(from, from + PAGE_ROWS).map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ head, cell }) => (
                <td key={head} data-label={head}>
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {last > 0 && (
        <PageButtons
          hasPrevious={shown > 0}
          hasNext={shown < last}
          onPrevious={() => setPage(shown - 1)}
          onNext={() => setPage(shown + 1)}
        >
          <span>
            {t(
              `${from + 1} to ${Math.min(from + PAGE_ROWS, rows.length)} of ${rows.length}`,
              `${from + 1} bis ${Math.min(from + PAGE_ROWS, rows.length)} von ${rows.length}`,
            )}
          </span>
        </PageButtons>
      )}
    </>
  );
}
