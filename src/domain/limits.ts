import { z } from 'zod';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** A limit. 0 is not allowed: delete a client that may send nothing at all. */
const limit = z.int().min(1);

/** Limits on what any MQTT client sends. */
const clientLimits = {
  messagesPerSecond: limit
    .default(2_000)
    .describe(
      'messages that it may send over MQTT each second; a packet of more than a KiB counts as one for each KiB',
    ),
  messageBurst: limit.default(20_000).describe('after so many at once'),
};

/** The limits of one device with their defaults, which the configuration may change for all. */
export const deviceLimitsSchema = z.strictObject({
  ...clientLimits,
  alarmsPerDay: limit
    .default(200_000)
    .describe('alarms: so many at once, then as many again spread over each day'),
  connections: limit.default(128).describe('MQTT connections'),
  persistentSessions: limit
    .default(5)
    .describe('one more takes the place of the one that was away for longest'),
  subscriptions: limit.default(100).describe('filters of all its sessions'),
  retainedTopics: limit
    .default(500)
    .describe('retained messages; beyond that they are forwarded, and not retained'),
  retainedBytes: limit.default(4 * MIB).describe('the same in bytes, as forwarded'),
  footageBytes: limit
    .default(5 * GIB)
    .describe("recordings in the gateway's folder; an upload beyond is 507"),
});

export type DeviceLimits = Readonly<z.output<typeof deviceLimitsSchema>>;

/** How much may be sent: rates with bursts. */
export type RateLimits = Pick<DeviceLimits, 'messagesPerSecond' | 'messageBurst'>;
/** How much may be stored in the alarm history. */
export type AlarmLimits = Pick<DeviceLimits, 'alarmsPerDay'>;
/** How much an MQTT client may hold. */
export type ConnectionQuotas = Pick<
  DeviceLimits,
  'connections' | 'persistentSessions' | 'subscriptions'
>;
/** How much may be retained. */
export type RetainedQuotas = Pick<DeviceLimits, 'retainedTopics' | 'retainedBytes'>;

const limitNames = deviceLimitsSchema.keyof();

/** The names of a device's limits. */
export const DEVICE_LIMITS = limitNames.options;

/** A device's own limits, instead of those of all devices. */
export const ownLimitsSchema = z.partialRecord(limitNames, limit);

export type OwnLimits = z.output<typeof ownLimitsSchema>;

/** A change of a device's own limits: null takes one back. */
export const limitsChangeSchema = z.partialRecord(limitNames, limit.nullable());

export type LimitsChange = z.output<typeof limitsChangeSchema>;

/** A device's own limits after a change. */
export function changedLimits(before: OwnLimits, change: LimitsChange): OwnLimits {
  const limits: OwnLimits = {};
  for (const name of DEVICE_LIMITS) {
    const limit = change[name] === undefined ? before[name] : change[name];
    if (limit !== null && limit !== undefined) limits[name] = limit;
  }
  return limits;
}

/** The limits of one access token over MQTT, with their defaults. */
export const tokenLimitsSchema = z.strictObject({
  ...clientLimits,
  connections: limit.default(1_000).describe('MQTT connections and event streams'),
  persistentSessions: limit
    .default(50)
    .describe(
      'one more takes the place of one that is away and holds neither subscriptions nor a backlog',
    ),
  subscriptions: limit.default(10_000).describe('filters of all its sessions and event streams'),
});

export type TokenLimits = Readonly<z.output<typeof tokenLimitsSchema>>;

/** The limits of the whole gateway with their defaults. */
export const totalLimitsSchema = z.strictObject({
  connections: limit
    .default(50_000)
    .describe(
      'MQTT connections: at most 65 % of the files that the process may open (LimitNOFILE). An eighth is for clients that have not logged in',
    ),
  persistentSessions: limit
    .default(200)
    .describe(
      'persistent sessions of all access tokens, and groups of shared subscriptions: each alarm is queued for every one that has subscribed',
    ),
  retainedBytes: limit
    .default(64 * MIB)
    .describe(
      'all retained messages, which are in memory; beyond that they are forwarded, and not retained',
    ),
});

/** The limits of everything that is counted over MQTT. */
export interface BudgetLimits {
  readonly device: RateLimits & AlarmLimits;
  readonly token: RateLimits;
}
