/** When an alarm without an acknowledgement escalates (docs/reference/contract.md, 3). */

import { z } from 'zod';
import type { AlarmKind } from '../alarms.js';
import { chosenKinds, chosenLocations, entryName, namedList } from '../config-keys.js';

const MAX_SECONDS = 604_800;

const escalationSchema = z.strictObject({
  name: entryName.meta({
    description: 'a topic level: 1 to 40 of the characters a-z, 0-9 and -',
    examples: ['night-manager'],
  }),
  afterSeconds: z
    .int()
    .min(1)
    .max(MAX_SECONDS)
    .meta({ description: 'after how long', examples: [180] }),
  kinds: chosenKinds,
  locations: chosenLocations,
});

/** All escalations; each name is a topic level. */
export const escalationsSchema = namedList(escalationSchema);

export type Escalation = Readonly<z.output<typeof escalationSchema>>;

/** The level of their topics after the device. */
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
