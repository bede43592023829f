import type { Alarm } from '../../api.js';
import { KindIcon, KindName, kindName, kindOf } from '../../kinds.js';
import { dateTime, t } from '../../language.js';
import { TimeAgo } from '../../ui/bits.js';
import type { HistoryAlarm } from './alarm-pages.js';
import { stateNames } from './alarm-states.js';
import type { Opened, Part } from './use-opened.js';

/** With a longer delay between detection and receipt, both are shown. */
const LATE_MS = 60_000;

interface OfAlarm {
  readonly alarm: HistoryAlarm;
}

export function AlarmKind({ kind }: { readonly kind: string }) {
  const known = kindOf(kind);
  return (
    <span class="history-kind">
      {known === undefined ? (
        kind
      ) : (
        <>
          <KindIcon kind={known} />
          <KindName kind={known} />
        </>
      )}
    </span>
  );
}

/** When it was detected, and when it was received if much later. */
export function AlarmTimes({ alarm: { detectedAt, receivedAt } }: OfAlarm) {
  const isLate = Date.parse(receivedAt) - Date.parse(detectedAt) > LATE_MS;
  return (
    <span class="history-times">
      <span>{dateTime(detectedAt)}</span>
      <span class="hint">
        <TimeAgo at={detectedAt} />
      </span>
      {isLate && (
        <span class="history-late">
          {t('Received', 'Empfangen')}: {dateTime(receivedAt)}
        </span>
      )}
    </span>
  );
}

export function AlarmPlace({ alarm: { room, group, location } }: OfAlarm) {
  return (
    <span class="history-place">
      {location && `${location.name} `}
      {room?.name} {group !== null && <span class="hint">{group.name}</span>}
    </span>
  );
}

/** The state and who set it. */
export function AlarmState({ alarm }: OfAlarm) {
  const { state, acknowledgedBy, resolvedBy, test } = alarm;
  const author = resolvedBy ?? acknowledgedBy;
  return (
    <span class="history-state">
      <span class={`badge ${state}`}>{stateNames()[state]}</span>
      {test === true && <span class="badge">{t('Test', 'Test')}</span>}
      {author !== undefined && <span class="hint">{author.name}</span>}
    </span>
  );
}

function isListed({ footage }: Alarm, type: 'video' | 'audio'): boolean {
  return Array.isArray(footage) && footage.includes(type);
}

/** The buttons that open an alarm's details and recordings. */
export function AlarmButtons({ alarm, opened }: OfAlarm & { readonly opened: Opened }) {
  const kind = kindOf(alarm.kind);
  const parts: [Part, string][] = [['details', t('Details', 'Einzelheiten')]];
  if (isListed(alarm, 'video')) parts.push(['video', t('Play video', 'Video abspielen')]);
  if (isListed(alarm, 'audio')) parts.push(['audio', t('Play audio', 'Ton abspielen')]);
  // The name begins with the visible text: users of voice control say what they see.
  const of = `${kind === undefined ? alarm.kind : kindName(kind)}, ${dateTime(alarm.detectedAt)}`;
  return (
    <span class="history-buttons">
      {parts.map(([part, text]) => (
        <button
          key={part}
          type="button"
          aria-expanded={opened.shown === part}
          aria-label={`${text}: ${of}`}
          onClick={() => opened.toggle(part)}
        >
          {text}
        </button>
      ))}
    </span>
  );
}
