/** The audit trail: who did what, to what, and when; the newest first. */

import { useRef, useState } from 'preact/hooks';
import { type AuditEvent, type AuditQuery, listAuditRecords } from '../api.js';
import { dateTime, language, t } from '../language.js';
import { hrefTo } from '../place.js';
import { FailureText } from '../ui/bits.js';
import { Choice, Text } from '../ui/fields.js';
import { List } from '../ui/list.js';
import { useChange, useLoaded } from '../ui/load.js';
import { AuditDetails } from './audit-details.js';
import { Deleted, DeviceName, HomeChoice, homeHref, homeOf, PrincipalName } from './named.js';

/** The filters of the list. An empty text does not filter. Times are in the browser's time zone. */
interface Filter {
  readonly action: string;
  readonly location: string;
  readonly after: string;
  readonly before: string;
  /** Chosen in a row. */
  readonly actor: Chosen | undefined;
  readonly resource: Chosen | undefined;
}

interface Chosen {
  readonly id: string;
  readonly name: string;
}

const NO_FILTER: Filter = {
  action: '',
  location: '',
  after: '',
  before: '',
  actor: undefined,
  resource: undefined,
};

export function Audit() {
  const [filter, setFilter] = useState(NO_FILTER);
  const change = (part: Partial<Filter>) => setFilter({ ...filter, ...part });
  return (
    <>
      <Filters filter={filter} onChange={change} />
      <Records key={JSON.stringify(filter)} filter={filter} onChange={change} />
    </>
  );
}

interface PartProps {
  readonly filter: Filter;
  readonly onChange: (part: Partial<Filter>) => void;
}

function Filters({ filter, onChange }: PartProps) {
  const actions = Object.entries(actionNames()).toSorted(([, one], [, other]) =>
    one.localeCompare(other, language.value),
  );
  return (
    <>
      <div class="gateway-filters row">
        <Choice
          label={t('Action', 'Vorgang')}
          value={filter.action}
          options={[['', t('All actions', 'Alle Vorgänge')], ...actions]}
          onChange={(action) => onChange({ action })}
        />
        <HomeChoice
          value={filter.location}
          none={t('All homes', 'Alle Heime')}
          onChange={(location) => onChange({ location })}
        />
        <Text
          label={t('After', 'Nach')}
          type="datetime-local"
          value={filter.after}
          onChange={(after) => onChange({ after })}
        />
        <Text
          label={t('Before', 'Vor')}
          type="datetime-local"
          value={filter.before}
          onChange={(before) => onChange({ before })}
        />
      </div>
      <OnlyOne
        chosen={filter.actor}
        text={(name) => t(`Only by ${name}`, `Nur von ${name}`)}
        onEnd={() => onChange({ actor: undefined })}
      />
      <OnlyOne
        chosen={filter.resource}
        text={(name) => t(`Only about ${name}`, `Nur zu ${name}`)}
        onEnd={() => onChange({ resource: undefined })}
      />
    </>
  );
}

interface OnlyOneProps {
  readonly chosen: Chosen | undefined;
  readonly text: (name: string) => string;
  readonly onEnd: () => void;
}

/** Tells that the list is limited to what was chosen in a row, and ends this. */
function OnlyOne({ chosen, text, onEnd }: OnlyOneProps) {
  // The button that was pressed is gone with its row.
  const takeFocus = useRef((button: HTMLButtonElement | null) => button?.focus());
  if (chosen === undefined) return null;
  return (
    <p class="row">
      <strong>{text(chosen.name)}</strong>
      <button ref={takeFocus.current} type="button" onClick={onEnd}>
        {t('Show all again', 'Wieder alle zeigen')}
      </button>
    </p>
  );
}

