import { z } from '@hono/zod-openapi';
import { ALARM_STATES, type AlarmStateRecord } from '../../domain/alarm-state.js';
import { parseText } from '../../domain/names.js';
import { formatTime } from '../../domain/time.js';
import { idSchema, timestampSchema, uuidSchema } from './common.js';

export const alarmPathSchema = z.object({ locationId: uuidSchema, alarmId: uuidSchema });

/** A note, by the one rule for notes; null for none. */
const noteSchema = z
  .string()
  .transform((text, context) => {
    const result = parseText('note', text);
    if ('text' in result) return result.text;
    context.addIssue({ code: 'custom', message: result.fault });
    return z.NEVER;
  })
  .nullish()
  .openapi({
    type: ['string', 'null'],
    pattern: '\\S',
    description:
      '1 to 500 characters (code points) after trimming, one of them visible; no control characters, and no directional controls.',
    example: 'Helped back into bed',
  });

/** Unknown fields are rejected: they are typos. */
export const stateBodySchema = z.strictObject({ note: noteSchema }).openapi('AlarmStateChange');

export const stateSchema = z.enum(ALARM_STATES).openapi('AlarmState');

const authorSchema = z.object({ id: z.string(), name: z.string() }).openapi('AlarmStateAuthor', {
  description: 'An access token, by the name that it had; `admin` is one.',
  example: { id: '3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318', name: 'Nurses, first floor' },
});

/** What the states of an alarm show besides the state. */
export const stateFields = {
  acknowledgedBy: authorSchema.optional(),
  acknowledgedAt: timestampSchema.optional(),
  resolvedBy: authorSchema.optional(),
  resolvedAt: timestampSchema.optional(),
  note: z.string().optional().openapi({
    description: 'The newest note.',
    example: 'Helped back into bed',
  }),
};

export const alarmStatesSchema = z
  .object({ id: idSchema, state: stateSchema, ...stateFields })
  .openapi('AlarmStates', {
    description: 'Who acknowledged and who resolved the alarm, once somebody has.',
  });

type StateView = Omit<z.infer<typeof alarmStatesSchema>, 'id'>;

/** The states of an alarm, without what has not happened. */
export function statesView({ state, acknowledged, resolved, note }: AlarmStateRecord): StateView {
  return {
    state,
    ...(acknowledged && {
      acknowledgedBy: acknowledged.by,
      acknowledgedAt: formatTime(acknowledged.atMs),
    }),
    ...(resolved && { resolvedBy: resolved.by, resolvedAt: formatTime(resolved.atMs) }),
    ...(note !== undefined && { note }),
  };
}
