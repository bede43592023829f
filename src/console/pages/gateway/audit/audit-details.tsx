import type { AuditEvent } from '../../../api.js';
import { t } from '../../../language.js';
import { GrantsText } from '../tokens/token-grants.js';

const detailNames = (): Readonly<Record<string, string>> => ({
  name: t('Name', 'Name'),
  previousName: t('Name before', 'Name davor'),
  silentAfterSeconds: t('Silent after (s)', 'Verstummt nach (s)'),
  previousSilentAfterSeconds: t('Silent after (s) before', 'Verstummt nach (s) davor'),
  grants: t('Grants', 'Rechte'),
  previousGrants: t('Grants before', 'Rechte davor'),
  keys: t('Recordings', 'Aufnahmen'),
  key: t('Recording', 'Aufnahme'),
  expiresAt: t('Expires', 'Läuft ab'),
  previousExpiresAt: t('Expired before', 'Lief davor ab'),
  groupId: t('Group', 'Gruppe'),
  previousGroupId: t('Group before', 'Gruppe davor'),
  roomId: t('Room', 'Zimmer'),
  previousRoomId: t('Room before', 'Zimmer davor'),
  locationId: t('Home', 'Heim'),
  previousLocationId: t('Home before', 'Heim davor'),
  mode: t('Way', 'Art'),
  method: t('Method', 'Methode'),
  path: t('Path', 'Pfad'),
  topic: t('Topic', 'Topic'),
  reason: t('Reason', 'Grund'),
  message: t('Message', 'Meldung'),
  clientId: t('Client id', 'Client-ID'),
  count: t('How many', 'Wie viele'),
  firstAt: t('First at', 'Zuerst um'),
  lastAt: t('Last at', 'Zuletzt um'),
  groups: t('Groups', 'Gruppen'),
  rooms: t('Rooms', 'Zimmer'),
  note: t('Note', 'Notiz'),
});

type Detail = AuditEvent['details'][string];

/** The collapsed details of a record. */
export function AuditDetails({ event }: { readonly event: AuditEvent }) {
  const { id, actor, resourceId, details } = event;
  return (
    <details>
      <summary aria-label={t(`Details of record ${id}`, `Einzelheiten des Eintrags ${id}`)}>
        {t('Details', 'Einzelheiten')}
      </summary>
      <dl class="gateway-details">
        {Object.entries(details).map(([name, detail]) => (
          <Fact key={name} name={detailNames()[name] ?? name} detail={detail} />
        ))}
        {resourceId !== null && <Fact name="id" detail={resourceId} />}
        {actor.requestId !== null && (
          <Fact name={t('Request', 'Anfrage')} detail={actor.requestId} />
        )}
        <Fact name={t('Record', 'Eintrag')} detail={id} />
      </dl>
    </details>
  );
}

function Fact({ name, detail }: { readonly name: string; readonly detail: Detail }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <DetailText detail={detail} />
      </dd>
    </>
  );
}

function DetailText({ detail }: { readonly detail: Detail }) {
  if (detail === null) return <>–</>;
  if (typeof detail === 'string') return <>{detail}</>;
  const grants = detail.filter((one) => typeof one !== 'string');
  if (grants.length > 0) return <GrantsText grants={grants} />;
  return <>{detail.join(', ')}</>;
}
