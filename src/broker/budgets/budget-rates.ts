import type { AlarmLimits, ConnectLimits, RateLimits } from '../../domain/limits.js';
import { TokenRate } from '../../domain/token-bucket.js';

const SECOND_MS = 1_000;
const DAY_MS = 24 * 3_600 * SECOND_MS;

export const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** Each limited quantity with the configuration key of its limit. */
export const MEASURES = {
  messages: 'messagesPerSecond',
  bytes: 'bytesPerSecond',
  alarms: 'alarmsPerDay',
  alarmBytes: 'alarmBytesPerDay',
  connects: 'connectsPerSecond',
} as const;
export type Measure = keyof typeof MEASURES;

export type Limits = RateLimits & Partial<AlarmLimits & ConnectLimits>;
export type Rates = Readonly<Record<Measure, TokenRate>>;

/** The rate of each measure, shared by all buckets with these limits. */
export function ratesOf(limits: Limits): Rates {
  const { alarmsPerDay = UNLIMITED, alarmBytesPerDay = UNLIMITED } = limits;
  const { connectsPerSecond = UNLIMITED, connectBurst = UNLIMITED } = limits;
  const rate = (amount: number, perMs: number, burst: number) =>
    new TokenRate(amount / perMs, burst);
  return {
    messages: rate(limits.messagesPerSecond, SECOND_MS, limits.messageBurst),
    bytes: rate(limits.bytesPerSecond, SECOND_MS, limits.byteBurst),
    alarms: rate(alarmsPerDay, DAY_MS, alarmsPerDay),
    alarmBytes: rate(alarmBytesPerDay, DAY_MS, alarmBytesPerDay),
    connects: rate(connectsPerSecond, SECOND_MS, connectBurst),
  };
}
