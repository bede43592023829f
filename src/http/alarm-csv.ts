/** Alarms as CSV (RFC 4180, CONTRACT 2). */

import type { AlarmRecord } from '../site/alarm-history.js';
import type { FootageUrls } from '../site/footage.js';
import { placedAlarmView } from './schemas/alarm.js';

export const CSV_MEDIA_TYPE = 'text/csv';
export const CSV_CONTENT_TYPE = `${CSV_MEDIA_TYPE}; charset=utf-8; header=present`;

const COLUMNS = [
  ...['id', 'kind', 'detectedAt', 'receivedAt', 'deviceId', 'deviceName', 'roomId', 'roomName'],
  ...['groupId', 'groupName', 'data', 'customData', 'video', 'audio'],
  ...['state', 'acknowledgedById', 'acknowledgedByName', 'acknowledgedAt'],
  ...['resolvedById', 'resolvedByName', 'resolvedAt', 'note'],
];
const LINE_END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]/;

export const CSV_HEADER = line(COLUMNS);

/** The line of an alarm, in the order of the columns; missing values are empty. */
export function csvLine(record: AlarmRecord, urls: FootageUrls): string {
  const { id, kind, detectedAt, receivedAt, footage, ...view } = placedAlarmView(record, urls);
  const { state, acknowledgedBy, acknowledgedAt, resolvedBy, resolvedAt, note } = view;
  const { device, room, group, data, customData } = record;
  return line([
    ...[id, kind, detectedAt, receivedAt, device.id, device.name, room?.id, room?.name],
    ...[group?.id, group?.name, data, customData, footage.video, footage.audio],
    ...[state, acknowledgedBy?.id, acknowledgedBy?.name, acknowledgedAt],
    ...[resolvedBy?.id, resolvedBy?.name, resolvedAt, note],
  ]);
}

function line(fields: readonly (string | null | undefined)[]): string {
  return fields.map((field) => quoted(field ?? '')).join(',') + LINE_END;
}

function quoted(field: string): string {
  return NEEDS_QUOTES.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
