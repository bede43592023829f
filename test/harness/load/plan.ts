/** What a load process is told, and what it reports. */
import { z } from 'zod';

export const loginSchema = z.object({
  clientId: z.string(),
  username: z.string(),
  password: z.string(),
});
export type Login = z.infer<typeof loginSchema>;

export const planSchema = z.object({
  port: z.number(),
  /** `alarms` are as small as possible, `falls` have everything that a sensor says about a fall. */
  kind: z.enum(['alarms', 'falls', 'telemetry']),
  qos: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  /** A device's topic, with `{device}` for its user name; omitted: the gateway's own. */
  topic: z.string().optional(),
  /** 10 to 99, with a range for each load: no two messages at one gateway have the same number. */
  firstNumber: z.number(),
  devices: z.array(loginSchema),
  readers: z.array(loginSchema.extend({ isClean: z.boolean() })),
  /** Empty: the readers' sessions have their subscriptions already. */
  filter: z.string(),
});
export type Plan = z.infer<typeof planSchema>;

export const offerSchema = z.object({
  /** Rate of all devices together; null: as fast as the window allows. */
  perSecond: z.number().nullable(),
  /** How many publishes of one device may be under way. */
  window: z.number(),
  /** A publish is under way until it is acknowledged, or until the slowest reader has it. */
  underWayTo: z.enum(['acknowledgement', 'readers']),
  durationMs: z.number().nullable(),
  /** The most publishes that each device makes. */
  maxEach: z.number().nullable(),
  /** How often due messages are sent. A short time to measure latencies, a long one for many messages. */
  tickMs: z.number().optional(),
});
export type Offer = z.infer<typeof offerSchema>;

export const reportSchema = z.object({
  sent: z.number(),
  acknowledged: z.number(),
  /** Unacknowledged publishes, without those of disconnected devices. */
  unacknowledged: z.number(),
  closedDevices: z.number(),
  readers: z.array(
    z.object({
      /** Without live copies: alarms at QoS 0 ahead of their record. */
      received: z.number(),
      liveCopies: z.number(),
      /** Publishes that were dropped: every device numbers its own without gaps. */
      missing: z.number(),
      /** Publishes received again, or after a later publish of the same device. */
      outOfOrder: z.number(),
      /** Messages per second since the last offer began. */
      perSecond: z.array(z.number()),
      latencyMs: z.object({ p50: z.number(), p99: z.number(), max: z.number() }),
      /** From the reader's CONNECT to the newest message. */
      newestAfterMs: z.number(),
      /** Whether the newest publish of every device has come; for a device that is off, the newest acknowledged. */
      isLevel: z.boolean(),
      wasClosed: z.boolean(),
    }),
  ),
});
export type Report = z.infer<typeof reportSchema>;
export type ReaderReport = Report['readers'][number];
