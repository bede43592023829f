import { useConsole } from '../../../console-parts.js';
import { t } from '../../../language.js';
import { type AlarmSearch, lastNight, localText, parseTime } from '../history-search.js';

const DAY_MS = 24 * 3_600_000;

interface TimeFiltersProps {
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

/** The start and end time, in the browser's time zone. */
export function TimeFilters({ search, onChange }: TimeFiltersProps) {
  const { live } = useConsole();
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const lastDays = (days: number) =>
    onChange({ ...search, fromMs: live.clock.now() - days * DAY_MS, toMs: undefined });
  return (
    <fieldset class="history-time">
      <legend class="visually-hidden">{t('Time', 'Zeitraum')}</legend>
      <div class="history-presets">
        <button type="button" onClick={() => lastDays(1)}>
          {t('Last 24 hours', 'Letzte 24 Stunden')}
        </button>
        <button type="button" onClick={() => lastDays(7)}>
          {t('7 days', '7 Tage')}
        </button>
        <button type="button" onClick={() => lastDays(30)}>
          {t('30 days', '30 Tage')}
        </button>
        <button
          type="button"
          onClick={() => onChange({ ...search, ...lastNight(live.clock.now()) })}
        >
          {t('Last night, 20:00–07:00', 'Letzte Nacht, 20–7 Uhr')}
        </button>
        <button
          type="button"
          onClick={() => onChange({ ...search, fromMs: undefined, toMs: undefined })}
        >
          {t('Any time', 'Gesamter Zeitraum')}
        </button>
        <label>
          {t('From', 'Von')}
          <input
            type="datetime-local"
            value={localText(search.fromMs)}
            onChange={({ currentTarget }) =>
              onChange({ ...search, fromMs: parseTime(currentTarget.value) })
            }
          />
        </label>
        <label>
          {t('To (not included)', 'Bis (nicht einschließlich)')}
          <input
            type="datetime-local"
            value={localText(search.toMs)}
            onChange={({ currentTarget }) =>
              onChange({ ...search, toMs: parseTime(currentTarget.value) })
            }
          />
        </label>
      </div>
      <p class="hint">
        {t(`Times are those of ${timeZone}.`, `Alle Zeiten gelten für ${timeZone}.`)}
      </p>
    </fieldset>
  );
}
