/** The state of an alarm: raised, then acknowledged, then resolved (contract 2). */

import { z } from 'zod';
import type { AlarmKind, InvalidPublishReason } from './alarm.js';
import { isUuid } from './ids.js';
import { isObject, own, parseJson, payloadText } from './json.js';
import { parseText } from './names.js';
import { formatTime } from './time.js';

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

export const authorSchema = z.object({ id: z.string(), name: z.string() });
const stepSchema = z.object({ by: authorSchema, atMs: z.number() });
const statesSchema = z.object({
  acknowledged: stepSchema.optional(),
  resolved: stepSchema.optional(),
  note: z.string().optional(),
});

/** Reads the states of an alarm as `statesText` writes them; raised if it has none or they are unreadable. */
export function readStates(text: string): AlarmStateRecord {
  const states = text === '' ? undefined : statesSchema.safeParse(parseJson(text)).data;
  if (states === undefined) return RAISED;
  return { state: states.resolved === undefined ? 'acknowledged' : 'resolved', ...states };
}

/** The states as JSON. */
export function statesText({ acknowledged, resolved, note }: AlarmStateRecord): string {
  return JSON.stringify({ acknowledged, resolved, note });
}

/**
 * The states of an alarm after one more is given: it goes from raised to acknowledged to resolved, or there directly.
 *
 * @returns `unchanged` if it has been given before
 */
export function givenState(
  before: AlarmStateRecord,
  state: GivenState,
  step: StateStep,
  note: string | undefined,
): AlarmStateRecord | 'unchanged' | 'alarm-resolved' {
  if (before.state === state) return 'unchanged';
  if (before.state === 'resolved') return 'alarm-resolved';
  return { ...before, state, [state]: step, note: note ?? before.note };
}

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
  if (!isObject(value)) return { reason: 'not-an-object' };
  const [id, sentState] = [own(value, 'id'), own(value, 'state')];
  const state = GIVEN_STATES.find((known) => known === sentState);
  const note = publishedNote(own(value, 'note'));
  if (typeof id !== 'string' || !isUuid(id) || state === undefined || note === undefined) {
    return { reason: 'invalid-alarm-state' };
  }
  return { change: { id: id.toLowerCase(), state, note: note ?? undefined } };
}

/** The note; null for none, undefined if it is invalid. */
function publishedNote(sent: unknown): string | null | undefined {
  if (sent === undefined || sent === null) return null;
  if (typeof sent !== 'string') return undefined;
  const result = parseText('note', sent);
  return 'text' in result ? result.text : undefined;
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
