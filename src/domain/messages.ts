/** The texts of forwarded messages (CONTRACT 3): assembled from JSON texts, never re-serialised. */

import type { Alarm } from './alarms.js';
import { FOOTAGE_TYPES } from './alarms.js';
import { decodeUtf8, isJson } from './json-text.js';
import type { Device, Group, Location, Room } from './site.js';
import { formatTime } from './times.js';

/** A device with its place at one moment, and the text of both for every message until it changes. */
export interface DeviceContext {
  readonly device: Device;
  readonly location: Location;
  readonly room: Room | null;
  readonly group: Group | null;
  /** `"device":…,"location":…,"room":…,"group":…,"customData":…`, without braces. */
  readonly text: string;
}

interface Named {
  readonly id: string;
  readonly name: string;
}

interface NamedContext {
  readonly device: Named;
  readonly location: Named;
  readonly room: Named | null;
  readonly group: Named | null;
  /** JSON text of an object. */
  readonly customData: string;
}

/** Puts a device's context together. */
export function deviceContext(
  device: Device,
  location: Location,
  room: Room | null,
  group: Group | null,
): DeviceContext {
  const { customData } = device;
  const text = contextText({ device, location, room, group, customData });
  return { device, location, room, group, text };
}

/** `DeviceContext.text` of these names. */
export function contextText({ device, location, room, group, customData }: NamedContext): string {
  return [
    `"device":${named(device)}`,
    `"location":${named(location)}`,
    `"room":${named(room)}`,
    `"group":${named(group)}`,
    `"customData":${customData}`,
  ].join(',');
}

function named(thing: Named | null): string {
  return thing === null ? 'null' : JSON.stringify({ id: thing.id, name: thing.name });
}

/** The part of an alarm that its forwarded message shows. */
export type ForwardedAlarm = Pick<
  Alarm,
  'id' | 'kind' | 'detectedAtMs' | 'reportedAt' | 'footage' | 'data'
>;

const LATE = ',"late":true}';
const NOT_LATE = ',"late":false}';
const NOT_LATE_BYTES = NOT_LATE.length;

/**
 * `care-homes/<l>/devices/<d>/alarms/<kind>`, with `"late":false`.
 *
 * @param contextText `DeviceContext.text` as of the alarm: live from memory, later from its record
 */
export function alarmText(
  alarm: ForwardedAlarm,
  contextText: string,
  receivedAtMs: number,
): string {
  const { id, kind, detectedAtMs, reportedAt, footage, data } = alarm;
  const detectedAt = formatTime(detectedAtMs);
  const receivedAt = detectedAtMs === receivedAtMs ? detectedAt : formatTime(receivedAtMs);
  const recordings = FOOTAGE_TYPES.filter((type) => footage[type] !== undefined);
  return (
    `{"id":"${id}","kind":"${kind}","detectedAt":"${detectedAt}","receivedAt":"${receivedAt}"` +
    (reportedAt === undefined ? '' : `,"reportedAt":${reportedAt}`) +
    `,"footage":${recordings.length === 0 ? '[]' : JSON.stringify(recordings)}` +
    (data === undefined ? '' : `,"data":${data}`) +
    `,${contextText}${NOT_LATE}`
  );
}

/** The payload of `alarmText` with `"late":true`. */
export function asLate(payload: Buffer): Buffer {
  return Buffer.concat([payload.subarray(0, -NOT_LATE_BYTES), Buffer.from(LATE)]);
}

/** `care-homes/<l>/devices/<d>/<anything>`: the device's JSON value as sent, else its bytes. */
export function messageText(payload: Buffer, context: DeviceContext, receivedAtMs: number): string {
  const text = decodeUtf8(payload);
  const value =
    text !== undefined && isJson(text)
      ? `"data":${text}`
      : `"base64":"${payload.toString('base64')}"`;
  return `{"receivedAt":"${formatTime(receivedAtMs)}",${value},${context.text}}`;
}

/** `care-homes/<l>/devices/<d>/status`. */
export function statusText(online: boolean, sinceMs: number, context: DeviceContext): string {
  return `{"online":${online},"since":"${formatTime(sinceMs)}",${context.text}}`;
}

/** A publish that could not be used. */
export interface Rejection {
  readonly reason: string;
  readonly topic: string;
  readonly payload: Buffer;
  readonly receivedAtMs: number;
}

/** `care-homes/<l>/devices/<d>/rejected`; without a context, as the device itself gets it. */
export function rejectedText(rejection: Rejection, context: DeviceContext | undefined): string {
  const parts = [
    `"reason":${JSON.stringify(rejection.reason)}`,
    `"topic":${JSON.stringify(rejection.topic)}`,
    `"base64":"${rejection.payload.toString('base64')}"`,
    `"receivedAt":"${formatTime(rejection.receivedAtMs)}"`,
  ];
  if (context !== undefined) parts.push(context.text);
  return `{${parts.join(',')}}`;
}
