import { useLayoutEffect, useRef } from 'preact/hooks';
import { useConsole } from '../../../console-parts.js';
import { t } from '../../../language.js';
import { hrefTo } from '../../../place.js';
import { FailureText } from '../../../ui/bits.js';
import { ALL_HOMES } from '../../history/history-search.js';
import type { ChangeAlarm } from '../alarm-changes.js';
import { BelowLine } from '../below-line.js';
import type { DelayedResolves } from '../delayed-resolves.js';
import type { OpenAlarm } from '../open-alarm.js';
import type { useBoard } from '../use-board.js';
import { AlarmRow } from './alarm-row.js';

/** From this many alarms on, rows are lower, so that as many as possible are in sight. */
const DENSE_FROM = 6;
const NEW_FOR_MS = 60_000;
/** Longer than it takes to notice that a row has moved, and than the pause within a double tap. */
const SETTLES_IN_MS = 400;

interface AlarmListProps {
  readonly board: ReturnType<typeof useBoard>;
  /** The most urgent first. */
  readonly shown: readonly OpenAlarm[];
  /** How many more are known to be open. */
  readonly rest: number;
  /** Whether there are more than these. */
  readonly isCut: boolean;
  readonly change: ChangeAlarm;
  readonly resolves: DelayedResolves;
  readonly isKiosk: boolean;
}

/** The first of the open alarms, or a note that there are none, if that is known. */
export function AlarmList(props: AlarmListProps) {
  const { board, shown, rest, isCut, change, resolves, isKiosk } = props;
  const { live } = useConsole();
  const { feed, isKnown, nowMs } = board;
  const { locations, maxRows, isBurst, failure } = feed.state.value;
  const isConnected = live.state.value === 'connected';
  const hasHome = locations.length > 1;
  const drawn = shown.slice(0, maxRows);
  const classes = ['board-list', isBurst ? 'burst' : '', shown.length >= DENSE_FROM ? 'dense' : ''];
  const list = useRef<HTMLOListElement>(null);
  // A finger already on its way would press the button of another alarm.
  useLayoutEffect(() => {
    list.current?.animate({ pointerEvents: ['none', 'none'] }, SETTLES_IN_MS);
  }, [drawn.map(({ key, state }) => key + state).join()]);
  return (
    <>
      {isConnected && failure !== undefined && (
        <div class="board-not-read">
          <p>
            {t(
              'The alarms from before could not be read; new ones are shown. Trying again …',
              'Die früheren Alarme konnten nicht gelesen werden; neue werden angezeigt. Neuer Versuch …',
            )}
          </p>
          <FailureText failure={failure} />
        </div>
      )}
      {shown.length === 0 && <Nothing isKnown={isKnown.value} />}
      <ol ref={list} class={classes.join(' ')}>
        {drawn.map((alarm) => (
          <AlarmRow
            key={alarm.key}
            alarm={alarm}
            hasHome={hasHome}
            isNew={alarm.isLive && nowMs.value - alarm.receivedAtMs < NEW_FOR_MS}
            change={change}
            resolves={resolves}
          />
        ))}
      </ol>
      {isKiosk ? (
        <BelowLine list={list} shown={shown} rest={rest} isCut={isCut} />
      ) : (
        <More board={board} count={Math.max(0, shown.length - maxRows) + rest} isCut={isCut} />
      )}
    </>
  );
}

/** An empty list alone is ambiguous: there may be no alarms, or no news of them. */
function Nothing({ isKnown }: { readonly isKnown: boolean }) {
  const { live } = useConsole();
  if (isKnown) return <p class="board-none">{t('No open alarms', 'Keine offenen Alarme')}</p>;
  const isReading = live.state.value !== 'lost';
  return (
    <p class="board-unknown" role="status">
      {isReading
        ? t('Reading the open alarms …', 'Die offenen Alarme werden gelesen …')
        : t(
            'Whether there are open alarms is not known at the moment.',
            'Ob es offene Alarme gibt, ist zurzeit nicht bekannt.',
          )}
    </p>
  );
}

interface MoreProps extends Pick<AlarmListProps, 'board' | 'isCut'> {
  readonly count: number;
}

function More({ board, count, isCut }: MoreProps) {
  if (count === 0 && !isCut) return null;
  const home = board.homeId.value;
  const query = { state: 'raised,acknowledged', location: home ?? ALL_HOMES };
  return (
    <p class="board-more">
      {isCut
        ? t(`More than ${count} more`, `Mehr als ${count} weitere`)
        : t(`${count} more`, count === 1 ? '1 weiterer' : `${count} weitere`)}{' '}
      <a href={hrefTo('/history', query)}>{t('in the history', 'im Verlauf')}</a>
    </p>
  );
}
