import { useState } from 'preact/hooks';
import { type AuditEvent, listAuditRecords } from '../../../api.js';
import { dateTime, t } from '../../../language.js';
import { useLoaded } from '../../../ui/load.js';
import { type Column, List } from '../list.js';
import { LocationName, PrincipalName } from '../names.js';
import { CursorButtons, useCursorPages } from '../page-buttons.js';
import { AuditDetails } from './audit-details.js';
import { type AuditFilter, AuditFilters, actionNames, NO_FILTER } from './audit-filters.js';

const PAGE_RECORDS = 50;

/** The audit trail, page by page. */
export function AuditPart() {
  const [filter, setFilter] = useState(NO_FILTER);
  const pages = useCursorPages();
  const page = useLoaded(() => readPage(filter, pages.cursor), [filter, pages.cursor]);
  const columns: readonly Column<AuditEvent>[] = [
    { head: t('When', 'Wann'), cell: ({ at }) => dateTime(at) },
    { head: t('Who', 'Wer'), cell: ({ actor }) => <ActorName actor={actor} /> },
    { head: t('What was done', 'Was getan wurde'), cell: ({ action }) => actionNames()[action] },
    { head: t('To what', 'Woran'), cell: (event) => <Subject event={event} /> },
    { head: t('Details', 'Einzelheiten'), cell: (event) => <AuditDetails event={event} /> },
  ];
  return (
    <List
      title={t('Who did what', 'Wer was getan hat')}
      hint={t(
        'Every change, every recording that was handed out, and every refusal.',
        'Jede Änderung, jede herausgegebene Aufnahme und jede Verweigerung.',
      )}
      loaded={page}
      rows={page.data?.events}
      keyOf={({ id }) => id}
      columns={columns}
      empty={t('No records.', 'Keine Einträge.')}
      tools={
        <>
          <AuditFilters
            filter={filter}
            onChange={(changed) => {
              setFilter(changed);
              pages.show(0, []);
            }}
          />
          <button type="button" onClick={page.again}>
            {t('Refresh', 'Erneuern')}
          </button>
        </>
      }
      foot={<CursorButtons pages={pages} nextCursor={page.data?.nextCursor} />}
    />
  );
}

function ActorName({ actor: { type, id, address } }: { readonly actor: AuditEvent['actor'] }) {
  const isPrincipal = (type === 'access-token' || type === 'device') && id !== null;
  return (
    <>
      {isPrincipal ? (
        <PrincipalName type={type} id={id} />
      ) : (
        (type === 'gateway' && t('The gateway', 'Das Gateway')) || t('Unknown', 'Unbekannt')
      )}
      {address !== null && <span class="hint"> ({address})</span>}
    </>
  );
}

/** The subject of an action, by its name if the record has it. */
function Subject({ event }: { readonly event: AuditEvent }) {
  const { locationId, resourceId, details } = event;
  const name = details['name'];
  return (
    <>
      {typeof name === 'string'
        ? name
        : resourceId !== null && <code class="gateway-id">{resourceId}</code>}
      {locationId !== null && locationId !== resourceId && (
        <span class="hint">
          {' '}
          <LocationName id={locationId} />
        </span>
      )}
    </>
  );
}

function readPage(filter: AuditFilter, cursor: string | undefined) {
  const { action, location, actor, resource, after, before, order } = filter;
  return listAuditRecords({
    order,
    limit: PAGE_RECORDS,
    ...(action !== undefined && { actions: [action] }),
    ...(location !== '' && { location }),
    ...(actor !== '' && { actor }),
    ...(resource !== '' && { resource }),
    ...(after !== '' && { after: new Date(after).toISOString() }),
    ...(before !== '' && { before: new Date(before).toISOString() }),
    ...(cursor !== undefined && { cursor }),
  });
}
