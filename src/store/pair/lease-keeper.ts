import type { Logger } from 'pino';
import type { WriteGuard } from './fence.js';
import type { Lease, LeaseState } from './lease.js';

/** How often a gateway asks for the lease, and so how soon it gets a lease given up. */
const ASK_INTERVAL_MS = 25;

export interface LeaseKeeperOptions {
  readonly lease: Lease;
  readonly renewMs: number;
  readonly log: Logger;
}

/** What a serving gateway knows of its lease. */
export interface Tenure extends WriteGuard {
  readonly epoch: number;
  /** The name of this gateway. */
  readonly holder: string;
}

/** A lease that we hold and renew. */
export interface HeldLease extends Tenure {
  /** Resolves, once another gateway has the lease, to who has it. */
  readonly lost: Promise<LeaseState>;
  /** Asks the store whether another gateway has the lease. */
  readonly isLost: () => Promise<boolean>;
  /** Stops renewing and gives the lease up, unless it is lost. */
  readonly giveUp: () => Promise<void>;
}

/**
 * Asks for the lease repeatedly, and renews it while it is ours.
 *
 * Nobody loses the lease because the store does not answer: nothing is acknowledged then, and the gateway keeps
 * forwarding alarms live (docs/reference/contract.md, 4.4). It is lost when the store names another holder.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #hasFailed = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /**
   * Asks once.
   *
   * @returns the lease, or who has it; undefined if the store does not answer
   */
  async ask(): Promise<HeldLease | LeaseState | undefined> {
    try {
      const state = await this.#options.lease.take();
      this.#hasFailed = false;
      return state.isOurs ? this.#hold(state) : state;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  /**
   * Asks until the lease is ours.
   *
   * @param isWanted whether to continue
   * @param told called with each answer that another gateway has it, and with undefined if the store does not answer
   * @returns the lease; undefined when no longer wanted
   */
  async wait(
    isWanted: () => boolean,
    told: (state: LeaseState | undefined) => void,
  ): Promise<HeldLease | undefined> {
    while (isWanted()) {
      const answer = await this.ask();
      if (answer !== undefined && 'giveUp' in answer) {
        if (isWanted()) return answer;
        await answer.giveUp();
        return undefined;
      }
      told(answer);
      await new Promise((resolve) => setTimeout(resolve, ASK_INTERVAL_MS));
    }
    return undefined;
  }

  #hold({ epoch, holder }: LeaseState): HeldLease {
    const { lease, renewMs } = this.#options;
    let lostTo: LeaseState | undefined;
    let lose: (state: LeaseState) => void = () => undefined;
    const lost = new Promise<LeaseState>((resolve) => {
      lose = resolve;
    });
    let isAsking = false;
    const renew = async (): Promise<void> => {
      if (isAsking || lostTo !== undefined) return;
      isAsking = true;
      try {
        const state = await lease.renew(epoch);
        this.#hasFailed = false;
        if (state.isOurs) return;
        clearInterval(timer);
        lostTo = state;
        lose(state);
      } catch (error) {
        this.#failed(error);
      } finally {
        isAsking = false;
      }
    };
    const timer = setInterval(renew, renewMs);
    /** Set until the store has said whose lease it is. Everyone who asks meanwhile shares the answer. */
    let asked: Promise<boolean> | undefined;
    const untilKnown = async (): Promise<boolean> => {
      while (lostTo === undefined && lease.isOverdue) {
        await renew();
        await new Promise((resolve) => setTimeout(resolve, ASK_INTERVAL_MS));
      }
      asked = undefined;
      return lostTo === undefined;
    };
    return {
      epoch,
      holder,
      fence: lease.fence(epoch),
      fenced: () => void renew(),
      overdue: () => {
        if (asked === undefined && lease.isOverdue) asked = untilKnown();
        return asked;
      },
      lost,
      isLost: async () => {
        await renew();
        return lostTo !== undefined;
      },
      giveUp: async () => {
        clearInterval(timer);
        if (lostTo === undefined) await lease.release(epoch).catch(this.#failed);
      },
    };
  }

  /** StoreOutages logs a store that is away. */
  readonly #failed = (error: unknown): void => {
    const isRefused = error instanceof Error && error.name === 'ReplyError';
    const level = isRefused && !this.#hasFailed ? 'warn' : 'debug';
    this.#hasFailed ||= isRefused;
    this.#options.log[level]({ err: error }, 'the store refuses the lease');
  };
}
