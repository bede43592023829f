/** Silence of devices as an event (docs/reference/contract.md, 3, supervision). */

import { z } from 'zod';
import { formatTime } from '../notation.js';

const MIN_SECONDS = 60;
const MAX_SECONDS = 604_800;

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
