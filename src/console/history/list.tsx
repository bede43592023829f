/**
 * The alarms of a search, the newest first: read page by page, with live states. Each row opens its details and
 * recordings, and has the buttons of the board while its alarm is open.
 */

import { Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Alarm, listAlarms, listLocationAlarms, type Named } from '../api.js';
import { AlarmActions } from '../board/actions.js';
import { alarmOfHistory, type Step, stepOfAnswer, stepOfMessage } from '../board/alarm.js';
import { outcome, useSentOnLeave } from '../board/changes.js';
import { KindIcon, kindOf } from '../kinds.js';
import { dateTime, number, t } from '../language.js';
import { live } from '../live.js';
import { type Medium, mediaOf, RecordingPlayer } from '../recording.js';
import { type Failure, failureOf } from '../request.js';
import { ALL_HOMES } from '../session.js';
import { FailureText, TimeAgo } from '../ui/bits.js';
import { AlarmDetails, nameOfKind, stateNames } from './details.js';
import {
  type AlarmSearch,
  ANY_ALARM,
  ANY_TIME,
  alarmQuery,
  filterCount,
  hasTime,
  isFound,
} from './search.js';

/** More make a browser slow. */
const MAX_ROWS = 300;
/** With a longer delay between detection and receipt, both are shown. */
const LATE_MS = 60_000;

/** An alarm as listed; of all homes, with its own. */
type ListedAlarm = Alarm & { readonly location?: Named };

interface ListState {
  readonly alarms: readonly ListedAlarm[];
  /** Where to continue; null at the end, undefined before the first page. */
  readonly nextCursor: string | null | undefined;
  readonly isPending: boolean;
  readonly failure: Failure | undefined;
  /** Whether newer rows made room for older ones. */
  readonly isCut: boolean;
  /** Whether the gateway has received matching alarms since the newest were read. */
  readonly isOutdated: boolean;
}

const NOTHING: ListState = {
  alarms: [],
  nextCursor: undefined,
  isPending: true,
  failure: undefined,
  isCut: false,
  isOutdated: false,
};

