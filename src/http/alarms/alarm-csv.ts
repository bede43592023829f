import type { FootageType } from '../../domain/alarm.js';
import { type CsvForm, csvLine } from '../csv.js';
import { placedAlarmView } from '../schemas/alarm.js';
import type { AlarmPage, ShownAlarm } from './alarm-page.js';

const PLACE_COLUMNS = ['deviceId', 'deviceName', 'roomId', 'roomName', 'groupId', 'groupName'];
const STEP_COLUMNS = ['acknowledgedById', 'acknowledgedByName', 'acknowledgedAt'];
const LAST_COLUMNS = ['resolvedById', 'resolvedByName', 'resolvedAt', 'note'];
const COLUMNS = ['id', 'kind', 'detectedAt', 'receivedAt']
  .concat(PLACE_COLUMNS, ['data', 'customData', 'video', 'audio'])
  .concat(['state'], STEP_COLUMNS, LAST_COLUMNS);

export const ALARM_CSV_COLUMNS: readonly string[] = COLUMNS;
/** The columns of a listing of several locations. */
export const PLACED_ALARM_CSV_COLUMNS = ['locationId', 'locationName'].concat(COLUMNS);

/** The lines of a page. */
export function alarmCsvLines(
  { alarms }: AlarmPage,
  isOfSeveralLocations: boolean,
  form: CsvForm,
): string {
  const lines = alarms.map((alarm) => {
    const { id, name } = alarm.record.location;
    const cells = cellsOf(alarm, form);
    return csvLine(isOfSeveralLocations ? [id, name, ...cells] : cells, form.separator);
  });
  return lines.join('');
}

/** The cells of an alarm, in the order of the columns. */
function cellsOf(
  { record, footage }: ShownAlarm,
  { timeText }: CsvForm,
): (string | null | undefined)[] {
  const shown = (time: string | undefined) => (time === undefined ? time : timeText(time));
  const { id, kind, detectedAt, receivedAt, ...view } = placedAlarmView(record, footage);
  const { state, acknowledgedBy, acknowledgedAt, resolvedBy, resolvedAt, note } = view;
  const { device, room, group, data, customData } = record;
  const recording = (type: FootageType) => {
    if ('video' in footage) return footage[type];
    return footage.includes(type) ? 'yes' : '';
  };
  const cells: (string | null | undefined)[] = [id, kind, shown(detectedAt), shown(receivedAt)];
  cells.push(device.id, device.name, room?.id, room?.name, group?.id, group?.name);
  cells.push(data, customData, recording('video'), recording('audio'));
  cells.push(state, acknowledgedBy?.id, acknowledgedBy?.name, shown(acknowledgedAt));
  cells.push(resolvedBy?.id, resolvedBy?.name, shown(resolvedAt), note);
  return cells;
}
