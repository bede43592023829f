import { KINDS, KindIcon, KindName } from '../../../alarms/kinds.js';
import type { Location } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { ALARM_STATES } from '../alarm-states.js';
import { type AlarmSearch, isNarrowed } from '../history-search.js';
import { HISTORY_WORDS } from '../history-words.js';
import { useIsNarrow } from '../use-is-narrow.js';
import { PlaceFilters } from './place-filters.js';
import { TimeFilters } from './time-filters.js';

interface HistoryFiltersProps {
  readonly homes: readonly Location[];
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

/** The filters of the search; collapsed on a phone. */
export function HistoryFilters({ homes, search, onChange }: HistoryFiltersProps) {
  const words = useWords(HISTORY_WORDS);
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
      <summary>{words.filters}</summary>
      <div class="history-fields">
        <PlaceFilters homes={homes} search={search} onChange={onChange} />
        <TimeFilters search={search} onChange={onChange} />
        <fieldset>
          <legend>{words.kinds}</legend>
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
          <legend>{words.states}</legend>
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
                {words.stateNames[state]}
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
          {words.withoutTests}
        </label>
        {isAny && (
          <button type="button" onClick={removeAll}>
            {words.removeFilters}
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
