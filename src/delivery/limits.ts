/** How much may be under way to a destination, and how much may wait for it, how long. */
export interface DestinationLimits {
  /** Messages at QoS 1 that may await their acknowledgement at a time. */
  readonly maxInFlight: number;
  /** Messages that may be queued, those in flight included. */
  readonly maxQueued: number;
  readonly maxAgeMs: number;
  /** How fast what had to wait is sent; undefined: as fast as it is acknowledged. */
  readonly replayPerSecond?: number | undefined;
}
