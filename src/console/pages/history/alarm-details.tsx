import type { ComponentChildren } from 'preact';
import type { Alarm } from '../../api.js';
import { useConsole, useWords } from '../../console-parts.js';
import { exactJson } from '../../request.js';
import { hrefTo } from '../../routing.js';
import { dateTime } from '../../ui/time-ago.js';
import { AlarmDeliveries } from './alarm-deliveries.js';
import { HISTORY_WORDS } from './history-words.js';
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
  const { language } = useConsole();
  const words = useWords(HISTORY_WORDS);
  if (shown !== 'details') {
    return <RecordingPlayer key={shown} alarm={alarm} locationId={locationId} type={shown} />;
  }
  const time = (at: string | undefined) =>
    at === undefined ? undefined : dateTime(at, language.current.value);
  const { acknowledgedBy, acknowledgedAt, resolvedBy, resolvedAt, note } = alarm;
  return (
    <dl class="history-details">
      <Detail name={words.received}>{time(alarm.receivedAt)}</Detail>
      <Detail name={words.group}>{alarm.group?.name}</Detail>
      <Detail name={acknowledgedBy && words.acknowledgedBy(acknowledgedBy.name)}>
        {time(acknowledgedAt)}
      </Detail>
      <Detail name={resolvedBy && words.resolvedBy(resolvedBy.name)}>{time(resolvedAt)}</Detail>
      <Detail name={words.note}>{note}</Detail>
      <Detail name={words.deliveries}>
        <AlarmDeliveries alarm={alarm} locationId={locationId} />
      </Detail>
      <Detail name={words.customData}>
        <Json value={alarm.customData} />
      </Detail>
      <Detail name={words.data}>
        <Json value={alarm.data} />
      </Detail>
      <Detail name={alarm.base64 === undefined ? undefined : words.payload}>
        <code>{alarm.base64}</code>
      </Detail>
      <Detail name={words.alarmId}>
        <code>{alarm.id}</code> <ReportLink alarm={alarm} locationId={locationId} />
      </Detail>
    </dl>
  );
}

function ReportLink({ alarm, locationId }: Omit<AlarmDetailsProps, 'shown'>) {
  const { routing } = useConsole();
  const words = useWords(HISTORY_WORDS);
  if (routing.place.value.path === REPORT_PATH) return null;
  const query = { location: locationId, alarm: alarm.id, device: alarm.deviceId };
  return (
    <a class="history-noprint" href={hrefTo(REPORT_PATH, query)}>
      {words.report}
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
  const words = useWords(HISTORY_WORDS);
  const isEmpty = typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  if (isEmpty) {
    return <span class="hint">{words.none}</span>;
  }
  return <pre class="history-json">{exactJson(value, 2)}</pre>;
}
