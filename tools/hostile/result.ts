import type { Counts, Surface } from './attack.js';
import type { Attempts, Latencies, Losses } from './figures.js';
import type { Usage } from './meter.js';
import type { Peer } from './site.js';

/** The result of one attack on one broker. */
export interface Result extends Losses, Latencies, Usage {
  /** Undefined for the quiet row, without an attack. */
  readonly attack: string | undefined;
  readonly finding: string | undefined;
  readonly surface: Surface;
  readonly peer: Peer;
  readonly published: number;
  /** How long after the attack the last late second ended. */
  readonly calmAfterMs: number;
  readonly newcomers: Attempts;
  readonly requests: Attempts;
  /** Connections of the victims that the victims did not end themselves. */
  readonly disconnects: number;
  /** The fault that names the attacker. */
  readonly namedBy: string | undefined;
  /** Everything that `gateway/status` has reported, including before the attack. */
  readonly faults: readonly string[];
  readonly counts: Counts;
  /** The missed targets; empty if the broker holds. */
  readonly misses: readonly string[];
}
