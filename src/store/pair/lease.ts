import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';
import type { Fence } from './fence.js';

const RANDOM_BYTES = 3;
/** The longest gap between two answers of an available store; a slow one takes far less. */
const MAX_GAP_MS = 1_000;

const takeLease = new Script(
  'take-lease',
  z.tuple([z.number(), z.number(), z.string(), z.string()]),
);
const renewLease = new Script('renew-lease', z.tuple([z.number(), z.number(), z.string()]));
const releaseLease = new Script('release-lease', z.number());

/** Who has the lease. */
export interface LeaseState {
  readonly isOurs: boolean;
  readonly epoch: number;
  /** Empty while nobody has it. */
  readonly holder: string;
}

export interface LeaseOptions {
  readonly store: Store;
  readonly key: string;
  /** The name of this gateway. */
  readonly holder: string;
  /** A name that no other living gateway has; empty for none (data-directory.ts). */
  readonly place: string;
  readonly lengthMs: number;
  /** Milliseconds by a clock that does not jump. */
  readonly elapsed: () => number;
}

/** A unique name that tells an operator which process it is. */
export function holderName(): string {
  return `${hostname()}/${process.pid}/${randomBytes(RANDOM_BYTES).toString('hex')}`;
}

/**
 * The lease of a site in its store: one gateway has it and serves, the others stand by.
 *
 * It is only an agreement about who serves. The check of each write (fence.ts) keeps a gateway that has lost it
 * from writing, whatever the clocks say.
 */
export class Lease {
  readonly #options: LeaseOptions;
  #epoch = 0;
  /** The other's last renewal, and since when there has been no newer one while the store kept answering. */
  #renewal = '';
  #unrenewedSinceMs = 0;
  /** When we sent our last renewal that the store has answered. */
  #renewedAtMs = 0;
  #answeredAtMs: number | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /**
   * Takes the lease unless another gateway has it.
   *
   * Call it repeatedly. A store that does not answer, or fails over, stops the holder from renewing just as it stops
   * us from asking: after such a gap, the full length of the lease must pass again without a renewal.
   */
  async take(): Promise<LeaseState> {
    const { store, key, holder, place, lengthMs, elapsed } = this.#options;
    const askedAtMs = elapsed();
    const isFirst = this.#answeredAtMs === undefined;
    if (askedAtMs - (this.#answeredAtMs ?? askedAtMs) > MAX_GAP_MS)
      this.#unrenewedSinceMs = askedAtMs;
    const isOver = askedAtMs - this.#unrenewedSinceMs > lengthMs;
    const known = isOver ? this.#renewal : '';
    const args = [holder, place, lengthMs, this.#epoch, known, isFirst ? '1' : ''];
    const [taken, epoch, by, renewal] = await store.run(takeLease, [key], args);
    const nowMs = elapsed();
    if (renewal !== this.#renewal || nowMs - askedAtMs > MAX_GAP_MS) this.#unrenewedSinceMs = nowMs;
    this.#renewal = renewal;
    this.#answeredAtMs = nowMs;
    this.#renewedAtMs = askedAtMs;
    return this.#state(taken, epoch, by);
  }

  /** Whether the lease may have ended since its last renewal, so that another gateway may have taken it. */
  get isOverdue(): boolean {
    const { lengthMs, elapsed } = this.#options;
    return elapsed() - this.#renewedAtMs >= lengthMs;
  }

  /** Renews the lease that `take` has taken. */
  async renew(epoch: number): Promise<LeaseState> {
    const { store, key, holder, place, lengthMs, elapsed } = this.#options;
    const sentAtMs = elapsed();
    const args = [holder, place, lengthMs, epoch];
    const reply = await store.run(renewLease, [key], args);
    this.#renewedAtMs = sentAtMs;
    return this.#state(...reply);
  }

  /** Gives the lease up, so the next gateway can take it immediately. */
  async release(epoch: number): Promise<void> {
    const { store, key } = this.#options;
    await store.run(releaseLease, [key], [this.fence(epoch).token]);
  }

  /** The fence that each write under the lease is checked against. */
  fence(epoch: number): Fence {
    return { key: this.#options.key, token: `${epoch} ${this.#options.holder}` };
  }

  #state(isOurs: number, epoch: number, holder: string): LeaseState {
    this.#epoch = Math.max(this.#epoch, epoch);
    return { isOurs: isOurs === 1, epoch, holder };
  }
}
