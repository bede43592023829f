/** How many messages of a bridge or webhook wait, were delivered, and were given up, by reason. */
export interface QueueFigures {
  /** Those in flight included. */
  readonly queued: number;
  /** When the oldest queued message was received; null for none, or while the store is away. */
  readonly oldestQueuedAtMs: number | null;
  readonly delivered: number;
  readonly dropped: {
    /** Messages beyond the age that is kept. */
    readonly tooOld: number;
    /** Messages beyond the number or size that is kept. */
    readonly tooMany: number;
    /** Dead letters. */
    readonly refused: number;
    /** Messages that the store has lost. */
    readonly lost: number;
  };
}
