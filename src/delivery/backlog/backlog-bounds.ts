import type { Consumer } from '../consumer.js';
import type { TrimmableLogs } from '../log/log-entry.js';

/** So much of the backlogs is left when the log is too long: trimming it costs more than a cut. */
const LEFT_OF_BOUND = 0.75;

export interface BacklogBoundsOptions {
  readonly logs: Pick<TrimmableLogs, 'messageBytes'>;
  /** Consumers with a backlog, by the principal that owns them. */
  readonly byOwner: () => ReadonlyMap<string, readonly Consumer[]>;
  /** Bytes of all backlogs of one owner; undefined: each has a bound of its own. */
  readonly maxBytesOf: (owner: string) => number | undefined;
  /** Bytes of the message log in the store. */
  readonly maxLogBytes: number;
  /** How many more bytes the store takes of what is no alarm; negative: so many must go. */
  readonly leftInStore: () => number;
}

/**
 * Bounds backlogs in bytes: those of one principal together, and all of them in the store.
 *
 * The largest backlogs are cut first, so that the excess of one costs the others nothing. Only telemetry
 * goes: alarms leave a backlog by age (CONTRACT 4.6).
 */
export class BacklogBounds {
  readonly #options: BacklogBoundsOptions;

  constructor(options: BacklogBoundsOptions) {
    this.#options = options;
  }

  /** Cuts what each principal has beyond its bound. */
  boundPrincipals(): void {
    const { byOwner, maxBytesOf } = this.#options;
    for (const [owner, consumers] of byOwner()) {
      const maxBytes = maxBytesOf(owner);
      if (maxBytes === undefined || sumOf(consumers) <= maxBytes) continue;
      cut(consumers, maxBytes);
    }
  }

  /**
   * Cuts the largest backlogs when the message log takes more of the store than it may.
   *
   * @returns by how many bytes the log is too long, and is to be trimmed
   */
  async boundLog(): Promise<number> {
    const { logs, byOwner } = this.#options;
    const bytes = await logs.messageBytes();
    const excess = this.excessOf(bytes);
    if (excess === 0) return 0;
    const consumers = [...byOwner().values()].flat();
    // Backlogs share entries, which the log holds once: all are cut in proportion.
    const left = (bytes - excess) / bytes;
    cut(consumers, sumOf(consumers) * left * LEFT_OF_BOUND);
    return excess;
  }

  /** How many bytes the message log has too many. */
  excessOf(bytes: number): number {
    const { maxLogBytes, leftInStore } = this.#options;
    return Math.max(0, Math.min(bytes, Math.max(bytes - maxLogBytes, -leftInStore())));
  }
}

/** Cuts the largest backlogs until all of them together are within the bytes. */
function cut(consumers: readonly Consumer[], maxBytes: number): void {
  const bySize = consumers.toSorted((one, other) => other.backlogBytes - one.backlogBytes);
  const level = levelOf(
    bySize.map(({ backlogBytes }) => backlogBytes),
    maxBytes,
  );
  for (const consumer of bySize) {
    if (consumer.backlogBytes <= level) return;
    consumer.cutBacklog(level);
  }
}

/** The size to which the largest must shrink for all to be within the bound. */
function levelOf(largestFirst: readonly number[], maxBytes: number): number {
  let others = largestFirst.reduce((sum, bytes) => sum + bytes, 0);
  for (const [index, bytes] of largestFirst.entries()) {
    others -= bytes;
    const level = (maxBytes - others) / (index + 1);
    if (level >= (largestFirst[index + 1] ?? 0)) return Math.max(0, level);
  }
  return 0;
}

function sumOf(consumers: readonly Consumer[]): number {
  return consumers.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0);
}
