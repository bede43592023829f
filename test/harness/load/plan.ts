import { z } from 'zod';

/** The messages between a load process and its owner: plan, offers, reports. */

export const loginSchema = z.object({
  clientId: z.string(),
  username: z.string(),
  password: z.string(),
});
export type Login = z.infer<typeof loginSchema>;

const planSchema = z.object({
  port: z.number(),
  /** `alarms` are as small as possible, `falls` have everything that a sensor says about a fall. */
  kind: z.enum(['alarms', 'falls', 'telemetry']),
  qos: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  /** A device's topic, with `{device}` for its user name; omitted: the gateway's own. */
  topic: z.string().optional(),
  /** Makes each payload this much larger than necessary. */
  paddingBytes: z.number().optional(),
  /** 10 to 99, with a range for each load: no two messages at one gateway have the same number. */
  firstNumber: z.number(),
  devices: z.array(loginSchema),
  /** `port`: of a different broker than the one the devices publish to. */
  readers: z.array(loginSchema.extend({ isClean: z.boolean(), port: z.number().optional() })),
  /** Empty: the readers' sessions have their subscriptions already. */
  filter: z.string(),
});
export type Plan = z.infer<typeof planSchema>;

const offerSchema = z.object({
  /** Rate of all devices together; null: as fast as the window allows. */
  perSecond: z.number().nullable(),
  /** How many publishes of one device may be under way. */
  window: z.number(),
  /** A publish is under way until it is acknowledged, or until the slowest reader has it. */
  underWayTo: z.enum(['acknowledgement', 'readers']),
  durationMs: z.number().nullable(),
  /** The most publishes that each device makes. */
  maxEach: z.number().nullable(),
  /**
   * How often due messages are sent; 5 ms if omitted. Use a short interval to measure latencies of few
   * messages, which delay each other when sent together; a long one for many messages, as each tick costs time.
   */
  tickMs: z.number().optional(),
});
export type Offer = z.infer<typeof offerSchema>;

const readerReportSchema = z.object({
  /** Without live copies. */
  received: z.number(),
  /** Alarms at QoS 0 ahead of their record. */
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
});
export type ReaderReport = z.infer<typeof readerReportSchema>;

const reportSchema = z.object({
  sent: z.number(),
  acknowledged: z.number(),
  /** Unacknowledged publishes, without those of disconnected devices. */
  unacknowledged: z.number(),
  closedDevices: z.number(),
  readers: z.array(readerReportSchema),
});
export type Report = z.infer<typeof reportSchema>;

export const callSchema = z.discriminatedUnion('call', [
  z.object({ call: z.literal('open'), plan: planSchema }),
  z.object({ call: z.literal('offer'), offer: offerSchema }),
  z.object({ call: z.literal('powerOff') }),
  z.object({ call: z.literal('powerOn') }),
  z.object({ call: z.literal('report') }),
  z.object({ call: z.literal('end') }),
]);
export type Call = z.infer<typeof callSchema>;

export const answerSchema = z.union([
  z.object({ report: reportSchema }),
  z.object({ failure: z.string() }),
]);
export type Answer = z.infer<typeof answerSchema>;
