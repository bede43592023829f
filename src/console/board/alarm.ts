/** An unresolved alarm as the console shows it: from a message or from the history, its title, and how urgent it is. */

import type { Alarm, AlarmStates, Named } from '../api.js';
import { type Kind, kindName, kindOf } from '../kinds.js';
import { t } from '../language.js';
import type { LiveMessage } from '../live.js';
import { recordOf, textsOf } from '../request.js';

/** Who acknowledged an alarm, and when. */
interface Acknowledgement {
  readonly by: string;
  readonly at: string;
}

/** An unresolved alarm. */
export interface OpenAlarm {
  readonly key: string;
  readonly id: string;
  /** One of a newer gateway may be unknown here. */
  readonly kind: string;
  readonly detectedAt: string;
  readonly detectedAtMs: number;
  readonly receivedAtMs: number;
  /** When people could first know of it: when it was received or, if later, shown here. */
  readonly knownAtMs: number;
  readonly isLate: boolean;
  readonly isTest: boolean;
  /** Whether it arrived while the console was open. */
  readonly isLive: boolean;
  /** Whether it is in the history: its live copy comes ahead of its record. */
  readonly isRecorded: boolean;
  readonly footage: ('video' | 'audio')[];
  /** The names of the escalations made because it was not acknowledged in time. */
  readonly escalations: readonly string[];
  readonly device: Named;
  readonly location: Named;
  readonly room: Named | null;
  readonly group: Named | null;
  readonly customData: Readonly<Record<string, unknown>>;
  readonly state: 'raised' | 'acknowledged';
  readonly acknowledged: Acknowledgement | undefined;
  readonly note: string | undefined;
}

/** A step that somebody took: from the stream, or from the answer to a request. */
export interface Step extends Acknowledgement {
  readonly key: string;
  readonly state: 'acknowledged' | 'resolved';
  readonly note: string | undefined;
}

/** Kinds in which a person lies on the floor or calls for help. */
export const URGENT_KINDS: readonly Kind[] = ['fall', 'helpCall'];
const URGENCIES = ['urgent', 'raised', 'test', 'acknowledged'] as const;

/** How urgent an alarm is, the most urgent first. */
export type Urgency = (typeof URGENCIES)[number];

export function urgencyOf({ state, isTest, kind }: OpenAlarm): Urgency {
  if (state === 'acknowledged') return 'acknowledged';
  if (isTest) return 'test';
  return URGENT_KINDS.some((urgent) => urgent === kind) ? 'urgent' : 'raised';
}

/** The most urgent first, and among equals the newest. */
export function compareAlarms(one: OpenAlarm, other: OpenAlarm): number {
  const rank = (alarm: OpenAlarm) => URGENCIES.indexOf(urgencyOf(alarm));
  return rank(one) - rank(other) || other.receivedAtMs - one.receivedAtMs;
}

/** Names an alarm: its kind, and where somebody has to go. */
export function alarmTitle({ kind, room, device }: OpenAlarm): string {
  const known = kindOf(kind);
  return `${known === undefined ? kind : kindName(known)}, ${(room ?? device).name}`;
}

/** Names an alarm for someone who cannot see the board. */
export function alarmAnnouncement(alarm: OpenAlarm): string {
  const title = alarmTitle(alarm);
  return alarm.room === null ? title : `${title}, ${alarm.device.name}`;
}

/** How many more there are than those named. */
export function andMore(count: number): string {
  return t(`and ${count} more`, count === 1 ? 'und 1 weiterer' : `und ${count} weitere`);
}

/** A device chooses the ids of its alarms. */
export function keyOf({ id, device }: Readonly<Record<string, unknown>>): string | undefined {
  const deviceId = namedOf(device)?.id;
  return deviceId === undefined || typeof id !== 'string' ? undefined : `${deviceId}/${id}`;
}

/** An id with its name, as in a payload; null if it is something else. */
export function namedOf(value: unknown): Named | null {
  const { id, name } = recordOf(value);
  return typeof id === 'string' && typeof name === 'string' ? { id, name } : null;
}

/** `alarms` of `care-homes/<location>/devices/<device>/alarms/<kind>`. */
export function sortOf(topic: string): string | undefined {
  return topic.split('/')[4];
}

/**
 * A forwarded alarm; undefined if the message is something else.
 *
 * @param nowMs when it arrived
 */
