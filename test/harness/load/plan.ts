import { z } from 'zod';

/** The messages between a load process and its owner: its plan, its offers, its reports. */

export const loginSchema = z.object({
  clientId: z.string(),
  username: z.string(),
  password: z.string(),
});
export type Login = z.infer<typeof loginSchema>;

const planSchema = z.object({
  port: z.number(),
  /** `alarms` are the smallest that are recognisable, `falls` have all that a sensor says of a fall. */
  kind: z.enum(['alarms', 'falls', 'telemetry']),
  qos: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  /** A device's topic, `{device}` being its user name; left out: the gateway's own. */
  topic: z.string().optional(),
  /** What makes each payload larger than it must be. */
  paddingBytes: z.number().optional(),
  /** 10 to 99, a range for each load: no two messages at one gateway have the same number. */
  firstNumber: z.number(),
  devices: z.array(loginSchema),
  /** `port`: of another broker than the one that the devices publish to. */
  readers: z.array(loginSchema.extend({ isClean: z.boolean(), port: z.number().optional() })),
  /** Empty: the readers' sessions have their subscriptions already. */
  filter: z.string(),
});
export type Plan = z.infer<typeof planSchema>;

const offerSchema = z.object({
  /** Rate of all devices together; null: as fast as the window allows. */
  perSecond: z.number().nullable(),
  /** Publishes of one device that may be under way. */
  window: z.number(),
  /** Where publishes are under way to: their acknowledgement, or the slowest of the readers. */
  underWayTo: z.enum(['acknowledgement', 'readers']),
  durationMs: z.number().nullable(),
  /** The most publishes that each device makes. */
  maxEach: z.number().nullable(),
  /**
   * How often what is due is sent, 5 ms left out: often for the latencies of few messages, which wait
   * for each other when they are sent at one instant; seldom for many messages, as it costs time.
   */
  tickMs: z.number().optional(),
});
export type Offer = z.infer<typeof offerSchema>;

const readerReportSchema = z.object({
  /** Without live copies. */
  received: z.number(),
  /** Live copies: alarms at QoS 0 ahead of their record. */
  liveCopies: z.number(),
  /** Missing publishes, which were dropped: every device numbers its own without a gap. */
  missing: z.number(),
  /** Publishes received again, or after a later one of the same device. */
  outOfOrder: z.number(),
  /** Messages in each second since the last offer began. */
  perSecond: z.array(z.number()),
  latencyMs: z.object({ p50: z.number(), p99: z.number(), max: z.number() }),
  /** From the reader's CONNECT to the newest message. */
  newestAfterMs: z.number(),
  /** Whether the newest publish of every device has come; of one that is off, the newest acknowledged. */
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
