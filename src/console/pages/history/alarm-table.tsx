import { Fragment } from 'preact';
import { t } from '../../language.js';
import { AlarmDetails } from './alarm-details.js';
import type { HistoryAlarm } from './alarm-pages.js';
import { AlarmButtons, AlarmKind, AlarmPlace, AlarmState, AlarmTimes } from './alarm-parts.js';
import { type ListChanges, OpenAlarmActions } from './open-alarm-actions.js';
import { useOpened } from './use-opened.js';

export interface AlarmRowsProps {
  readonly alarms: readonly HistoryAlarm[];
  /** Of those that do not name their own home. */
  readonly locationId: string;
  readonly changes: ListChanges;
}

/** One alarm of a list. */
export interface AlarmRowProps extends Omit<AlarmRowsProps, 'alarms'> {
  readonly alarm: HistoryAlarm;
}

/** Alarms on a wide screen. */
export function AlarmTable({ alarms, locationId, changes }: AlarmRowsProps) {
  return (
    <table class="history-table">
      <thead>
        <tr>
          <th scope="col">{t('Kind', 'Art')}</th>
          <th scope="col">{t('Detected', 'Erkannt')}</th>
          <th scope="col">{t('Room', 'Zimmer')}</th>
          <th scope="col">{t('Device', 'Gerät')}</th>
          <th scope="col">{t('State', 'Stand')}</th>
          <th scope="col">{t('Details', 'Einzelheiten')}</th>
        </tr>
      </thead>
      <tbody>
        {alarms.map((alarm) => (
          <AlarmRow
            key={`${alarm.deviceId}/${alarm.id}`}
            alarm={alarm}
            locationId={alarm.location?.id ?? locationId}
            changes={changes}
          />
        ))}
      </tbody>
    </table>
  );
}

const COLUMNS = 6;

function AlarmRow({ alarm, locationId, changes }: AlarmRowProps) {
  const opened = useOpened();
  return (
    <Fragment>
      <tr>
        <th scope="row">
          <AlarmKind kind={alarm.kind} />
        </th>
        <td>
          <AlarmTimes alarm={alarm} />
        </td>
        <td>
          <AlarmPlace alarm={alarm} />
        </td>
        <td>{alarm.device.name}</td>
        <td>
          <AlarmState alarm={alarm} />
        </td>
        <td>
          <AlarmButtons alarm={alarm} opened={opened} />
          <OpenAlarmActions alarm={alarm} locationId={locationId} changes={changes} />
        </td>
      </tr>
      {opened.shown !== undefined && (
        <tr>
          <td colSpan={COLUMNS}>
            <AlarmDetails alarm={alarm} locationId={locationId} shown={opened.shown} />
          </td>
        </tr>
      )}
    </Fragment>
  );
}
