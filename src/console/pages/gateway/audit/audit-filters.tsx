import { language, t } from '../../../language.js';
import { LocationSelect } from '../location-select.js';

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

/** What the list is limited to; empty texts limit nothing. Times are those of the browser. */
export interface AuditFilter {
  readonly action: string | undefined;
  readonly location: string;
  readonly actor: string;
  readonly resource: string;
  readonly after: string;
  readonly before: string;
  readonly order: 'asc' | 'desc';
}

export const NO_FILTER: AuditFilter = {
  action: undefined,
  location: '',
  actor: '',
  resource: '',
  after: '',
  before: '',
  order: 'desc',
};

interface AuditFiltersProps {
  readonly filter: AuditFilter;
  readonly onChange: (filter: AuditFilter) => void;
}

/** The filters of the audit trail, as in the HTTP interface. */
export function AuditFilters({ filter, onChange }: AuditFiltersProps) {
  const change = (part: Partial<AuditFilter>) => onChange({ ...filter, ...part });
  return (
    <>
      <ActionSelect value={filter.action} onChange={(action) => change({ action })} />
      <LocationSelect value={filter.location} onChange={(location) => change({ location })} />
      <label>
        {t('Who (id)', 'Wer (ID)')}
        <input
          value={filter.actor}
          onChange={({ currentTarget }) => change({ actor: currentTarget.value.trim() })}
        />
      </label>
      <label>
        {t('What (id)', 'Was (ID)')}
        <input
          value={filter.resource}
          onChange={({ currentTarget }) => change({ resource: currentTarget.value.trim() })}
        />
      </label>
      <TimeField
        label={t('After', 'Nach')}
        value={filter.after}
        onChange={(after) => change({ after })}
      />
      <TimeField
        label={t('Before', 'Vor')}
        value={filter.before}
        onChange={(before) => change({ before })}
      />
      <label>
        {t('Order', 'Reihenfolge')}
        <select
          value={filter.order}
          onChange={({ currentTarget }) =>
            change({ order: currentTarget.value === 'asc' ? 'asc' : 'desc' })
          }
        >
          <option value="desc">{t('Newest first', 'Neueste zuerst')}</option>
          <option value="asc">{t('Oldest first', 'Älteste zuerst')}</option>
        </select>
      </label>
    </>
  );
}

interface ActionSelectProps {
  readonly value: AuditFilter['action'];
  readonly onChange: (action: AuditFilter['action']) => void;
}

function ActionSelect({ value, onChange }: ActionSelectProps) {
  const actions = Object.entries(actionNames()).toSorted(([, one], [, other]) =>
    one.localeCompare(other, language.value),
  );
  return (
    <label>
      {t('Action', 'Vorgang')}
      <select
        value={value ?? ''}
        onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
      >
        <option value="">{t('All actions', 'Alle Vorgänge')}</option>
        {actions.map(([action, name]) => (
          <option key={action} value={action}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TimeFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function TimeField({ label, value, onChange }: TimeFieldProps) {
  return (
    <label>
      {label}
      <input
        type="datetime-local"
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  );
}
