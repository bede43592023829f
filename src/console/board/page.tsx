/** The board: the open alarms of all homes that the token may see, or of the chosen one; on a wall with less around. */

import './board.css';
import { useComputed } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../language.js';
import { live } from '../live.js';
import { hrefTo, place } from '../place.js';
import { ALL_HOMES, session } from '../session.js';
import { tabNote } from '../shell.js';
import { FailureText } from '../ui/bits.js';
import { openDialog } from '../ui/dialog.js';
import { Choice } from '../ui/fields.js';
import { loadedLater } from '../ui/load.js';
import type { OpenAlarm } from './alarm.js';
import { Announcer } from './announcer.js';
import { outcome, resolving, takeStep, useSentOnLeave } from './changes.js';
import { Notices } from './notices.js';
import { chooseHome, chosenHomeId, openAlarms } from './open-alarms.js';
import { AlarmRow, RowNumbers, rowsOf } from './row.js';
import { isOnPage, nowMs, sound } from './sound.js';
import { BelowLine, WallHead } from './wall.js';

/** The most rows drawn: more cannot be read at a glance, and an old tablet cannot draw them. */
const MAX_ROWS = 200;
/** From this many rows on, they are lower, so that as many as possible are in sight. */
const DENSE_FROM = 6;
const NEW_FOR_MS = 60_000;
/** Longer than it takes to notice that a row has moved, and than the pause within a double tap. */
const SETTLES_IN_MS = 400;

// Lazy: only administrators need them, and both draw QR codes.
const FirstSteps = loadedLater(async () => (await import('../home/first-steps.js')).FirstSteps);
const WallLinkDialog = loadedLater(async () => (await import('./wall-link.js')).WallLinkDialog);

export function BoardPage() {
  useSentOnLeave();
  const { shown, homes, isCut, isRead } = openAlarms;
  const alarms = useComputed(() => shown.value.filter(isOnPage)).value;
  const isKnown = isAllKnown();
  const count = `${alarms.length}${isCut.value ? '+' : ''}`;
  useTabNote(count === '0' ? '' : `(${count})`);
  const isKiosk = place.value.query.has('kiosk');
  const chosen = chosenHomeId.value;
  const isWithoutHome = isRead.value && homes.value.length === 0;
  if (isWithoutHome && session.isAdmin.value && !isKiosk) return <NoHome />;
  return (
    <div class={isKiosk ? 'board kiosk' : 'board'}>
      <div class="board-head">
        {isKiosk && <WallHead />}
        <h1>
          {isKnown
            ? t(`Open alarms: ${count}`, `Offene Alarme: ${count}`)
            : t('Open alarms', 'Offene Alarme')}
        </h1>
        <ResolveTests alarms={alarms} />
        <Tools />
      </div>
      <p class="board-outcome" role="status">
        {outcome.value}
      </p>
      <Announcer />
      <Notices
        homes={homes.value.filter(({ id }) => chosen === undefined || id === chosen)}
        isBesideAlarms={alarms.length > 0}
        isKiosk={isKiosk}
      />
      <AlarmList alarms={alarms} isKiosk={isKiosk} />
      {session.isAdmin.value && !isKiosk && (
        <button type="button" onClick={() => openDialog(<WallLinkDialog />)}>
          {t('Link for a wall screen', 'Link für einen Wandbildschirm')}
        </button>
      )}
    </div>
  );
}

function NoHome() {
  return (
    <>
      <h1>{t('No home yet', 'Noch kein Heim')}</h1>
      <FirstSteps />
    </>
  );
}

/** An empty or short list means nothing while alarms may be missing from it. */
function isAllKnown(): boolean {
  const { isRead, failure } = openAlarms;
  return live.state.value !== 'lost' && isRead.value && failure.value === undefined;
}

/** Shows the number of alarms in the tab title. */
function useTabNote(note: string): void {
  useEffect(() => {
    tabNote.value = note;
    return () => {
      tabNote.value = '';
    };
  }, [note]);
}

/** Resolves all test alarms together, if there are several. */
function ResolveTests({ alarms }: { readonly alarms: readonly OpenAlarm[] }) {
  const tests = alarms.filter(
    ({ key, isTest, location, group }) =>
      isTest &&
      !resolving.value.has(key) &&
      session.may('responder', location.id, group?.id ?? null),
  );
  if (tests.length < 2) return null;
  const resolveAll = () => void takeStep({ alarms: tests, state: 'resolved', note: '' });
  return (
    <button type="button" onClick={resolveAll}>
      {t(`Resolve all ${tests.length} tests`, `Alle ${tests.length} Tests erledigen`)}
    </button>
  );
}

/** The sound, and the choice of a home. */
function Tools() {
  const homes = openAlarms.homes.value;
  return (
    <div class="board-tools row">
      <SoundControl />
      {homes.length > 1 && (
        <Choice
          label={t('Home', 'Heim')}
          value={chosenHomeId.value ?? ALL_HOMES}
          options={[
            [ALL_HOMES, t('All homes', 'Alle Heime')],
            ...homes.map(({ id, name }) => [id, name] as const),
          ]}
          onChange={(id) => chooseHome(id === ALL_HOMES ? undefined : id)}
        />
      )}
    </div>
  );
}

