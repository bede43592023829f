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
