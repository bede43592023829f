import { useConsole, useWords } from '../../../console-parts.js';
import { LocationSelect } from '../location-select.js';
import { AUDIT_WORDS } from './audit-words.js';

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
  const words = useWords(AUDIT_WORDS);
  const change = (part: Partial<AuditFilter>) => onChange({ ...filter, ...part });
  return (
    <>
      <ActionSelect value={filter.action} onChange={(action) => change({ action })} />
      <LocationSelect value={filter.location} onChange={(location) => change({ location })} />
      <label>
        {words.actor}
        <input
          value={filter.actor}
          onChange={({ currentTarget }) => change({ actor: currentTarget.value.trim() })}
        />
      </label>
      <label>
        {words.resource}
        <input
          value={filter.resource}
          onChange={({ currentTarget }) => change({ resource: currentTarget.value.trim() })}
        />
      </label>
      <TimeField label={words.after} value={filter.after} onChange={(after) => change({ after })} />
      <TimeField
        label={words.before}
        value={filter.before}
        onChange={(before) => change({ before })}
      />
      <label>
        {words.order}
        <select
          value={filter.order}
          onChange={({ currentTarget }) =>
            change({ order: currentTarget.value === 'asc' ? 'asc' : 'desc' })
          }
        >
          <option value="desc">{words.orders.desc}</option>
          <option value="asc">{words.orders.asc}</option>
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
  const { language } = useConsole();
  const words = useWords(AUDIT_WORDS);
  const actions = Object.entries(words.actions).toSorted(([, one], [, other]) =>
    one.localeCompare(other, language.current.value),
  );
  return (
    <label>
      {words.action}
      <select
        value={value ?? ''}
        onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
      >
        <option value="">{words.allActions}</option>
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
