import type { Consumer } from '../consumer.js';

/** Backlogs that are too large are cut to this part of the bound: cutting a little each second costs more. */
const LEFT_OF_BOUND = 0.75;

type Bounded = Pick<Consumer, 'backlogBytes' | 'cutBacklog'>;

export interface BacklogBoundsOptions {
  /** Consumers with a backlog, by the principal that owns them. */
  readonly byOwner: () => ReadonlyMap<string, readonly Bounded[]>;
  /** Bytes of all backlogs of one owner; undefined: each has its own bound. */
  readonly maxBytesOf: (owner: string) => number | undefined;
  /** Bytes of all backlogs. */
  readonly maxBytes: number;
  /** How many more bytes the store takes besides alarms; negative: this many must go. */
  readonly leftInStore: () => number;
}

/**
 * Bounds backlogs in bytes: those of one principal together, and all of them in the store.
 *
 * It cuts the largest backlogs first: an oversized one costs the others nothing. It cuts only telemetry:
 * alarms leave a backlog by age (docs/reference/contract.md, 4.6).
 */
export class BacklogBounds {
  readonly #options: BacklogBoundsOptions;

  constructor(options: BacklogBoundsOptions) {
    this.#options = options;
  }

  /** Cuts the excess of each principal, and of all together. */
  async keep(): Promise<void> {
    const { byOwner, maxBytesOf, maxBytes, leftInStore } = this.#options;
    const owners = byOwner();
    for (const [owner, consumers] of owners) {
      const bytes = maxBytesOf(owner);
      if (bytes !== undefined && sumOf(consumers) > bytes) await cut(consumers, bytes);
    }
    const all = [...owners.values()].flat();
    const bytes = sumOf(all);
    const most = Math.min(maxBytes, bytes + leftInStore());
    if (bytes > most) await cut(all, Math.max(0, most) * LEFT_OF_BOUND);
  }
}

/** Cuts the largest backlogs until all together are within this many bytes. */
async function cut(consumers: readonly Bounded[], maxBytes: number): Promise<void> {
  const bySize = consumers.toSorted((one, other) => other.backlogBytes - one.backlogBytes);
  const level = levelOf(
    bySize.map(({ backlogBytes }) => backlogBytes),
    maxBytes,
  );
  for (const consumer of bySize) {
    if (consumer.backlogBytes <= level) return;
    await consumer.cutBacklog(level);
  }
}

/** The size to which the largest must shrink to bring all within the bound. */
function levelOf(largestFirst: readonly number[], maxBytes: number): number {
  let others = largestFirst.reduce((sum, bytes) => sum + bytes, 0);
  for (const [index, bytes] of largestFirst.entries()) {
    others -= bytes;
    const level = (maxBytes - others) / (index + 1);
    if (level >= (largestFirst[index + 1] ?? 0)) return Math.max(0, level);
  }
  return 0;
}

function sumOf(consumers: readonly Bounded[]): number {
  return consumers.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0);
}
