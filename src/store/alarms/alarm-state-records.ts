/** Reads alarm states, and the entries of their changes in the history (change-alarm-state.lua). */

import { z } from 'zod';
import type { StateOutcome } from '../../delivery/log/log-item.js';
import {
  type AlarmStateRecord,
  type ForwardedState,
  GIVEN_STATES,
  RAISED,
} from '../../domain/alarm-states.js';
import { ALARM_KINDS } from '../../domain/alarms.js';
import { parseJson, uuidText } from '../../domain/notation.js';
import { UUID_BYTES, valueNamed } from './alarm-records.js';

const authorSchema = z.object({ id: z.string(), name: z.string() });
const stepSchema = z.object({ by: authorSchema, atMs: z.number() });
const statesSchema = z.object({
  acknowledged: stepSchema.optional(),
  resolved: stepSchema.optional(),
  note: z.string().optional(),
});

/** A change of an alarm's state as read from the log. */
export interface ReadStateChange extends ForwardedState {
  /** Time of receipt by the steady clock. */
  readonly steadyAtMs: number;
  readonly placeText: string;
}

/** Reads the fields and values of an entry; undefined if it is not a state change. */
export function readStateChange(fields: readonly Buffer[]): ReadStateChange | undefined {
  const text = (name: string) => valueNamed(fields, name)?.toString() ?? '';
  const id = valueNamed(fields, 'j');
  if (id?.length !== UUID_BYTES) return undefined;
  const kind = ALARM_KINDS[Number(text('K'))];
  const state = GIVEN_STATES.find((known) => known === text('s'));
  const by = authorSchema.safeParse(parseJson(text('b'))).data;
  if (kind === undefined || state === undefined || by === undefined) return undefined;
  return {
    id: uuidText(id),
    kind,
    state,
    by,
    atMs: Number(text('r')),
    note: text('n') || undefined,
    steadyAtMs: Number(text('t')),
    placeText: text('c'),
  };
}

/** Reads the states of an alarm; raised if it has none or they are unreadable. */
export function readStates(stored: Buffer): AlarmStateRecord {
  const json = stored.subarray(UUID_BYTES + 1).toString();
  return json === '' ? RAISED : (parseStates(json) ?? RAISED);
}

/** Parses the JSON of states; undefined if it is not ours. */
function parseStates(json: string): AlarmStateRecord | undefined {
  const states = statesSchema.safeParse(parseJson(json)).data;
  if (states === undefined) return undefined;
  const state = states.resolved === undefined ? 'acknowledged' : 'resolved';
  return { state, ...states };
}

const placed = [z.number(), z.coerce.number(), z.string()] as const;
const made = z
  .tuple([z.enum(['changed', 'unchanged']), ...placed, z.string(), z.array(z.number())])
  .transform(([outcome, sequence, kind, placeText, json, lengths]) => ({
    sequence,
    kind: ALARM_KINDS[kind],
    placeText,
    isNew: outcome === 'changed',
    record: parseStates(json) ?? RAISED,
    /** The lengths of the destinations' queues. */
    lengths,
  }));
const refused = z
  .tuple([z.enum(['unknown-alarm', 'alarm-resolved'])])
  .transform(([reason]) => ({ refused: reason }));

const unusable = z
  .tuple([z.literal('unusable'), z.array(z.string())])
  .transform(([, destinations]) => ({ unusable: destinations }));

/** What became of a change. */
export type Answer = z.output<typeof made> | z.output<typeof refused>;
/** The answer of change-alarm-state.lua. */
export const changeReply = z.union([made, refused, unusable]);

export function outcomeOf(reply: Answer): StateOutcome {
  return 'refused' in reply ? reply : { record: reply.record };
}