export function alarmOfMessage(
  { topic, payload, isRecorded }: LiveMessage,
  nowMs: number,
): OpenAlarm | undefined {
  if (sortOf(topic) !== 'alarms') return undefined;
  const { id, kind, detectedAt, receivedAt, customData } = payload;
  const key = keyOf(payload);
  const device = namedOf(payload['device']);
  const location = namedOf(payload['location']);
  if (key === undefined || device === null || location === null) return undefined;
  if (typeof id !== 'string' || typeof kind !== 'string') return undefined;
  if (typeof detectedAt !== 'string' || typeof receivedAt !== 'string') return undefined;
  const receivedAtMs = Date.parse(receivedAt);
  return {
    key,
    id,
    kind,
    detectedAt,
    device,
    location,
    isRecorded,
    detectedAtMs: Date.parse(detectedAt),
    receivedAtMs,
    knownAtMs: Math.max(nowMs, receivedAtMs),
    isLate: payload['late'] === true,
    isTest: payload['test'] === true,
    isLive: true,
    footage: mediaIn(payload['footage']),
    escalations: [],
    room: namedOf(payload['room']),
    group: namedOf(payload['group']),
    customData: recordOf(customData),
    state: 'raised',
    acknowledged: undefined,
    note: undefined,
  };
}

/** An unresolved alarm from the history. */
export function alarmOfHistory(event: Alarm, location: Named): OpenAlarm {
  const { id, kind, detectedAt, device, room, group, note, customData } = event;
  const { acknowledgedBy: by, acknowledgedAt: at } = event;
  const receivedAtMs = Date.parse(event.receivedAt);
  return {
    key: `${device.id}/${id}`,
    id,
    kind,
    detectedAt,
    device,
    location,
    room,
    group,
    note,
    customData,
    receivedAtMs,
    detectedAtMs: Date.parse(detectedAt),
    knownAtMs: receivedAtMs,
    // The history tells neither when it was forwarded nor whether it was escalated: the next one says so.
    isLate: false,
    escalations: [],
    isTest: event.test === true,
    isLive: false,
    isRecorded: true,
    footage: mediaIn(event.footage),
    state: event.state === 'acknowledged' ? 'acknowledged' : 'raised',
    acknowledged: by === undefined || at === undefined ? undefined : { by: by.name, at },
  };
}

function mediaIn(footage: unknown): OpenAlarm['footage'] {
  const listed = textsOf(footage);
  return (['video', 'audio'] as const).filter((medium) => listed.includes(medium));
}

/** A forwarded step; undefined if the message is something else. */
export function stepOfMessage({ topic, payload }: LiveMessage): Step | undefined {
  if (sortOf(topic) !== 'alarm-states') return undefined;
  const { state, at, note } = payload;
  const key = keyOf(payload);
  if (key === undefined || typeof at !== 'string') return undefined;
  if (state !== 'acknowledged' && state !== 'resolved') return undefined;
  const by = namedOf(payload['by'])?.name ?? '';
  return { key, state, at, by, note: typeof note === 'string' ? note : undefined };
}

/** The newest step in the gateway's answer to a change. */
export function stepOfAnswer(key: string, states: AlarmStates): Step {
  const { acknowledgedBy, acknowledgedAt, resolvedBy, resolvedAt, note } = states;
  return states.state === 'resolved'
    ? { key, state: 'resolved', by: resolvedBy?.name ?? '', at: resolvedAt ?? '', note }
    : {
        key,
        state: 'acknowledged',
        by: acknowledgedBy?.name ?? '',
        at: acknowledgedAt ?? '',
        note,
      };
}

export function withStep(alarm: OpenAlarm, { by, at, note }: Step): OpenAlarm {
  if (alarm.acknowledged !== undefined) return alarm;
  return { ...alarm, state: 'acknowledged', acknowledged: { by, at }, note: note ?? alarm.note };
}

/** The live copy and the stored alarm are the same, and an acknowledged alarm stays acknowledged. */
export function merged(held: OpenAlarm, again: OpenAlarm): OpenAlarm {
  const { state, acknowledged, note } = held.state === 'acknowledged' ? held : again;
  return {
    ...again,
    state,
    acknowledged,
    note,
    knownAtMs: held.knownAtMs,
    isLive: held.isLive || again.isLive,
    isLate: held.isLate || again.isLate,
    isRecorded: held.isRecorded || again.isRecorded,
    escalations: [...new Set([...held.escalations, ...again.escalations])],
  };
}
