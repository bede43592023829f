/** A row of the board: an alarm, or equal alarms of one device, with what a nurse needs to go and to answer for it. */

import type { ComponentChildren } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import { KindIcon, kindOf } from '../kinds.js';
import { t } from '../language.js';
import { Recordings } from '../recording.js';
import { exactJson, plainText } from '../request.js';
import { TimeAgo } from '../ui/bits.js';
import { AlarmActions } from './actions.js';
import { alarmTitle, compareAlarms, type OpenAlarm, urgencyOf } from './alarm.js';
import { resolving } from './changes.js';

/** Equal open alarms of one device, the newest first. */
export type AlarmsOfRow = readonly [OpenAlarm, ...OpenAlarm[]];

/** A sensor that alarms again this soon chatters: if its row moved each time, no button could be tapped. */
const CHATTERS_WITHIN_MS = 60_000;

/** A chattering sensor has one row, in the place of the first alarm since it was quiet. */
export function rowsOf(alarms: readonly OpenAlarm[]): readonly AlarmsOfRow[] {
  const rows = new Map<string, [OpenAlarm, ...OpenAlarm[]]>();
  for (const alarm of alarms) {
    const { device, kind, state, isTest, key } = alarm;
    // Those that come while others can still be taken back have a row of their own.
    const isLeaving = resolving.value.has(key);
    const equal = JSON.stringify([device.id, kind, state, isTest, isLeaving]);
    const row = rows.get(equal);
    if (row === undefined) rows.set(equal, [alarm]);
    else row.push(alarm);
  }
  return [...rows.values()].sort((one, other) => compareAlarms(beginOf(one), beginOf(other)));
}

function beginOf(alarms: AlarmsOfRow): OpenAlarm {
  let [begin] = alarms;
  for (const alarm of alarms) {
    if (begin.receivedAtMs - alarm.receivedAtMs > CHATTERS_WITHIN_MS) break;
    begin = alarm;
  }
  return begin;
}

/** Numbers rows so that each keeps its own while it has an alarm of those before: what is typed in it stays. */
export class RowNumbers {
  /** By the keys of the alarms. */
  #numbers = new Map<string, number>();
  #last = 0;

  of(rows: readonly AlarmsOfRow[]): readonly number[] {
    const before = this.#numbers;
    const taken = new Set<number>();
    this.#numbers = new Map();
    return rows.map((row) => {
      const own = row.map(({ key }) => before.get(key) ?? Number.POSITIVE_INFINITY);
      // Where rows become one, that which was there first.
      const first = Math.min(...own.filter((number) => !taken.has(number)));
      if (first === Number.POSITIVE_INFINITY) this.#last += 1;
      const number = first === Number.POSITIVE_INFINITY ? this.#last : first;
      taken.add(number);
      for (const { key } of row) this.#numbers.set(key, number);
      return number;
    });
  }
}

interface AlarmRowProps {
  readonly alarms: AlarmsOfRow;
  /** Whether alarms of several homes are shown. */
  readonly hasHome: boolean;
  /** Whether the newest has just arrived. */
  readonly isNew: boolean;
}

/** A row; not redrawn while others come and go. */
export function AlarmRow({ alarms, hasHome, isNew }: AlarmRowProps) {
  return useMemo(
    () => <Row alarms={alarms} hasHome={hasHome} isNew={isNew} />,
    [...alarms, hasHome, isNew],
  );
}

function Row({ alarms, hasHome, isNew }: AlarmRowProps) {
  const [alarm] = alarms;
  const title = alarmTitle(alarm);
  const titleId = useId();
  const kind = kindOf(alarm.kind);
  const { room, group, device, location } = alarm;
  const place = [hasHome ? location.name : undefined, group?.name, room && device.name];
  const isResolved = resolving.value.has(alarm.key);
  const classes = ['board-alarm', isResolved ? 'resolved' : urgencyOf(alarm), isNew ? 'new' : ''];
  const recorded = alarms.find(({ footage }) => footage.length > 0);
  return (
    <li>
      <article class={classes.join(' ')} tabIndex={-1} aria-labelledby={titleId}>
        <span class="board-kind">{kind !== undefined && <KindIcon kind={kind} />}</span>
        <div class="board-what">
          <h2 id={titleId}>{title}</h2>
          <p class="board-place">{place.filter(Boolean).join(' · ')}</p>
          <CustomData alarm={alarm} />
        </div>
        <Signs alarms={alarms} isNew={isNew} />
        <div class="board-doing">
          <AlarmActions alarms={alarms} title={title} />
          {recorded !== undefined && <Recordings alarm={recorded} locationId={location.id} />}
        </div>
      </article>
    </li>
  );
}

