/** When drills take place (docs/reference/contract.md, 3, drill). */

import { z } from 'zod';
import { chosenLocations } from '../config-keys.js';
import { TimeZone } from './calendar.js';

const MINUTE_MS = 60_000;
const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

const drillSchema = z.strictObject({
  at: z
    .string()
    .regex(TIME_OF_DAY, 'must be a time of day, such as "03:30"')
    .meta({
      description: 'the time of day: once on each day, also when the clocks change',
      examples: ['03:30'],
    }),
  timeZone: z
    .string()
    .refine(isTimeZone, 'must be a time zone, such as Europe/Berlin')
    .meta({ description: 'whose clocks', examples: ['Europe/Berlin'] }),
  locations: chosenLocations,
});

/** All daily drills. */
export const drillsSchema = z.array(drillSchema);

export type DrillPlan = Readonly<z.output<typeof drillSchema>>;

/** The moments of a daily drill: one on each day, also when the clocks change. */
export class DrillSchedule {
  readonly locations: readonly string[] | undefined;
  readonly #zone: TimeZone;
  readonly #minutes: number;

  constructor({ at, timeZone, locations }: DrillPlan) {
    const [, hours, minutes] = TIME_OF_DAY.exec(at) ?? [];
    this.locations = locations;
    this.#zone = new TimeZone(timeZone);
    this.#minutes = Number(hours) * 60 + Number(minutes);
  }

  /** The latest moment of a drill up to a time, in milliseconds since 1970. */
  lastDueMs(nowMs: number): number {
    const today = this.#zone.timeOfDay(nowMs, this.#minutes * MINUTE_MS);
    if (today <= nowMs) return today;
    return this.#zone.timeOfDay(this.#zone.startOf('day', nowMs) - 1, this.#minutes * MINUTE_MS);
  }
}

function isTimeZone(name: string): boolean {
  try {
    return new TimeZone(name) !== undefined;
  } catch {
    return false;
  }
}
