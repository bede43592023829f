/** The state of an alarm: raised, then acknowledged, then resolved (docs/reference/contract.md, 2). */

import type { AlarmKind, InvalidPublishReason } from './alarms.js';
import { parseNote } from './names.js';
import { formatTime, isUuid, parseJson, payloadText } from './notation.js';

export const ALARM_STATES = ['raised', 'acknowledged', 'resolved'] as const;
export type AlarmState = (typeof ALARM_STATES)[number];

/** The states that somebody gives an alarm; until then, it is raised. */
export const GIVEN_STATES = ['acknowledged', 'resolved'] as const;
export type GivenState = (typeof GIVEN_STATES)[number];

/** An access token, with the name that it had then. */
export interface StateAuthor {
  readonly id: string;
  readonly name: string;
}

/** Who gave an alarm a state, and when. */
export interface StateStep {
  readonly by: StateAuthor;
  readonly atMs: number;
}

/** The stored states of one alarm. */
export interface AlarmStateRecord {
  readonly state: AlarmState;
  readonly acknowledged?: StateStep | undefined;
  readonly resolved?: StateStep | undefined;
  /** The newest note. */
  readonly note?: string | undefined;
}

/** An alarm that nobody has touched. */
export const RAISED: AlarmStateRecord = { state: 'raised' };

/** A change as a responder publishes it. */
export interface PublishedState {
  readonly id: string;
  readonly state: GivenState;
  readonly note: string | undefined;
}

export type PublishedStateResult =
  | { readonly change: PublishedState }
  | { readonly reason: InvalidPublishReason };

/** Parses the payload of `care-homes/<l>/devices/<d>/alarm-states`; other fields are ignored. */
export function parsePublishedState(payload: Uint8Array): PublishedStateResult {
  const text = payloadText(payload);
  const value = text === undefined ? undefined : parseJson(text);
  if (value === undefined) return { reason: 'not-json' };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { reason: 'not-an-object' };
  }
  const fields = new Map<string, unknown>(Object.entries(value));
  const id = fields.get('id');
  const state = GIVEN_STATES.find((known) => known === fields.get('state'));
  const note = publishedNote(fields.get('note'));
  if (typeof id !== 'string' || !isUuid(id) || state === undefined || note === undefined) {
    return { reason: 'invalid-alarm-state' };
  }
  return { change: { id: id.toLowerCase(), state, note: note ?? undefined } };
}

/** The note; null for none, undefined if it is invalid. */
function publishedNote(sent: unknown): string | null | undefined {
  if (sent === undefined || sent === null) return null;
  if (typeof sent !== 'string') return undefined;
  const result = parseNote(sent);
  return 'note' in result ? result.note : undefined;
}

/** A change as forwarded. */
export interface ForwardedState extends StateStep {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly state: GivenState;
  /** The note of this change. */
  readonly note: string | undefined;
}

/**
 * Renders `care-homes/<l>/devices/<d>/alarm-states/<kind>`.
 *
 * @param contextText `DeviceContext.text` at the time of the alarm
 */
export function alarmStateText(change: ForwardedState, contextText: string): string {
  const { id, kind, state, by, atMs, note } = change;
  const author = JSON.stringify({ id: by.id, name: by.name });
  return (
    `{"id":"${id}","kind":"${kind}","state":"${state}","by":${author},"at":"${formatTime(atMs)}"` +
    `${note === undefined ? '' : `,"note":${JSON.stringify(note)}`},${contextText}}`
  );
}
