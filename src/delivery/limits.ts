import type { MarkSpacing } from './tally.js';

/** How much may be in flight to a consumer, and how much may wait for it, how long. */
export interface ConsumerLimits {
  /** Messages at QoS 1 that may await their acknowledgement at a time. */
  readonly maxInFlight: number;
  /** Messages other than alarms that may be queued, those in flight included. */
  readonly maxQueued: number;
  /** The same in bytes of payload. */
  readonly maxQueuedBytes: number;
  /** Of alarms and messages. */
  readonly maxAgeMs: number;
  /** How fast a backlog is sent; undefined: as fast as it is acknowledged. */
  readonly replayPerSecond?: number | undefined;
}

/** A backlog is cut to a bound in steps of this part of it. */
const STEPS = 64;

/** Marks so close together that a jump gives up little more than it must. */
export function spacingFor({ maxQueued, maxQueuedBytes, maxAgeMs }: ConsumerLimits): MarkSpacing {
  return {
    entries: Math.ceil(maxQueued / STEPS),
    bytes: Math.ceil(maxQueuedBytes / STEPS),
    ms: Math.ceil(maxAgeMs / STEPS),
  };
}
