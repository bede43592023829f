import { z } from 'zod';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** A limit. 0 is none: what may send nothing at all is to be deleted instead. */
const limit = z.int().min(1);

/** How much may be sent: rates with bursts. */
export function rateLimits(defaults: RateLimits) {
  return {
    messagesPerSecond: limit.default(defaults.messagesPerSecond),
    messageBurst: limit.default(defaults.messageBurst),
    bytesPerSecond: limit.default(defaults.bytesPerSecond),
    byteBurst: limit.default(defaults.byteBurst),
  };
}

/** How often one may connect over MQTT. */
export function connectLimits(defaults: ConnectLimits) {
  return {
    connectsPerSecond: limit.default(defaults.connectsPerSecond),
    connectBurst: limit.default(defaults.connectBurst),
  };
}

/** How much may be stored in the alarm history. */
export function alarmLimits(defaults: AlarmLimits) {
  return {
    alarmsPerDay: limit.default(defaults.alarmsPerDay),
    alarmBytesPerDay: limit.default(defaults.alarmBytesPerDay),
  };
}

/** How much an MQTT client may hold. */
export function connectionQuotas(defaults: ConnectionQuotas) {
  return {
    connections: limit.default(defaults.connections),
    persistentSessions: limit.default(defaults.persistentSessions),
    subscriptions: limit.default(defaults.subscriptions),
  };
}

/** How much may be retained. */
export function retainedQuotas(defaults: RetainedQuotas) {
  return {
    retainedTopics: limit.default(defaults.retainedTopics),
    retainedBytes: limit.default(defaults.retainedBytes),
  };
}

export interface ConnectionQuotas {
  readonly connections: number;
  readonly persistentSessions: number;
  readonly subscriptions: number;
}

export interface RetainedQuotas {
  readonly retainedTopics: number;
  readonly retainedBytes: number;
}

export interface RateLimits {
  readonly messagesPerSecond: number;
  readonly messageBurst: number;
  readonly bytesPerSecond: number;
  readonly byteBurst: number;
}

export interface ConnectLimits {
  readonly connectsPerSecond: number;
  readonly connectBurst: number;
}

export interface AlarmLimits {
  readonly alarmsPerDay: number;
  readonly alarmBytesPerDay: number;
}

const deviceRates = {
  messagesPerSecond: 2_000,
  messageBurst: 20_000,
  bytesPerSecond: 2 * MIB,
  byteBurst: 32 * MIB,
};

/** The limits of one device with their defaults, which the configuration may change for all. */
export const deviceLimitsSchema = z.strictObject({
  ...rateLimits(deviceRates),
  ...connectLimits({ connectsPerSecond: 100, connectBurst: 1_000 }),
  ...alarmLimits({ alarmsPerDay: 200_000, alarmBytesPerDay: 128 * MIB }),
  ...connectionQuotas({ connections: 128, persistentSessions: 5, subscriptions: 100 }),
  ...retainedQuotas({ retainedTopics: 500, retainedBytes: 4 * MIB }),
  footageBytes: limit.default(5 * GIB),
});

export type DeviceLimits = z.output<typeof deviceLimitsSchema>;

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
  ...rateLimits(deviceRates),
  ...connectLimits({ connectsPerSecond: 100, connectBurst: 1_000 }),
  ...connectionQuotas({ connections: 1_000, persistentSessions: 1_000, subscriptions: 10_000 }),
  backlogBytes: limit.default(256 * MIB),
});

export type TokenLimits = z.output<typeof tokenLimitsSchema>;

/** The limits of one location with their defaults. */
export const locationLimitsSchema = z.strictObject({
  ...rateLimits({
    messagesPerSecond: 50_000,
    messageBurst: 500_000,
    bytesPerSecond: 32 * MIB,
    byteBurst: 256 * MIB,
  }),
  ...alarmLimits({ alarmsPerDay: 2_000_000, alarmBytesPerDay: 1_024 * MIB }),
  ...retainedQuotas({ retainedTopics: 20_000, retainedBytes: 64 * MIB }),
});

export type LocationLimits = z.output<typeof locationLimitsSchema>;

/** The limits of the whole gateway with their defaults. */
export const totalLimitsSchema = z.strictObject({
  ...rateLimits({
    messagesPerSecond: 100_000,
    messageBurst: 1_000_000,
    bytesPerSecond: 64 * MIB,
    byteBurst: 512 * MIB,
  }),
  ...alarmLimits({ alarmsPerDay: 5_000_000, alarmBytesPerDay: 2_048 * MIB }),
  /** Over MQTT; fewer where the process may not open so many files. */
  connections: limit.default(50_000),
  backlogBytes: limit.default(1_024 * MIB),
  retainedBytes: limit.default(512 * MIB),
});

export type TotalLimits = z.output<typeof totalLimitsSchema>;

/** The limits of all that is counted over MQTT. */
export interface BudgetLimits {
  readonly device: RateLimits & ConnectLimits & AlarmLimits;
  readonly token: RateLimits & ConnectLimits;
  readonly location: RateLimits & AlarmLimits;
  readonly total: RateLimits & AlarmLimits;
}
