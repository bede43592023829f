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

/** What is known of the wall clock: whether it can be believed depends on it. */
export interface ClockTrust {
  /** The last moment at which the wall clock was not in doubt; undefined when there was none. */
  readonly seen?: ClockReading | undefined;
  /** Whether the wall clock that is not in doubt has run for a day without a jump. */
  readonly isConfirmed: boolean;
  /** Steady time since which the wall clock has not jumped. */
  readonly unchangedSinceMs: number;
}

/** The clocks as the gateway saw them last. */
export interface ClockRecord extends ClockReading {
  readonly starts: readonly ClockStart[];
  readonly trust: ClockTrust;
}

/** Where the steady clock outlives the process. */
export interface ClockStore {
  /** Undefined when nothing, or nothing that makes sense, is stored. */
  load(): Promise<ClockRecord | undefined>;
  /** The newest plausible time with which anything else in the store is stamped. */
  newestStampMs(): Promise<number | undefined>;
  save(record: ClockRecord): Promise<void>;
}
