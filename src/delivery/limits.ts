import type { MarkSpacing } from './backlog/tally.js';

/** A consumer's in-flight limit and the bounds of its backlog. */
export interface ConsumerLimits {
  /** Messages at QoS 1 that may await their acknowledgement at a time. */
  readonly maxInFlight: number;
  /** Messages other than alarms that may be queued, those in flight included. */
  readonly maxQueued: number;
  /** Bytes of payload of those messages. */
  readonly maxQueuedBytes: number;
  /** Maximum age of alarms and messages alike. */
  readonly maxAgeMs: number;
  /** How fast a backlog is sent; undefined: as fast as it is acknowledged. */
  readonly replayPerSecond?: number | undefined;
}

/** A backlog is cut to a bound in steps of this fraction of the bound. */
const STEPS = 64;

/** Spaces marks so closely that a jump drops little more than it must. */
export function spacingFor({ maxQueued, maxQueuedBytes, maxAgeMs }: ConsumerLimits): MarkSpacing {
  return {
    entries: Math.ceil(maxQueued / STEPS),
    bytes: Math.ceil(maxQueuedBytes / STEPS),
    ms: Math.ceil(maxAgeMs / STEPS),
  };
}
