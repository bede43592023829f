/**
 * What happened: the alarms of a home, or of all, as a list, a chart and a file; or the report of one alarm.
 *
 * What is searched for stands in the address alone: a link shows the same to everyone.
 */

import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { type Location, listDevices, listGroups, listLocations, listRooms } from '../api.js';
import { KINDS, KindIcon, kindName } from '../kinds.js';
import { locale, t } from '../language.js';
import { live } from '../live.js';
import { place, replacePlace } from '../place.js';
import { ALL_HOMES } from '../session.js';
import { FailureText } from '../ui/bits.js';
import { Check, Choice, type Option, Text } from '../ui/fields.js';
import { useLoaded } from '../ui/load.js';
import { AlarmChart } from './chart.js';
import { CsvDownload } from './csv.js';
import { AlarmReport, REPORT_PATH, stateNames } from './details.js';
import { AlarmList } from './list.js';
import {
  ALARM_STATES,
  type AlarmSearch,
  ANY_ALARM,
  ANY_TIME,
  filterCount,
  hasTime,
  inHome,
  lastNight,
  localText,
  parseSearch,
  parseTime,
  searchQuery,
} from './search.js';
import './history.css';

export function HistoryPage() {
  return place.value.path === REPORT_PATH ? <AlarmReport /> : <FoundAlarms />;
}

function FoundAlarms() {
  const homes = useLoaded(listLocations, []);
  return (
    <>
      <h1>{t('History', 'Verlauf')}</h1>
      <FailureText failure={homes.failure} onRetry={homes.again} />
      {homes.data === undefined && homes.isPending && (
        <p role="status">{t('Loading …', 'Wird geladen …')}</p>
      )}
      {homes.data !== undefined && <SearchedHistory homes={homes.data} />}
    </>
  );
}

function SearchedHistory({ homes }: { readonly homes: readonly Location[] }) {
  const { path, query } = place.value;
  const search = useMemo(() => {
    const parsed = parseSearch(query);
    const { locationId } = parsed;
    // A link to all homes leads to the only one, with its rooms.
    const isFirst = locationId === '' || (locationId === ALL_HOMES && homes.length === 1);
    return isFirst ? { ...parsed, locationId: homes[0]?.id ?? '' } : parsed;
  }, [query, homes]);
  const isChart = query.get('view') === 'chart';
  const show = (wanted: AlarmSearch, hasChart: boolean) =>
    replacePlace(path, { ...searchQuery(wanted), ...(hasChart && { view: 'chart' }) });
  const setSearch = (wanted: AlarmSearch) => show(wanted, isChart);
  const { locationId } = search;
  if (locationId === '')
    return (
      <p>{t('There is no home that this token may see.', 'Dieser Token darf kein Heim sehen.')}</p>
    );
  const homeIds = locationId === ALL_HOMES ? homes.map(({ id }) => id) : [locationId];
  return (
    <div class="history">
      <Filters homes={homes} search={search} onChange={setSearch} />
      <div>
        <div class="history-tools row">
          <button type="button" aria-expanded={isChart} onClick={() => show(search, !isChart)}>
            {t('Chart', 'Diagramm')}
          </button>
          <CsvDownload key={JSON.stringify(search)} search={search} homes={homes} />
        </div>
        {isChart && <AlarmChart search={search} homeIds={homeIds} />}
        <AlarmList search={search} onChange={setSearch} />
      </div>
    </div>
  );
}