/** When it was, its state, and what is special about it. */
function Signs({ alarms, isNew }: Omit<AlarmRowProps, 'hasHome'>) {
  const [alarm] = alarms;
  const { state, acknowledged, note, isLate, isTest, escalations } = alarm;
  const badges: readonly (readonly [isShown: boolean, text: string, title?: string])[] = [
    [isNew, t('New', 'Neu')],
    [
      isLate,
      t('Late', 'Verspätet'),
      t(
        'Forwarded more than a minute after it was received.',
        'Mehr als eine Minute nach dem Eingang weitergeleitet.',
      ),
    ],
    [isTest, t('Test', 'Test')],
  ];
  return (
    <div class="board-signs">
      <p class="board-time">
        <TimeAgo at={alarm.detectedAt} />
      </p>
      <Several alarms={alarms} />
      <p class="board-badges">
        <span class={`badge ${state}`}>
          {state === 'raised' ? t('Raised', 'Ausgelöst') : t('Acknowledged', 'Quittiert')}
        </span>
        {badges.map(([isShown, text, title]) =>
          isShown ? (
            <span key={text} class="badge" title={title}>
              {text}
            </span>
          ) : null,
        )}
        {escalations.length > 0 && (
          <span
            class="badge escalated"
            title={t(
              'Nobody acknowledged it in time, so it was sent on.',
              'Niemand hat ihn rechtzeitig quittiert, daher wurde er weitergegeben.',
            )}
          >
            {t('Escalated', 'Eskaliert')}
          </span>
        )}
      </p>
      {acknowledged !== undefined && (
        <p>
          {t(`Acknowledged by ${acknowledged.by}`, `Quittiert von ${acknowledged.by}`)},{' '}
          <TimeAgo at={acknowledged.at} />
        </p>
      )}
      {note !== undefined && <p class="board-note">{`${t('Note', 'Notiz')}: ${note}`}</p>}
    </div>
  );
}

/** How many equal alarms there are, and since when. */
function Several({ alarms }: Pick<AlarmRowProps, 'alarms'>) {
  const oldest = alarms[alarms.length - 1];
  if (alarms.length < 2 || oldest === undefined) return null;
  return (
    <p>
      {t(`${alarms.length} alarms, the first`, `${alarms.length} Alarme, der erste`)}{' '}
      <TimeAgo at={oldest.detectedAt} />
    </p>
  );
}

/** The device's custom data. What only programs use is hidden behind *More*. */
function CustomData({ alarm: { customData, escalations } }: { readonly alarm: OpenAlarm }) {
  const members = Object.entries(customData);
  const isReadable = ([name, value]: readonly [string, unknown]) =>
    !/(?:I|_i|-i|^i)d$/.test(name) &&
    (isPlain(value) || (Array.isArray(value) && value.every(isPlain)));
  const more: (readonly [string, ComponentChildren])[] = [
    ...members
      .filter((one) => !isReadable(one))
      .map(([name, value]) => [name, textOf(value)] as const),
    ...(escalations.length > 0
      ? [[t('Escalated to', 'Eskaliert an'), escalations.join(', ')] as const]
      : []),
  ];
  return (
    <>
      <Members of={members.filter(isReadable).map(([name, value]) => [name, textOf(value)])} />
      {more.length > 0 && (
        <details class="board-more-data">
          <summary>{t('More', 'Mehr')}</summary>
          <Members of={more} />
        </details>
      )}
    </>
  );
}

function Members({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) {
  if (of.length === 0) return null;
  return (
    <dl class="board-custom-data">
      {of.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return plainText(value);
  if (typeof value === 'boolean') return value ? t('yes', 'ja') : t('no', 'nein');
  if (value === null) return '–';
  if (Array.isArray(value) && value.every(isPlain)) return value.map(textOf).join(', ');
  return exactJson(value);
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}
