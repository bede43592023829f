import type { ComponentChildren } from 'preact';
import type { Alarm } from '../../api.js';
import { useConsole } from '../../console-parts.js';
import { dateTime, t } from '../../language.js';
import { hrefTo } from '../../place.js';
import { exactJson } from '../../request.js';
import { AlarmDeliveries } from './alarm-deliveries.js';
import { RecordingPlayer } from './recording-player.js';
import { REPORT_PATH } from './report-path.js';
import type { Part } from './use-opened.js';

interface AlarmDetailsProps {
  readonly alarm: Alarm;
  readonly locationId: string;
  readonly shown: Part;
}

/** One of an alarm's recordings, or everything about it that does not fit in its row. */
export function AlarmDetails({ alarm, locationId, shown }: AlarmDetailsProps) {
  if (shown !== 'details') {
    return <RecordingPlayer key={shown} alarm={alarm} locationId={locationId} type={shown} />;
  }
  const time = (at: string | undefined) => (at === undefined ? undefined : dateTime(at));
  const { acknowledgedBy, acknowledgedAt, resolvedBy, resolvedAt, note } = alarm;
  return (
    <dl class="history-details">
      <Detail name={t('Received', 'Empfangen')}>{time(alarm.receivedAt)}</Detail>
      <Detail name={t('Group', 'Gruppe')}>{alarm.group?.name}</Detail>
      <Detail
        name={
          acknowledgedBy &&
          t(`Acknowledged by ${acknowledgedBy.name}`, `Quittiert von ${acknowledgedBy.name}`)
        }
      >
        {time(acknowledgedAt)}
      </Detail>
      <Detail
        name={resolvedBy && t(`Resolved by ${resolvedBy.name}`, `Erledigt von ${resolvedBy.name}`)}
      >
        {time(resolvedAt)}
      </Detail>
      <Detail name={t('Note', 'Notiz')}>{note}</Detail>
      <Detail name={t('Delivered to', 'Zugestellt an')}>
        <AlarmDeliveries alarm={alarm} locationId={locationId} />
      </Detail>
      <Detail name={t('Custom data', 'Eigene Daten')}>
        <Json value={alarm.customData} />
      </Detail>
      <Detail name={t('Data of the device', 'Daten des Geräts')}>
        <Json value={alarm.data} />
      </Detail>
      <Detail
        name={alarm.base64 === undefined ? undefined : t('Payload (base64)', 'Inhalt (base64)')}
      >
        <code>{alarm.base64}</code>
      </Detail>
      <Detail name={t('Alarm', 'Alarm')}>
        <code>{alarm.id}</code> <ReportLink alarm={alarm} locationId={locationId} />
      </Detail>
    </dl>
  );
}

function ReportLink({ alarm, locationId }: Omit<AlarmDetailsProps, 'shown'>) {
  const { routing } = useConsole();
  if (routing.place.value.path === REPORT_PATH) return null;
  const query = { location: locationId, alarm: alarm.id, device: alarm.deviceId };
  return (
    <a class="history-noprint" href={hrefTo(REPORT_PATH, query)}>
      {t('Alarm report', 'Alarmbericht')}
    </a>
  );
}

/** A line; nothing if there is nothing to show. */
function Detail({
  name,
  children,
}: {
  readonly name: string | undefined;
  readonly children: ComponentChildren;
}) {
  if (name === undefined || children === undefined) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Json({ value }: { readonly value: unknown }) {
  const isEmpty = typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  if (isEmpty) {
    return <span class="hint">{t('None', 'Keine')}</span>;
  }
  return <pre class="history-json">{exactJson(value, 2)}</pre>;
}