function Records({ filter, onChange }: PartProps) {
  const records = useLoaded(() => listAuditRecords(queryOf(filter)), []);
  const older = useChange();
  const { data } = records;
  const readOlder = (cursor: string) =>
    older.send(
      () => listAuditRecords({ ...queryOf(filter), cursor }),
      ({ events, nextCursor }) =>
        records.take({ events: [...(data?.events ?? []), ...events], nextCursor }),
    );
  const cursor = data?.nextCursor;
  return (
    <List
      title={t('Who did what', 'Wer was getan hat')}
      hint={t(
        'Every change, every recording that was handed out, and every refusal.',
        'Jede Änderung, jede herausgegebene Aufnahme und jede Verweigerung.',
      )}
      loaded={records}
      rows={data?.events}
      isPaged
      keyOf={({ id }) => id}
      empty={t('No records.', 'Keine Einträge.')}
      tools={
        <button type="button" onClick={records.again}>
          {t('Refresh', 'Erneuern')}
        </button>
      }
      foot={
        <>
          <FailureText failure={older.failure} />
          {typeof cursor === 'string' && (
            <button
              type="button"
              aria-disabled={older.isPending || records.isPending}
              onClick={() => readOlder(cursor)}
            >
              {t('Older records', 'Ältere Einträge')}
            </button>
          )}
        </>
      }
      columns={[
        [t('When', 'Wann'), ({ at }) => <time>{dateTime(at)}</time>],
        [t('Who', 'Wer'), ({ actor }) => <Actor actor={actor} onChange={onChange} />],
        [t('What was done', 'Was getan wurde'), ({ action }) => actionNames()[action] ?? action],
        [t('To what', 'Woran'), (event) => <Resource event={event} onChange={onChange} />],
        [t('Details', 'Einzelheiten'), (event) => <AuditDetails event={event} />],
      ]}
    />
  );
}

const PAGE_RECORDS = 50;

function queryOf({ action, location, actor, resource, after, before }: Filter): AuditQuery {
  return {
    order: 'desc',
    limit: PAGE_RECORDS,
    actions: action === '' ? undefined : [action],
    location: location === '' ? undefined : location,
    actor: actor?.id,
    resource: resource?.id,
    after: timeOf(after),
    before: timeOf(before),
  };
}