const soundStates = () => ({
  off: t('Sound is off', 'Ton ist aus'),
  on: t('Sound is on', 'Ton ist an'),
  blocked: t('Sound is blocked', 'Ton ist gesperrt'),
});

/** Whether the board has sound; off is clearly visible. */
function SoundControl() {
  const state = sound.state.value;
  return (
    <fieldset class="board-sound row">
      <legend class="visually-hidden">{t('Sound', 'Ton')}</legend>
      <span class={`board-sound-state dot ${state === 'on' ? 'good' : 'bad'}`} role="status">
        {soundStates()[state]}
      </span>
      {state === 'off' ? (
        <button type="button" class="primary" onClick={() => sound.switchOn()}>
          {t('Switch sound on', 'Ton einschalten')}
        </button>
      ) : (
        <>
          <button type="button" disabled={state === 'blocked'} onClick={() => sound.play('raised')}>
            {t('Test the sound', 'Ton testen')}
          </button>
          <button type="button" onClick={() => sound.switchOff()}>
            {t('Switch sound off', 'Ton ausschalten')}
          </button>
        </>
      )}
      {state === 'blocked' && (
        <p class="bad" role="alert">
          {t(
            'The browser allows no sound until you press a key or click on this page.',
            'Der Browser erlaubt keinen Ton, bis Sie eine Taste drücken oder auf diese Seite klicken.',
          )}
        </p>
      )}
    </fieldset>
  );
}

interface AlarmListProps {
  /** The most urgent first. */
  readonly alarms: readonly OpenAlarm[];
  readonly isKiosk: boolean;
}

/** The first of the open alarms, or a note that there are none, if that is known. */
function AlarmList({ alarms, isKiosk }: AlarmListProps) {
  const [rowNumbers] = useState(() => new RowNumbers());
  const rows = rowsOf(alarms);
  const numbers = rowNumbers.of(rows);
  const drawn = rows.slice(0, MAX_ROWS);
  const list = useRef<HTMLOListElement>(null);
  // A finger already on its way would press the button of another alarm.
  const pause = () => {
    list.current?.animate({ pointerEvents: ['none', 'none'] }, SETTLES_IN_MS);
  };
  useLayoutEffect(() => {
    let top = list.current?.offsetTop;
    const observer = new ResizeObserver(() => {
      if (list.current?.offsetTop !== top) pause();
      top = list.current?.offsetTop;
    });
    // What comes and goes above the list moves it.
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(pause, [drawn.map((row, index) => numbers[index] + row[0].state).join()]);
  const hidden = rows.slice(MAX_ROWS).reduce((count, row) => count + row.length, 0);
  return (
    <>
      <NotRead />
      {alarms.length === 0 && <Nothing />}
      <ol ref={list} class={rows.length >= DENSE_FROM ? 'board-list dense' : 'board-list'}>
        {drawn.map((row, index) => (
          <AlarmRow
            key={numbers[index]}
            alarms={row}
            hasHome={openAlarms.homes.value.length > 1}
            isNew={row[0].isLive && nowMs.value - row[0].receivedAtMs < NEW_FOR_MS}
          />
        ))}
      </ol>
      {isKiosk ? <BelowLine list={list} rows={rows} /> : <More count={hidden} />}
    </>
  );
}

function NotRead() {
  const failure = openAlarms.failure.value;
  if (live.state.value !== 'connected' || failure === undefined) return null;
  return (
    <div class="board-not-read">
      <p>
        {t(
          'The alarms from before could not be read; new ones are shown. Trying again …',
          'Die früheren Alarme konnten nicht gelesen werden; neue werden angezeigt. Neuer Versuch …',
        )}
      </p>
      <FailureText failure={failure} />
    </div>
  );
}

/** An empty list alone is ambiguous: there may be no alarms, or no news of them. */
function Nothing() {
  if (isAllKnown()) {
    const isWithoutHome = openAlarms.homes.value.length === 0;
    return (
      <p class="board-none">
        {isWithoutHome
          ? t('No home yet.', 'Noch kein Heim.')
          : t('No open alarms', 'Keine offenen Alarme')}
      </p>
    );
  }
  return (
    <p class="board-none" role="status">
      {live.state.value === 'lost'
        ? t(
            'Whether there are open alarms is not known at the moment.',
            'Ob es offene Alarme gibt, ist zurzeit nicht bekannt.',
          )
        : t('Reading the open alarms …', 'Die offenen Alarme werden gelesen …')}
    </p>
  );
}

function More({ count }: { readonly count: number }) {
  const isCut = openAlarms.isCut.value;
  if (count === 0 && !isCut) return null;
  const query = { state: 'raised,acknowledged', location: chosenHomeId.value ?? ALL_HOMES };
  return (
    <p class="board-more">
      {isCut
        ? t('More', 'Weitere')
        : t(`${count} more`, count === 1 ? '1 weiterer' : `${count} weitere`)}{' '}
      <a href={hrefTo('/history', query)}>{t('in the history', 'im Verlauf')}</a>
    </p>
  );
}
