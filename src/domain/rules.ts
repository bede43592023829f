/** What time makes of an alarm and of a device: escalation without an acknowledgement, and silence (contract 3). */

import { z } from 'zod';
import type { AlarmKind } from './alarm.js';
import { chosenKinds, chosenLocations, entryName, namedList } from './config-keys.js';
import { formatTime } from './time.js';

/** The shortest time after which a device is silent. */
const MIN_SECONDS = 60;
/** A week. */
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

/** After how many seconds without a packet a device is silent. */
export const silentAfterSchema = z.int().min(MIN_SECONDS).max(MAX_SECONDS);

/** The level of the topic after the device. */
export const SUPERVISION_LEVEL = 'supervision';

export type SupervisionState = 'silent' | 'heard';

/** The last event of a device's supervision. */
export interface SupervisionEvent {
  readonly id: string;
  readonly state: SupervisionState;
  /** Since when it has been in this state, by the machine's clock. */
  readonly sinceMs: number;
  /** The last packet before it became silent; for a device that is heard again, the first one after. */
  readonly lastSeenAtMs: number;
}

/** The members of the forwarded JSON before the device's place, without braces. */
export function supervisionMembers({ id, state, sinceMs, lastSeenAtMs }: SupervisionEvent): string {
  const [since, lastSeenAt] = [formatTime(sinceMs), formatTime(lastSeenAtMs)];
  return `"id":"${id}","state":"${state}","since":"${since}","lastSeenAt":"${lastSeenAt}"`;
}
