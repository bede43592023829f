/**
 * Texts of forwarded messages (contract 3), composed of JSON texts, never re-serialised.
 *
 * Alarms are in `alarm.ts`.
 */

import type { InvalidPublishReason } from './alarm.js';
import { decodeUtf8, isJson } from './json.js';
import type { Device, Group, Location, Room } from './site.js';
import { formatTime } from './time.js';

/** A device with its place at one moment, and both as text for every message. */
export interface DeviceContext {
  readonly device: Device;
  readonly location: Location;
  readonly room: Room | null;
  readonly group: Group | null;
  /** `"device":…,"location":…,"room":…,"group":…,"customData":…`, without braces. */
  readonly text: string;
}

/** The id and the name of a thing. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

/** A device's place and custom data at one moment. */
export interface NamedPlace {
  readonly device: Named;
  readonly location: Named;
  readonly room: Named | null;
  readonly group: Named | null;
  /** JSON text of the device's custom data. */
  readonly customData: string;
}

/** Composes a device's context. */
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
export function contextText({ device, location, room, group, customData }: NamedPlace): string {
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

/** Renders `care-homes/<l>/devices/<d>/<anything>`: the JSON value as sent, else the bytes. */
export function messageText(payload: Buffer, context: DeviceContext, receivedAtMs: number): string {
  const text = decodeUtf8(payload);
  const value =
    text !== undefined && isJson(text)
      ? `"data":${text}`
      : `"base64":"${payload.toString('base64')}"`;
  return `{"receivedAt":"${formatTime(receivedAtMs)}",${value},${context.text}}`;
}

/** Renders `care-homes/<l>/devices/<d>/status`, with its `statusRest`. */
export function statusText(online: boolean, sinceMs: number, rest: string): string {
  return `{"online":${online},"since":"${formatTime(sinceMs)}${rest}`;
}

/** The rest of a status: the hub, if any, and the place. */
export function statusRest(via: Named | undefined, context: DeviceContext): string {
  const hub = via === undefined ? '' : `"via":${named(via)},`;
  // Begins with the quotation mark that ends the time: the rest without a hub is no part of one with a hub.
  return `",${hub}${context.text}}`;
}

/** A publish that cannot be used. */
export interface InvalidPublish {
  readonly reason: InvalidPublishReason;
  readonly topic: string;
  readonly payload: Buffer;
  readonly receivedAtMs: number;
}

/** Renders `care-homes/<l>/devices/<d>/rejected`; without a context, the device's own message. */
export function invalidPublishText(
  invalidPublish: InvalidPublish,
  context: DeviceContext | undefined,
): string {
  const parts = [
    `"reason":${JSON.stringify(invalidPublish.reason)}`,
    `"topic":${JSON.stringify(invalidPublish.topic)}`,
    `"base64":"${invalidPublish.payload.toString('base64')}"`,
    `"receivedAt":"${formatTime(invalidPublish.receivedAtMs)}"`,
  ];
  if (context !== undefined) parts.push(context.text);
  return `{${parts.join(',')}}`;
}
