import { useConsole, useWords } from '../../../console-parts.js';
import { type AlarmSearch, lastNight, localText, parseTime } from '../history-search.js';
import { HISTORY_WORDS } from '../history-words.js';

const DAY_MS = 24 * 3_600_000;

interface TimeFiltersProps {
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

/** The start and end time, in the browser's time zone. */
export function TimeFilters({ search, onChange }: TimeFiltersProps) {
  const { live } = useConsole();
  const words = useWords(HISTORY_WORDS);
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const lastDays = (days: number) =>
    onChange({ ...search, fromMs: live.clock.now() - days * DAY_MS, toMs: undefined });
  return (
    <fieldset class="history-time">
      <legend class="visually-hidden">{words.presets}</legend>
      <div class="history-presets">
        <button type="button" onClick={() => lastDays(1)}>
          {words.lastDay}
        </button>
        <button type="button" onClick={() => lastDays(7)}>
          {words.lastWeek}
        </button>
        <button type="button" onClick={() => lastDays(30)}>
          {words.lastMonth}
        </button>
        <button
          type="button"
          onClick={() => onChange({ ...search, ...lastNight(live.clock.now()) })}
        >
          {words.lastNight}
        </button>
        <button
          type="button"
          onClick={() => onChange({ ...search, fromMs: undefined, toMs: undefined })}
        >
          {words.anyTime}
        </button>
        <label>
          {words.from}
          <input
            type="datetime-local"
            value={localText(search.fromMs)}
            onChange={({ currentTarget }) =>
              onChange({ ...search, fromMs: parseTime(currentTarget.value) })
            }
          />
        </label>
        <label>
          {words.to}
          <input
            type="datetime-local"
            value={localText(search.toMs)}
            onChange={({ currentTarget }) =>
              onChange({ ...search, toMs: parseTime(currentTarget.value) })
            }
          />
        </label>
      </div>
      <p class="hint">{words.zone(timeZone)}</p>
    </fieldset>
  );
}
