/** A start of the gateway, and how long it had been down before by the wall clock. */
export interface ClockStart {
  readonly steadyMs: number;
  readonly downtimeMs: number;
}

/** A moment by both clocks. */
export interface ClockReading {
  readonly wallMs: number;
  readonly steadyMs: number;
}

/** The history of the wall clock, which decides how far to trust it. */
export interface ClockTrust {
  /** The last moment at which the wall clock was not in doubt; undefined when there was none. */
  readonly seen?: ClockReading | undefined;
  /** Whether the wall clock, not in doubt, has run for a day without a jump. */
  readonly isConfirmed: boolean;
  /** Steady time since which the wall clock has not jumped. */
  readonly unchangedSinceMs: number;
}

/** The clocks as last seen by the gateway. */
export interface ClockRecord extends ClockReading {
  /** How far the starts have set the steady clock forward, in all. */
  readonly addedMs: number;
  readonly starts: readonly ClockStart[];
  readonly trust: ClockTrust;
}

/** Stores the steady clock, which outlives the process. */
export interface ClockStore {
  /** Loads the record; undefined when it is missing or unreadable. */
  load(): Promise<ClockRecord | undefined>;
  save(record: ClockRecord): Promise<void>;
}
