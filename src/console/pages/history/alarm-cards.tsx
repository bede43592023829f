import { AlarmDetails } from './alarm-details.js';
import { AlarmButtons, AlarmKind, AlarmPlace, AlarmState, AlarmTimes } from './alarm-parts.js';
import type { AlarmRowProps, AlarmRowsProps } from './alarm-table.js';
import { OpenAlarmActions } from './open-alarm-actions.js';
import { useOpened } from './use-opened.js';

/** Alarms on a phone. */
export function AlarmCards({ alarms, locationId, changes }: AlarmRowsProps) {
  return (
    <ol class="history-cards">
      {alarms.map((alarm) => (
        <AlarmCard
          key={`${alarm.deviceId}/${alarm.id}`}
          alarm={alarm}
          locationId={alarm.location?.id ?? locationId}
          changes={changes}
        />
      ))}
    </ol>
  );
}

function AlarmCard({ alarm, locationId, changes }: AlarmRowProps) {
  const opened = useOpened();
  return (
    <li>
      <div class="history-card-head">
        <AlarmKind kind={alarm.kind} />
        <AlarmState alarm={alarm} />
      </div>
      <div>
        {alarm.device.name}
        {alarm.room !== null && ', '}
        <AlarmPlace alarm={alarm} />
      </div>
      <AlarmTimes alarm={alarm} />
      <AlarmButtons alarm={alarm} opened={opened} />
      <OpenAlarmActions alarm={alarm} locationId={locationId} changes={changes} />
      {opened.shown !== undefined && (
        <AlarmDetails alarm={alarm} locationId={locationId} shown={opened.shown} />
      )}
    </li>
  );
}
