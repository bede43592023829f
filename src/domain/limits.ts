import { z } from 'zod';

const MIB = 1024 * 1024;

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

/** How much may be stored in the alarm history. */
export function alarmLimits(defaults: AlarmLimits) {
  return {
    alarmsPerDay: limit.default(defaults.alarmsPerDay),
    alarmBytesPerDay: limit.default(defaults.alarmBytesPerDay),
  };
}

export interface RateLimits {
  readonly messagesPerSecond: number;
  readonly messageBurst: number;
  readonly bytesPerSecond: number;
  readonly byteBurst: number;
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
  ...alarmLimits({ alarmsPerDay: 200_000, alarmBytesPerDay: 128 * MIB }),
});

export type DeviceLimits = z.output<typeof deviceLimitsSchema>;

/** The limits that one device has of its own, instead of those of all devices. */
export const ownLimitsSchema = z.partialRecord(deviceLimitsSchema.keyof(), limit);

export type OwnLimits = z.output<typeof ownLimitsSchema>;

/** A change of them: null takes one back. */
export const limitsChangeSchema = z.partialRecord(deviceLimitsSchema.keyof(), limit.nullable());

export type LimitsChange = z.output<typeof limitsChangeSchema>;

/** The limits of one access token over MQTT, with their defaults. */
export const tokenLimitsSchema = z.strictObject({
  ...rateLimits(deviceRates),
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
  backlogBytes: limit.default(1_024 * MIB),
  retainedBytes: limit.default(512 * MIB),
});

export type TotalLimits = z.output<typeof totalLimitsSchema>;