/** The time in a field, undefined while it is empty. */
function timeOf(typed: string): string | undefined {
  const time = new Date(typed);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

interface ActorProps extends Pick<PartProps, 'onChange'> {
  readonly actor: AuditEvent['actor'];
}

function Actor({ actor: { type, id, name, address }, onChange }: ActorProps) {
  const isPrincipal = (type === 'access-token' || type === 'device') && id !== null;
  return (
    <>
      {isPrincipal ? (
        <PrincipalName type={type} id={id} name={name} />
      ) : (
        (type === 'gateway' && t('The gateway', 'Das Gateway')) || t('Unknown', 'Unbekannt')
      )}
      {address !== null && <span class="hint"> ({address})</span>}{' '}
      {isPrincipal && (
        <OnlyThis name={name ?? id} onPress={() => onChange({ actor: { id, name: name ?? id } })} />
      )}
    </>
  );
}

function OnlyThis({ name, onPress }: { readonly name: string; readonly onPress: () => void }) {
  return (
    <button
      type="button"
      class="gateway-only"
      aria-label={t(`Only this: ${name}`, `Nur das: ${name}`)}
      onClick={onPress}
    >
      {t('only this', 'nur das')}
    </button>
  );
}

interface ResourceProps extends Pick<PartProps, 'onChange'> {
  readonly event: AuditEvent;
}

/** The subject of the action, and its home. */
function Resource({ event, onChange }: ResourceProps) {
  const { locationId, locationName, resourceId, resourceName, details } = event;
  const before = typeof details['name'] === 'string' ? details['name'] : undefined;
  const name = resourceName ?? before ?? resourceId ?? '';
  return (
    <>
      {resourceId !== null && (
        <>
          <ResourceName event={event} id={resourceId} before={before} />{' '}
          <OnlyThis name={name} onPress={() => onChange({ resource: { id: resourceId, name } })} />
        </>
      )}
      {locationId !== null && locationId !== resourceId && (
        <div class="hint">
          {locationName === null ? (
            <Deleted id={locationId} />
          ) : (
            <a href={homeHref(locationId)}>{locationName}</a>
          )}
        </div>
      )}
    </>
  );
}

interface ResourceNameProps {
  readonly event: AuditEvent;
  readonly id: string;
  /** The name in the record. */
  readonly before: string | undefined;
}

function ResourceName({ event, id, before }: ResourceNameProps) {
  const { action, locationId, resourceName: name, details } = event;
  const kind = action.split('.')[0] ?? '';
  if (action === 'alarm.acknowledged' || action === 'alarm.resolved') {
    const device = details['deviceId'];
    if (locationId === null || typeof device !== 'string') return <code>{id}</code>;
    const query = { location: locationId, alarm: id, device };
    return <a href={hrefTo('/history/alarm', query)}>{t('The alarm', 'Der Alarm')}</a>;
  }
  if (name === null) {
    // The ids of bridges, webhooks and faults are their names, and a refused request may be about anything.
    const isNamed = !['bridge', 'output', 'fault', 'permission'].includes(kind);
    return isNamed ? <Deleted id={id} name={before} /> : <code>{id}</code>;
  }
  if (homeOf(id) !== undefined) return <DeviceName id={id} name={name} />;
  if (kind === 'access-token') return <a href={hrefTo('/gateway/tokens')}>{name}</a>;
  return locationId === null ? name : <a href={homeHref(locationId)}>{name}</a>;
}

/** `AUDIT_ACTIONS` of the gateway. */
export const actionNames = (): Readonly<Record<string, string>> => ({
  'location.created': t('Home created', 'Heim angelegt'),
  'location.changed': t('Home changed', 'Heim geändert'),
  'location.deleted': t('Home deleted', 'Heim gelöscht'),
  'group.created': t('Group created', 'Gruppe angelegt'),
  'group.changed': t('Group changed', 'Gruppe geändert'),
  'group.deleted': t('Group deleted', 'Gruppe gelöscht'),
  'room.created': t('Room created', 'Zimmer angelegt'),
  'room.changed': t('Room changed', 'Zimmer geändert'),
  'room.moved': t('Room moved', 'Zimmer verschoben'),
  'room.deleted': t('Room deleted', 'Zimmer gelöscht'),
  'device.created': t('Device created', 'Gerät angelegt'),
  'device.changed': t('Device changed', 'Gerät geändert'),
  'device.moved': t('Device moved', 'Gerät verschoben'),
  'device.deleted': t('Device deleted', 'Gerät gelöscht'),
  'device.secret-replaced': t('Device got a new secret', 'Gerät bekam ein neues Geheimnis'),
  'custom-data.changed': t('Custom data changed', 'Eigene Daten geändert'),
  'access-token.created': t('Access token created', 'Zugangstoken angelegt'),
  'access-token.changed': t('Access token changed', 'Zugangstoken geändert'),
  'access-token.secret-replaced': t('Access token renewed', 'Zugangstoken erneuert'),
  'access-token.deleted': t('Access token revoked', 'Zugangstoken widerrufen'),
  'bridge.deleted': t('Queue of a bridge deleted', 'Warteschlange einer Brücke gelöscht'),
  'output.sent-again': t(
    'Dead letters of a webhook sent again',
    'Unzustellbares eines Webhooks erneut gesendet',
  ),
  'alarm.acknowledged': t('Alarm acknowledged', 'Alarm quittiert'),
  'alarm.resolved': t('Alarm resolved', 'Alarm erledigt'),
  'alarm.tested': t('Test alarm sent', 'Testalarm gesendet'),
  'alarms.erased': t('Alarms erased', 'Alarme gelöscht'),
  'fault.acknowledged': t('Fault acknowledged', 'Störung quittiert'),
  'footage.url-made': t(
    'Address of a recording handed out',
    'Adresse einer Aufnahme herausgegeben',
  ),
  'footage.upload-url-made': t(
    'Address for an upload handed out',
    'Adresse zum Hochladen herausgegeben',
  ),
  'permission.refused': t('Permission refused', 'Zugriff verweigert'),
  'authentication.refused': t('Login refused', 'Anmeldung abgewiesen'),
});
