import type { Location } from '../../../api.js';
import { KINDS, KindIcon, KindName } from '../../../kinds.js';
import { t } from '../../../language.js';
import { ALARM_STATES, stateNames } from '../alarm-states.js';
import { type AlarmSearch, isNarrowed } from '../history-search.js';
import { useIsNarrow } from '../use-is-narrow.js';
import { PlaceFilters } from './place-filters.js';
import { TimeFilters } from './time-filters.js';

export const removeFilters = () => t('Remove the filters', 'Filter entfernen');

interface HistoryFiltersProps {
  readonly homes: readonly Location[];
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

/** The filters of the search; collapsed on a phone. */
export function HistoryFilters({ homes, search, onChange }: HistoryFiltersProps) {
  const isNarrow = useIsNarrow();
  const { kinds, states } = search;
  const removeAll = () =>
    onChange({
      locationId: search.locationId,
      roomId: '',
      deviceId: '',
      kinds: [],
      states: [],
      isWithoutTests: false,
      fromMs: undefined,
      toMs: undefined,
    });
  const isAny = isNarrowed(search) || search.fromMs !== undefined || search.toMs !== undefined;
  return (
    <details class="history-filters" open={!isNarrow}>
      <summary>{t('Filters', 'Filter')}</summary>
      <div class="history-fields">
        <PlaceFilters homes={homes} search={search} onChange={onChange} />
        <TimeFilters search={search} onChange={onChange} />
        <fieldset>
          <legend>{t('Kinds (none chosen: all)', 'Arten (keine gewählt: alle)')}</legend>
          <div class="history-checks">
            {KINDS.map((kind) => (
              <label key={kind} class="check">
                <input
                  type="checkbox"
                  checked={kinds.includes(kind)}
                  onChange={() => onChange({ ...search, kinds: toggled(KINDS, kinds, kind) })}
                />
                <KindIcon kind={kind} />
                <KindName kind={kind} />
              </label>
            ))}
          </div>
        </fieldset>
        <fieldset>
          <legend>{t('State (none chosen: all)', 'Stand (keiner gewählt: alle)')}</legend>
          <div class="history-checks">
            {ALARM_STATES.map((state) => (
              <label key={state} class="check">
                <input
                  type="checkbox"
                  checked={states.includes(state)}
                  onChange={() =>
                    onChange({ ...search, states: toggled(ALARM_STATES, states, state) })
                  }
                />
                {stateNames()[state]}
              </label>
            ))}
          </div>
        </fieldset>
        <label class="check">
          <input
            type="checkbox"
            checked={search.isWithoutTests}
            onChange={() => onChange({ ...search, isWithoutTests: !search.isWithoutTests })}
          />
          {t('Without tests and drills', 'Ohne Tests und Probealarme')}
        </label>
        {isAny && (
          <button type="button" onClick={removeAll}>
            {removeFilters()}
          </button>
        )}
      </div>
    </details>
  );
}

/** The chosen values with one added or removed, in the order of all. */
function toggled<Value>(all: readonly Value[], chosen: readonly Value[], one: Value): Value[] {
  return all.filter((value) => chosen.includes(value) !== (value === one));
}
