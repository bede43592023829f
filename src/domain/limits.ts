import { z } from 'zod';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** A limit. 0 is none: what may send nothing at all is to be deleted instead. */
const limit = z.int().min(1);

/** Limits of what any MQTT client sends, and of how often it connects. */
const clientLimits = {
  messagesPerSecond: limit.default(2_000),
  messageBurst: limit.default(20_000),
  bytesPerSecond: limit.default(2 * MIB),
  byteBurst: limit.default(32 * MIB),
  connectsPerSecond: limit.default(100),
  connectBurst: limit.default(1_000),
};

/** The limits of one device with their defaults, which the configuration may change for all. */
export const deviceLimitsSchema = z.strictObject({
  ...clientLimits,
  alarmsPerDay: limit.default(200_000),
  alarmBytesPerDay: limit.default(128 * MIB),
  connections: limit.default(128),
  persistentSessions: limit.default(5),
  subscriptions: limit.default(100),
  retainedTopics: limit.default(500),
  retainedBytes: limit.default(4 * MIB),
  footageBytes: limit.default(5 * GIB),
});

export type DeviceLimits = Readonly<z.output<typeof deviceLimitsSchema>>;

/** How much may be sent: rates with bursts. */
export type RateLimits = Pick<
  DeviceLimits,
  'messagesPerSecond' | 'messageBurst' | 'bytesPerSecond' | 'byteBurst'
>;
/** How often one may connect over MQTT. */
export type ConnectLimits = Pick<DeviceLimits, 'connectsPerSecond' | 'connectBurst'>;
/** How much may be stored in the alarm history. */
export type AlarmLimits = Pick<DeviceLimits, 'alarmsPerDay' | 'alarmBytesPerDay'>;
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

/** The limits that one device has of its own, instead of those of all devices. */
export const ownLimitsSchema = z.partialRecord(limitNames, limit);

export type OwnLimits = z.output<typeof ownLimitsSchema>;

/** A change of them: null takes one back. */
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
  connections: limit.default(1_000),
  persistentSessions: limit.default(50),
  subscriptions: limit.default(10_000),
  backlogBytes: limit.default(256 * MIB),
});

export type TokenLimits = Readonly<z.output<typeof tokenLimitsSchema>>;

/** The limits of one location with their defaults. */
export const locationLimitsSchema = z.strictObject({
  messagesPerSecond: limit.default(50_000),
  messageBurst: limit.default(500_000),
  bytesPerSecond: limit.default(32 * MIB),
  byteBurst: limit.default(256 * MIB),
  alarmsPerDay: limit.default(2_000_000),
  alarmBytesPerDay: limit.default(1_024 * MIB),
  retainedTopics: limit.default(20_000),
  retainedBytes: limit.default(64 * MIB),
});

/** The limits of the whole gateway with their defaults. */
export const totalLimitsSchema = z.strictObject({
  messagesPerSecond: limit.default(100_000),
  messageBurst: limit.default(1_000_000),
  bytesPerSecond: limit.default(64 * MIB),
  byteBurst: limit.default(512 * MIB),
  alarmsPerDay: limit.default(5_000_000),
  alarmBytesPerDay: limit.default(2_048 * MIB),
  /** Over MQTT; fewer where the process may not open so many files. */
  connections: limit.default(50_000),
  /** Of access tokens; those of devices, and bridges, do not count. */
  persistentSessions: limit.default(200),
  backlogBytes: limit.default(1_024 * MIB),
  retainedBytes: limit.default(64 * MIB),
});

/** The limits of all that is counted over MQTT. */
export interface BudgetLimits {
  readonly device: RateLimits & ConnectLimits & AlarmLimits;
  readonly token: RateLimits & ConnectLimits;
  readonly location: RateLimits & AlarmLimits;
  readonly total: RateLimits & AlarmLimits;
}
