import { useState } from 'preact/hooks';
import { type AuditEvent, listAuditRecords } from '../../../api.js';
import { useConsole, useWords } from '../../../console-parts.js';
import { dateTime } from '../../../ui/time-ago.js';
import { useLoaded } from '../../../ui/use-request.js';
import { GATEWAY_WORDS } from '../gateway-words.js';
import { type Column, List } from '../list.js';
import { LocationName, PrincipalName } from '../names.js';
import { CursorButtons, useCursorPages } from '../page-buttons.js';
import { AuditDetails } from './audit-details.js';
import { type AuditFilter, AuditFilters, NO_FILTER } from './audit-filters.js';
import { AUDIT_WORDS } from './audit-words.js';

const PAGE_RECORDS = 50;

/** The audit trail, page by page. */
export function AuditPart() {
  const words = useWords(AUDIT_WORDS);
  const common = useWords(GATEWAY_WORDS);
  const { language } = useConsole();
  const [filter, setFilter] = useState(NO_FILTER);
  const pages = useCursorPages();
  const page = useLoaded(() => readPage(filter, pages.cursor), [filter, pages.cursor]);
  const columns: readonly Column<AuditEvent>[] = [
    { head: common.when, cell: ({ at }) => dateTime(at, language.current.value) },
    { head: common.who, cell: ({ actor }) => <ActorName actor={actor} /> },
    { head: words.what, cell: ({ action }) => words.actions[action] },
    { head: words.to, cell: (event) => <Subject event={event} /> },
    { head: words.details, cell: (event) => <AuditDetails event={event} /> },
  ];
  return (
    <List
      title={words.title}
      hint={words.hint}
      loaded={page}
      rows={page.data?.events}
      keyOf={({ id }) => id}
      columns={columns}
      empty={words.none}
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
            {common.refresh}
          </button>
        </>
      }
      foot={<CursorButtons pages={pages} nextCursor={page.data?.nextCursor} />}
    />
  );
}

function ActorName({ actor: { type, id, address } }: { readonly actor: AuditEvent['actor'] }) {
  const words = useWords(AUDIT_WORDS);
  const isPrincipal = (type === 'access-token' || type === 'device') && id !== null;
  return (
    <>
      {isPrincipal ? (
        <PrincipalName type={type} id={id} />
      ) : (
        (type === 'gateway' && words.gateway) || words.unknown
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
