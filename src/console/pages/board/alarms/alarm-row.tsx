import { memo } from 'preact/compat';
import { useId } from 'preact/hooks';
import { KindIcon, kindOf } from '../../../kinds.js';
import { t } from '../../../language.js';
import { TimeAgo } from '../../../ui/bits.js';
import type { ChangeAlarm } from '../alarm-changes.js';
import { urgencyOf } from '../alarm-order.js';
import type { DelayedResolves } from '../delayed-resolves.js';
import type { OpenAlarm } from '../open-alarm.js';
import { AlarmActions } from './alarm-actions.js';
import { AlarmRecording } from './alarm-recording.js';
import { alarmTitle } from './alarm-title.js';
import { CustomData } from './custom-data.js';

const stateNames = () => ({
  raised: t('Raised', 'Ausgelöst'),
  acknowledged: t('Acknowledged', 'Quittiert'),
});

interface AlarmRowProps {
  readonly alarm: OpenAlarm;
  /** Whether alarms of several homes are shown. */
  readonly hasHome: boolean;
  /** Whether it has just arrived. */
  readonly isNew: boolean;
  readonly change: ChangeAlarm;
  readonly resolves: DelayedResolves;
}

/** One open alarm; not redrawn while others come and go. */
export const AlarmRow = memo(function AlarmRow(props: AlarmRowProps) {
  const { alarm, hasHome, isNew, change, resolves } = props;
  const title = alarmTitle(alarm);
  const titleId = useId();
  const kind = kindOf(alarm.kind);
  const { room, group, device, location } = alarm;
  const place = [hasHome ? location.name : undefined, group?.name, device.name];
  const classes = ['board-alarm', urgencyOf(alarm), isNew ? 'new' : ''].join(' ');
  return (
    <li>
      <article class={classes} tabIndex={-1} aria-labelledby={titleId}>
        <span class="board-kind">{kind !== undefined && <KindIcon kind={kind} />}</span>
        <div class="board-what">
          <h2 id={titleId} class={room === null ? 'no-room' : undefined}>
            {title}
          </h2>
          <p class="board-place">{place.filter((name) => name !== undefined).join(' · ')}</p>
          <CustomData values={alarm.customData} />
        </div>
        <AlarmSigns alarm={alarm} isNew={isNew} />
        <div class="board-doing">
          <AlarmActions alarm={alarm} title={title} change={change} resolves={resolves} />
          <AlarmRecording alarm={alarm} />
        </div>
      </article>
    </li>
  );
});

/** An alarm's time, its state, and what is special about it. */
function AlarmSigns({ alarm, isNew }: Pick<AlarmRowProps, 'alarm' | 'isNew'>) {
  const { state, acknowledged, note } = alarm;
  return (
    <div class="board-signs">
      <p class="board-time">
        <TimeAgo at={alarm.detectedAt} />
      </p>
      <p class="board-badges">
        <span class={`badge ${state}`}>{stateNames()[state]}</span>
        {isNew && <span class="badge">{t('New', 'Neu')}</span>}
        {alarm.isLate && (
          <span
            class="badge"
            title={t(
              'Forwarded more than a minute after it was received.',
              'Mehr als eine Minute nach dem Eingang weitergeleitet.',
            )}
          >
            {t('Late', 'Verspätet')}
          </span>
        )}
        {alarm.isTest && <span class="badge">{t('Test', 'Test')}</span>}
        {alarm.escalations.map((name) => (
          <span
            key={name}
            class="badge escalated"
            title={t(
              'Nobody acknowledged it in time, so it was sent on.',
              'Niemand hat ihn rechtzeitig quittiert, daher wurde er weitergegeben.',
            )}
          >
            {t(`Escalated: ${name}`, `Eskaliert: ${name}`)}
          </span>
        ))}
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
