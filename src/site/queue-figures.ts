/** How many messages of a bridge or webhook were delivered, and how many were given up, by reason. */
export interface QueueFigures {
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
