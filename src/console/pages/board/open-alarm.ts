import type { Alarm } from '../../api.js';
import type { LiveMessage } from '../../live.js';
import { recordOf, textsOf } from '../../request.js';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Who acknowledged an alarm, and when. */
interface Acknowledgement {
  readonly by: string;
  readonly at: string;
}

/** An unresolved alarm, as the board shows it. */
export interface OpenAlarm {
  readonly key: string;
  readonly id: string;
  readonly kind: string;
  readonly detectedAt: string;
  readonly detectedAtMs: number;
  readonly receivedAtMs: number;
  /** When people could first know of it: when it was received or, if later, shown here. */
  readonly knownAtMs: number;
  readonly isLate: boolean;
  readonly isTest: boolean;
  /** Whether it arrived while the board was open. */
  readonly isLive: boolean;
  /** Whether it is in the history: its live copy comes ahead of its record. */
  readonly isRecorded: boolean;
  readonly recordings: readonly string[];
  /** The names of the escalations made because the alarm was not acknowledged in time. */
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

/** A state that someone gave an alarm. */
export interface StateChange {
  readonly key: string;
  readonly state: 'acknowledged' | 'resolved';
  readonly by: string;
  readonly at: string;
  readonly note: string | undefined;
}

/** Identifies an alarm: a device chooses the ids of its alarms. */
export function alarmKey(deviceId: string, alarmId: string): string {
  return `${deviceId}/${alarmId}`;
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
  if (!isOfTopic(topic, 'alarms')) return undefined;
  const { id, kind, detectedAt, receivedAt } = payload;
  const device = namedOf(payload['device']);
  const location = namedOf(payload['location']);
  if (device === null || location === null) return undefined;
  if (typeof id !== 'string' || typeof kind !== 'string') return undefined;
  if (typeof detectedAt !== 'string' || typeof receivedAt !== 'string') return undefined;
  return {
    key: alarmKey(device.id, id),
    id,
    kind,
    detectedAt,
    device,
    location,
    detectedAtMs: Date.parse(detectedAt),
    receivedAtMs: Date.parse(receivedAt),
    knownAtMs: Math.max(nowMs, Date.parse(receivedAt)),
    isLate: payload['late'] === true,
    isTest: payload['test'] === true,
    isLive: true,
    isRecorded,
    recordings: textsOf(payload['footage']),
    escalations: [],
    room: namedOf(payload['room']),
    group: namedOf(payload['group']),
    customData: recordOf(payload['customData']),
    state: 'raised',
    acknowledged: undefined,
    note: undefined,
  };
}

/** A forwarded change of an alarm's state; undefined if the message is something else. */
export function changeOfMessage({ topic, payload }: LiveMessage): StateChange | undefined {
  if (!isOfTopic(topic, 'alarm-states')) return undefined;
  const { id, state, at, note } = payload;
  const device = namedOf(payload['device']);
  if (device === null || typeof id !== 'string' || typeof at !== 'string') return undefined;
  if (state !== 'acknowledged' && state !== 'resolved') return undefined;
  return {
    key: alarmKey(device.id, id),
    state,
    at,
    by: namedOf(payload['by'])?.name ?? '',
    note: typeof note === 'string' ? note : undefined,
  };
}

/** The escalation of an alarm. */
export interface MadeEscalation {
  readonly key: string;
  readonly name: string;
}

/** A forwarded escalation; undefined if the message is something else. */
export function escalationOfMessage({ topic, payload }: LiveMessage): MadeEscalation | undefined {
  if (!isOfTopic(topic, 'escalations')) return undefined;
  const device = namedOf(payload['device']);
  const { name } = recordOf(payload['escalation']);
  const { id } = payload;
  if (device === null || typeof id !== 'string' || typeof name !== 'string') return undefined;
  return { key: alarmKey(device.id, id), name };
}

/** An unresolved alarm from the history. */
export function alarmOfHistory(event: Alarm, location: Named): OpenAlarm {
  const { id, kind, detectedAt, device, room, group, footage, note } = event;
  const { acknowledgedBy: by, acknowledgedAt: at } = event;
  return {
    key: alarmKey(device.id, id),
    id,
    kind,
    detectedAt,
    device,
    room,
    group,
    note,
    location: { id: location.id, name: location.name },
    detectedAtMs: Date.parse(detectedAt),
    receivedAtMs: Date.parse(event.receivedAt),
    knownAtMs: Date.parse(event.receivedAt),
    // The history does not tell when it was forwarded.
    isLate: false,
    isTest: event.test === true,
    isLive: false,
    isRecorded: true,
    recordings: textsOf(footage),
    // Nor whether it was escalated: the next one says so.
    escalations: [],
    customData: event.customData,
    state: event.state === 'acknowledged' ? 'acknowledged' : 'raised',
    acknowledged: by === undefined || at === undefined ? undefined : { by: by.name, at },
  };
}

/** `care-homes/<location>/devices/<device>/<sort>/<kind>` */
function isOfTopic(topic: string, sort: string): boolean {
  return topic.split('/')[4] === sort;
}

function namedOf(value: unknown): Named | null {
  const { id, name } = recordOf(value);
  return typeof id === 'string' && typeof name === 'string' ? { id, name } : null;
}