/** Reads one page. Addresses of recordings are signed only when somebody plays one. */
export async function readPage(
  search: AlarmSearch,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Pick<ListState, 'alarms'> & { readonly nextCursor: string | null }> {
  const { locationId } = search;
  const query = { ...alarmQuery(search), footage: 'list' as const, ...(cursor && { cursor }) };
  const { events, nextCursor } = await (locationId === ALL_HOMES
    ? listAlarms(query, { signal })
    : listLocationAlarms({ locationId }, query, { signal }));
  // An answer that has already arrived is parsed despite an abort.
  signal.throwIfAborted();
  return { alarms: events, nextCursor };
}

/** The alarms of a search as rows, read as far as asked for. */
function useAlarmList(search: AlarmSearch) {
  const [state, setState] = useState(NOTHING);
  const stopping = useRef<AbortController>(undefined);
  const readOn = async (start: ListState) => {
    stopping.current?.abort();
    const controller = new AbortController();
    stopping.current = controller;
    const { signal } = controller;
    setState({ ...start, isPending: true, failure: undefined });
    try {
      const page = await readPage(search, start.nextCursor ?? undefined, signal);
      setState((before) => {
        const alarms = before.alarms.concat(page.alarms);
        const isCut = before.isCut || alarms.length > MAX_ROWS;
        return { ...before, ...page, alarms: alarms.slice(-MAX_ROWS), isCut, isPending: false };
      });
    } catch (error) {
      if (signal.aborted) return;
      setState((before) => ({ ...before, isPending: false, failure: failureOf(error) }));
    }
  };
  const stepTaken = (step: Step) =>
    setState((before) => ({
      ...before,
      alarms: before.alarms.map((alarm) => withStep(alarm, step)),
    }));
  useEffect(() => {
    const outdate = () => setState((before) => ({ ...before, isOutdated: true }));
    const endListening = live.listen({
      message: (message) => {
        const step = stepOfMessage(message);
        if (step !== undefined) stepTaken(step);
        if (isFound(search, message)) outdate();
      },
      missed: outdate,
    });
    void readOn(NOTHING);
    return () => {
      endListening();
      stopping.current?.abort();
    };
  }, [JSON.stringify(search)]);
  return {
    ...state,
    more: () => void readOn(state),
    again: () => void readOn(NOTHING),
    stepTaken,
  };
}

function withStep(alarm: ListedAlarm, { key, state, by, at, note }: Step): ListedAlarm {
  // The answer to an acknowledgement may come after somebody's resolve.
  if (keyOfRow(alarm) !== key || alarm.state === 'resolved') return alarm;
  const author = { id: '', name: by };
  const taken =
    state === 'resolved'
      ? { resolvedBy: author, resolvedAt: at }
      : { acknowledgedBy: author, acknowledgedAt: at };
  return { ...alarm, ...taken, state, note: note ?? alarm.note };
}

function keyOfRow({ deviceId, id }: ListedAlarm): string {
  return `${deviceId}/${id}`;
}

interface AlarmListProps {
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

/** The alarms of a search. */
export function AlarmList({ search, onChange }: AlarmListProps) {
  const { alarms, nextCursor, isPending, failure, ...list } = useAlarmList(search);
  useSentOnLeave();
  const isEmpty = alarms.length === 0 && nextCursor === null;
  return (
    <section aria-label={t('List', 'Liste')} aria-busy={isPending} class="history-list">
      <div role="status">{outcome.value}</div>
      {(list.isCut || list.isOutdated) && (
        <p role="status" class="hint row">
          {list.isOutdated
            ? t('Newer alarms have come.', 'Es gibt neuere Alarme.')
            : t(
                'The newest alarms are not shown any more.',
                'Die neuesten Alarme werden nicht mehr angezeigt.',
              )}
          <button type="button" onClick={list.again}>
            {t('Show the newest', 'Die neuesten zeigen')}
          </button>
        </p>
      )}
      {alarms.length > 0 && (
        <table class="history-table card-table">
          <thead>
            <tr>
              {Object.values(columnNames()).map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {alarms.map((alarm) => (
              <AlarmRow
                key={keyOfRow(alarm)}
                alarm={alarm}
                locationId={alarm.location?.id ?? search.locationId}
                onStep={list.stepTaken}
              />
            ))}
          </tbody>
        </table>
      )}
      {isEmpty && <Empty search={search} onChange={onChange} />}
      <p role="status" class="hint">
        {isPending && t('Reading the history …', 'Der Verlauf wird gelesen …')}
        {nextCursor !== undefined &&
          ` ${t(`Alarms shown: ${number(alarms.length)}`, `Angezeigte Alarme: ${number(alarms.length)}`)}. `}
        {nextCursor === null && alarms.length > 0 && t('These are all.', 'Das sind alle.')}
      </p>
      <FailureText failure={failure} onRetry={nextCursor === undefined ? list.again : list.more} />
      {!isPending && failure === undefined && typeof nextCursor === 'string' && (
        <button type="button" onClick={list.more}>
          {t('Older alarms', 'Ältere Alarme')}
        </button>
      )}
    </section>
  );
}

function Empty({ search, onChange }: AlarmListProps) {
  const isFiltered = filterCount(search) > 0;
  return (
    <div class="row">
      <p>
        {hasTime(search) || isFiltered
          ? t('No alarms in this time.', 'Keine Alarme in diesem Zeitraum.')
          : t('No alarms yet.', 'Noch keine Alarme.')}
      </p>
      {hasTime(search) && (
        <button type="button" onClick={() => onChange({ ...search, ...ANY_TIME })}>
          {t('Any time', 'Gesamter Zeitraum')}
        </button>
      )}
      {isFiltered && (
        <button type="button" onClick={() => onChange({ ...search, ...ANY_ALARM })}>
          {t('Remove the filters', 'Filter entfernen')}
        </button>
      )}
    </div>
  );
}

const columnNames = () => ({
  kind: t('Kind', 'Art'),
  detected: t('Detected', 'Erkannt'),
  place: t('Place', 'Ort'),
  state: t('State', 'Stand'),
  buttons: t('Details', 'Einzelheiten'),
});

interface AlarmRowProps {
  readonly alarm: ListedAlarm;
  readonly locationId: string;
  readonly onStep: (step: Step) => void;
}

type Part = Medium | 'details';

function AlarmRow({ alarm, locationId, onStep }: AlarmRowProps) {
  // One at a time: two recordings must not play at once.
  const [opened, setOpened] = useState<Part>();
  const { kind, detectedAt, state } = alarm;
  const known = kindOf(kind);
  const names = columnNames();
  const subject = `${nameOfKind(kind)}, ${dateTime(detectedAt)}`;
  const open = alarmOfHistory(alarm, { id: locationId, name: '' });
  return (
    <Fragment>
      <tr>
        <th scope="row">
          <span class="history-kind">
            {known !== undefined && <KindIcon kind={known} />}
            {nameOfKind(kind)}
          </span>
        </th>
        <td data-label={names.detected}>
          <Times alarm={alarm} />
        </td>
        <td data-label={names.place}>
          <Place alarm={alarm} />
        </td>
        <td data-label={names.state}>
          <StateOf alarm={alarm} />
        </td>
        <td class="history-buttons">
          <div class="row">
            {(['details', ...mediaOf(alarm)] as const).map((part) => (
              <OpenButton
                key={part}
                part={part}
                subject={subject}
                isOpen={opened === part}
                onChange={(isOpen) => setOpened(isOpen ? part : undefined)}
              />
            ))}
            {state !== 'resolved' && (
              <AlarmActions
                alarms={[open]}
                title={subject}
                onStep={(states) => onStep(stepOfAnswer(open.key, states))}
              />
            )}
          </div>
        </td>
      </tr>
      {opened !== undefined && (
        <tr>
          <td class="history-opened" colSpan={Object.keys(names).length}>
            {opened === 'details' ? (
              <AlarmDetails alarm={alarm} locationId={locationId} />
            ) : (
              <RecordingPlayer key={opened} alarm={alarm} locationId={locationId} type={opened} />
            )}
          </td>
        </tr>
      )}
    </Fragment>
  );
}

interface OpenButtonProps {
  readonly part: Part;
  /** The alarm in words. */
  readonly subject: string;
  readonly isOpen: boolean;
  readonly onChange: (isOpen: boolean) => void;
}

function OpenButton({ part, subject, isOpen, onChange }: OpenButtonProps) {
  const text = {
    details: t('Details', 'Einzelheiten'),
    video: t('Play video', 'Video abspielen'),
    audio: t('Play audio', 'Ton abspielen'),
  }[part];
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      // It begins with the visible text: users of voice control say what they see.
      aria-label={`${text}: ${subject}`}
      onClick={() => onChange(!isOpen)}
    >
      {text}
    </button>
  );
}

interface OfAlarm {
  readonly alarm: ListedAlarm;
}

/** When it was detected, and when it was received if much later. */
function Times({ alarm: { detectedAt, receivedAt } }: OfAlarm) {
  const isLate = Date.parse(receivedAt) - Date.parse(detectedAt) > LATE_MS;
  return (
    <div>
      <time dateTime={detectedAt}>{dateTime(detectedAt)}</time>{' '}
      <span class="hint">
        <TimeAgo at={detectedAt} />
      </span>
      {isLate && (
        <div class="history-late">
          {t('Received', 'Empfangen')}: <time dateTime={receivedAt}>{dateTime(receivedAt)}</time>
        </div>
      )}
    </div>
  );
}

function Place({ alarm: { room, group, location, device } }: OfAlarm) {
  const around = [group?.name, location?.name].filter((name) => name !== undefined);
  return (
    <div>
      {room === null ? device.name : `${room.name}, ${device.name}`}
      {around.length > 0 && <div class="hint">{around.join(', ')}</div>}
    </div>
  );
}

/** The state, and who set it. */
function StateOf({ alarm: { state, acknowledgedBy, resolvedBy, test } }: OfAlarm) {
  const author = resolvedBy ?? acknowledgedBy;
  return (
    <div class="history-state">
      <span class={`badge ${state}`}>{stateNames()[state]}</span>{' '}
      {test === true && <span class="badge">{t('Test', 'Test')}</span>}
      {author !== undefined && <div class="hint">{author.name}</div>}
    </div>
  );
}
