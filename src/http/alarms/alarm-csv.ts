import type { FootageType } from '../../domain/alarms.js';
import { csvLine } from '../csv.js';
import { placedAlarmView } from '../schemas/alarm.js';
import type { AlarmPage, ShownAlarm } from './alarm-page.js';

const PLACE_COLUMNS = ['deviceId', 'deviceName', 'roomId', 'roomName', 'groupId', 'groupName'];
const STEP_COLUMNS = ['acknowledgedById', 'acknowledgedByName', 'acknowledgedAt'];
const LAST_COLUMNS = ['resolvedById', 'resolvedByName', 'resolvedAt', 'note'];
const COLUMNS = ['id', 'kind', 'detectedAt', 'receivedAt']
  .concat(PLACE_COLUMNS, ['data', 'customData', 'video', 'audio'])
  .concat(['state'], STEP_COLUMNS, LAST_COLUMNS);

export const ALARM_CSV_HEADER = csvLine(COLUMNS);
/** The header of a listing of several locations. */
export const PLACED_ALARM_CSV_HEADER = csvLine(['locationId', 'locationName'].concat(COLUMNS));

/** The lines of a page. */
export function alarmCsvLines({ alarms }: AlarmPage, isOfSeveralLocations: boolean): string {
  const lines = alarms.map((alarm) => {
    const { id, name } = alarm.record.location;
    const cells = cellsOf(alarm);
    return csvLine(isOfSeveralLocations ? [id, name, ...cells] : cells);
  });
  return lines.join('');
}

/** The cells of an alarm, in the order of the columns. */
function cellsOf({ record, footage }: ShownAlarm): (string | null | undefined)[] {
  const { id, kind, detectedAt, receivedAt, ...view } = placedAlarmView(record, footage);
  const { state, acknowledgedBy, acknowledgedAt, resolvedBy, resolvedAt, note } = view;
  const { device, room, group, data, customData } = record;
  const recording = (type: FootageType) => {
    if ('video' in footage) return footage[type];
    return footage.includes(type) ? 'yes' : '';
  };
  const cells: (string | null | undefined)[] = [id, kind, detectedAt, receivedAt];
  cells.push(device.id, device.name, room?.id, room?.name, group?.id, group?.name);
  cells.push(data, customData, recording('video'), recording('audio'));
  cells.push(state, acknowledgedBy?.id, acknowledgedBy?.name, acknowledgedAt);
  cells.push(resolvedBy?.id, resolvedBy?.name, resolvedAt, note);
  return cells;
}
