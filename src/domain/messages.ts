/** The texts of forwarded messages (CONTRACT 3): assembled from JSON texts, never re-serialised. Alarms: `alarms.ts`. */

import { decodeUtf8, formatTime, isJson } from './notation.js';
import type { Device, Group, Location, Room } from './site.js';

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
