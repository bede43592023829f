/** When an alarm escalates that nobody has acknowledged (docs/reference/contract.md, 3). */

import { z } from 'zod';
import { ALARM_KINDS, type AlarmKind } from '../alarms.js';

const MAX_SECONDS = 604_800;

const escalationSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 of the characters a-z, 0-9 and -')
    .meta({
      description: 'a topic level: 1 to 40 of the characters a-z, 0-9 and -',
      examples: ['night-manager'],
    }),
  afterSeconds: z
    .int()
    .min(1)
    .max(MAX_SECONDS)
    .meta({ description: 'after how long', examples: [180] }),
  kinds: z
    .array(z.enum(ALARM_KINDS))
    .min(1)
    .optional()
    .meta({ description: 'of alarms. Left out: all', examples: [['fall', 'helpCall']] }),
  locations: z
    .array(z.guid('must be a UUID').toLowerCase())
    .min(1)
    .optional()
    .meta({
      description: 'ids of locations. Left out: all',
      examples: [['3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318']],
    }),
});

/** All escalations; each name is a topic level. */
export const escalationsSchema = z
  .array(escalationSchema)
  .refine(
    (all) => new Set(all.map(({ name }) => name)).size === all.length,
    'must have different names',
  );

export type Escalation = Readonly<z.output<typeof escalationSchema>>;

/** The level of their topics behind the device. */
export const ESCALATIONS_LEVEL = 'escalations';

/** When an escalation of an alarm is due, by the clock of its receipt. */
export interface DueEscalation {
  readonly name: string;
  readonly dueAtMs: number;
}

/** The escalations of an alarm, unless it is a test. */
export function escalationsOf(
  escalations: readonly Escalation[],
  alarm: { readonly kind: AlarmKind; readonly isTest?: boolean | undefined },
  locationId: string,
  receivedAtMs: number,
): DueEscalation[] {
  if (alarm.isTest === true) return [];
  return escalations
    .filter(({ kinds, locations }) => {
      const isOfKind = kinds === undefined || kinds.includes(alarm.kind);
      return isOfKind && (locations === undefined || locations.includes(locationId));
    })
    .map(({ name, afterSeconds }) => ({ name, dueAtMs: receivedAtMs + afterSeconds * 1000 }));
}
