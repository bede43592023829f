import { z } from 'zod';
import { loginSchema } from '../../../test/harness/load/plan.js';

/** The messages between the ward's process and the trial that owns it. */

export const wardPlanSchema = z.object({
  host: z.string(),
  port: z.number(),
  /** The devices that publish, in turn. */
  devices: z.array(loginSchema),
  alarmsPerSecond: z.number(),
  /** A device's topic, with `{device}` for its user name. */
  topic: z.string(),
  live: loginSchema,
  durable: loginSchema,
  /** What both subscribe to. */
  filter: z.string(),
  /** A device that reconnects for each of its alarms. */
  newcomer: loginSchema,
  /** What a board requests each second; null if the broker has no HTTP. */
  http: z.object({ url: z.string(), token: z.string() }).nullable(),
});
export type WardPlan = z.infer<typeof wardPlanSchema>;

/** An alarm: instants in milliseconds since the ward opened, null for what has not happened. */
const alarmSchema = z.object({
  sentMs: z.number(),
  acknowledgedMs: z.number().nullable(),
  liveMs: z.number().nullable(),
  durableMs: z.number().nullable(),
});
export type Alarm = z.infer<typeof alarmSchema>;

/** Something tried once a second. */
const attemptSchema = z.object({
  begunMs: z.number(),
  tookMs: z.number(),
  failure: z.string().nullable(),
});
export type Attempt = z.infer<typeof attemptSchema>;

export const observationsSchema = z.object({
  nowMs: z.number(),
  alarms: z.array(alarmSchema),
  newcomers: z.array(attemptSchema),
  requests: z.array(attemptSchema),
  /** Connections of the ward that its clients did not end themselves. */
  disconnects: z.number(),
});
export type Observations = z.infer<typeof observationsSchema>;

export const wardCallSchema = z.discriminatedUnion('call', [
  z.object({ call: z.literal('open'), plan: wardPlanSchema }),
  z.object({ call: z.literal('sendDurableAway') }),
  z.object({ call: z.literal('bringDurableBack') }),
  /** Stops publishing. */
  z.object({ call: z.literal('stop') }),
  /** Asks for what was sent and tried from this instant on. */
  z.object({ call: z.literal('observe'), sinceMs: z.number() }),
]);
export type WardCall = z.infer<typeof wardCallSchema>;
