import type { Counts, Surface } from './attack.js';
import type { Attempts, Latencies, Losses } from './figures.js';
import type { Usage } from './meter.js';
import type { Peer } from './site.js';

/** What one attack on one broker has given. */
export interface Result extends Losses, Latencies, Usage {
  /** Undefined: nobody attacked. */
  readonly attack: string | undefined;
  readonly finding: string | undefined;
  readonly surface: Surface;
  readonly peer: Peer;
  readonly published: number;
  /** How long after the attack the last late second was. */
  readonly calmAfterMs: number;
  readonly newcomers: Attempts;
  readonly requests: Attempts;
  /** Connections of the victims that somebody else ended. */
  readonly disconnects: number;
  /** The fault that names the attacker. */
  readonly namedBy: string | undefined;
  /** Everything that `gateway/status` has reported, before the attack too. */
  readonly faults: readonly string[];
  readonly counts: Counts;
  /** What is missed; empty: it holds. */
  readonly misses: readonly string[];
}