interface FilterProps {
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

interface FiltersProps extends FilterProps {
  readonly homes: readonly Location[];
}

/** The filters of the search. On a narrow screen they are folded: the alarms must be in sight. */
function Filters({ homes, search, onChange }: FiltersProps) {
  const [startsOpen] = useState(() => matchMedia('(width > 64rem)').matches);
  const { locationId, kinds, states, isWithoutTests } = search;
  const isKnownHome = homes.some(({ id }) => id === locationId);
  const homeOptions: Option<string>[] = homes.map(({ id, name }) => [id, name]);
  if (homes.length > 1) homeOptions.unshift([ALL_HOMES, t('All homes', 'Alle Heime')]);
  if (!isKnownHome && locationId !== ALL_HOMES)
    homeOptions.unshift([locationId, t('Another home', 'Ein anderes Heim')]);
  const [, homeName = ''] = homeOptions.find(([id]) => id === locationId) ?? [];
  return (
    <details class="history-filters card" open={startsOpen}>
      <summary>
        {t('Filters', 'Filter')}
        <span class="hint"> {[homeName, ...summaryOf(search)].join(' · ')}</span>
      </summary>
      <div class="history-fields">
        <Choice
          label={t('Home', 'Heim')}
          value={locationId}
          options={homeOptions}
          onChange={(id) => onChange(inHome(search, id))}
        />
        <Times search={search} onChange={onChange} />
        {locationId !== ALL_HOMES && (
          // The key keeps it from showing the rooms of the previous home.
          <Places key={locationId} isKnownHome={isKnownHome} search={search} onChange={onChange} />
        )}
        <Checks
          legend={t('Kinds (none chosen: all)', 'Arten (keine gewählt: alle)')}
          all={KINDS}
          chosen={kinds}
          nameOf={(kind) => (
            <>
              <KindIcon kind={kind} />
              {kindName(kind)}
            </>
          )}
          onChange={(chosen) => onChange({ ...search, kinds: chosen })}
        />
        <Checks
          legend={t('State (none chosen: all)', 'Stand (keiner gewählt: alle)')}
          all={ALARM_STATES}
          chosen={states}
          nameOf={(state) => stateNames()[state]}
          onChange={(chosen) => onChange({ ...search, states: chosen })}
        />
        <Check
          isChecked={isWithoutTests}
          onChange={(isChecked) => onChange({ ...search, isWithoutTests: isChecked })}
        >
          {t('Without tests and drills', 'Ohne Tests und Probealarme')}
        </Check>
        {(filterCount(search) > 0 || hasTime(search)) && (
          <button type="button" onClick={() => onChange({ ...ANY_ALARM, ...ANY_TIME, locationId })}>
            {t('Remove the filters', 'Filter entfernen')}
          </button>
        )}
      </div>
    </details>
  );
}

interface ChecksProps<Value> {
  readonly legend: string;
  readonly all: readonly Value[];
  readonly chosen: readonly Value[];
  readonly nameOf: (value: Value) => ComponentChildren;
  /** The chosen values are in the order of all. */
  readonly onChange: (chosen: readonly Value[]) => void;
}

function Checks<Value extends string>(props: ChecksProps<Value>) {
  const { legend, all, chosen, nameOf, onChange } = props;
  return (
    <fieldset class="row">
      <legend>{legend}</legend>
      {all.map((one) => (
        <Check
          key={one}
          isChecked={chosen.includes(one)}
          onChange={(isChecked) =>
            onChange(all.filter((value) => (value === one ? isChecked : chosen.includes(value))))
          }
        >
          {nameOf(one)}
        </Check>
      ))}
    </fieldset>
  );
}

/** The time and the number of further filters, for when they are folded. */
function summaryOf(search: AlarmSearch): string[] {
  const format = new Intl.DateTimeFormat(locale(), { dateStyle: 'short', timeStyle: 'short' });
  const [from, to] = [search.fromMs, search.toMs].map((timeMs) => timeMs && format.format(timeMs));
  const count = filterCount(search);
  return [
    ...(from ? [t(`from ${from}`, `ab ${from}`)] : []),
    ...(to ? [t(`to ${to}`, `bis ${to}`)] : []),
    ...(count > 0 ? [t(`${count} more`, count === 1 ? '1 weiterer' : `${count} weitere`)] : []),
  ];
}

/** Group, room and device. Some may be gone: their alarms are still there. */
function Places({
  isKnownHome,
  search,
  onChange,
}: FilterProps & { readonly isKnownHome: boolean }) {
  const { locationId, groupId, roomId, deviceId } = search;
  const places = useLoaded(
    () =>
      Promise.all([
        listGroups({ locationId }),
        listRooms({ locationId }),
        listDevices({ locationId }),
      ]),
    [],
  );
  const [groups, rooms, devices] = places.data ?? [[], [], []];
  const roomsOf = (id: string | null, name: string) =>
    rooms
      .filter((room) => room.groupId === id)
      .map((room): Option<string> => [room.id, room.name, name]);
  const withoutGroup = roomsOf(null, t('Without a group', 'Ohne Gruppe'));
  const roomName = (id: string | null) => rooms.find((room) => room.id === id)?.name;
  return (
    <>
      <PlaceChoice
        label={t('Group', 'Gruppe')}
        any={t('All groups', 'Alle Gruppen')}
        missing={t('A group that is not here any more', 'Eine Gruppe, die es nicht mehr gibt')}
        value={groupId}
        options={groups.map(({ id, name }) => [id, name])}
        onChange={(id) => onChange({ ...search, groupId: id, roomId: '' })}
      />
      <PlaceChoice
        label={t('Room', 'Zimmer')}
        any={t('All rooms', 'Alle Zimmer')}
        missing={t('A room that is not here any more', 'Ein Zimmer, das es nicht mehr gibt')}
        value={roomId}
        options={groups
          .filter(({ id }) => groupId === '' || id === groupId)
          .flatMap(({ id, name }) => roomsOf(id, name))
          .concat(groupId === '' ? withoutGroup : [])}
        onChange={(id) => onChange({ ...search, roomId: id })}
      />
      <PlaceChoice
        label={t('Device', 'Gerät')}
        any={t('All devices', 'Alle Geräte')}
        missing={t('A device that is not here any more', 'Ein Gerät, das nicht mehr hier ist')}
        value={deviceId}
        options={devices.map((device) => [
          device.id,
          [device.name, roomName(device.roomId)].filter(Boolean).join(', '),
        ])}
        onChange={(id) => onChange({ ...search, deviceId: id })}
      />
      {isKnownHome && <FailureText failure={places.failure} onRetry={places.again} />}
    </>
  );
}

interface PlaceChoiceProps {
  readonly label: string;
  readonly any: string;
  /** For a value that is none of the options. */
  readonly missing: string;
  readonly value: string;
  readonly options: readonly Option<string>[];
  readonly onChange: (value: string) => void;
}

function PlaceChoice({ any, missing, value, options, ...props }: PlaceChoiceProps) {
  const isMissing = value !== '' && !options.some(([id]) => id === value);
  const first: Option<string>[] = [['', any], ...(isMissing ? [[value, missing] as const] : [])];
  return <Choice {...props} value={value} options={[...first, ...options]} />;
}

const DAY_MS = 24 * 3_600_000;

/** The start and the end, by the clocks of the browser's time zone. */
function Times({ search, onChange }: FilterProps) {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const between = (fromMs: number | undefined, toMs: number | undefined) =>
    onChange({ ...search, fromMs, toMs });
  const lastDays = (days: number) => between(live.clock.now() - days * DAY_MS, undefined);
  const presets: readonly (readonly [string, () => void])[] = [
    [t('Last 24 hours', 'Letzte 24 Stunden'), () => lastDays(1)],
    [t('7 days', '7 Tage'), () => lastDays(7)],
    [t('30 days', '30 Tage'), () => lastDays(30)],
    [
      t('Last night, 20:00–07:00', 'Letzte Nacht, 20–7 Uhr'),
      () => onChange({ ...search, ...lastNight(live.clock.now()) }),
    ],
    [t('Any time', 'Gesamter Zeitraum'), () => between(undefined, undefined)],
  ];
  return (
    <fieldset class="history-time row">
      <legend class="visually-hidden">{t('Time', 'Zeitraum')}</legend>
      {presets.map(([text, choose]) => (
        <button key={text} type="button" onClick={choose}>
          {text}
        </button>
      ))}
      <Text
        label={t('From', 'Von')}
        type="datetime-local"
        value={localText(search.fromMs)}
        onChange={(text) => between(parseTime(text), search.toMs)}
      />
      <Text
        label={t('To (not included)', 'Bis (nicht einschließlich)')}
        type="datetime-local"
        value={localText(search.toMs)}
        onChange={(text) => between(search.fromMs, parseTime(text))}
      />
      <span class="hint">
        {t(`Times are those of ${timeZone}.`, `Alle Zeiten gelten für ${timeZone}.`)}
      </span>
    </fieldset>
  );
}
