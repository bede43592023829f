/** How much to measure, and for how long. */
export interface Scale {
  /** Few cases and few contestants: a quick look that fits into two minutes. */
  readonly isQuick: boolean;
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly measuredMs: number;
  /** How long to wait for a contestant that has fallen behind. */
  readonly levelWithinMs: number;
  /** Alarms a second at which latencies are measured. */
  readonly rates: readonly number[];
  /** Alarms that wait for a durable subscriber. */
  readonly backlogs: readonly number[];
  /** Devices that reconnect together. */
  readonly reconnecting: readonly number[];
  readonly idleConnections: number;
  /** Alarms in the history. */
  readonly historySizes: readonly number[];
  readonly pages: number;
}

export const FULL: Scale = {
  isQuick: false,
  rounds: 3,
  warmUpMs: 1_000,
  measuredMs: 4_000,
  levelWithinMs: 10_000,
  rates: [100, 1_000, 3_000],
  backlogs: [10_000, 50_000, 200_000],
  reconnecting: [2_000, 9_500],
  idleConnections: 5_000,
  historySizes: [1_000, 100_000, 1_000_000],
  pages: 300,
};

export const QUICK: Scale = {
  isQuick: true,
  rounds: 1,
  warmUpMs: 500,
  measuredMs: 1_500,
  levelWithinMs: 1_000,
  rates: [1_000, 3_000],
  backlogs: [50_000],
  reconnecting: [2_000],
  idleConnections: 500,
  historySizes: [1_000, 10_000],
  pages: 100,
};
