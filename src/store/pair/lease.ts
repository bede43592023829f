/**
 * The lease of a site in its store: one gateway has it and serves, the others stand by.
 *
 * It is only an agreement about who serves. The check of each write (scripts.ts) keeps a gateway that has lost it from
 * writing, whatever the clocks say. Nobody loses it because the store does not answer: nothing is acknowledged
 * then, and the gateway keeps forwarding alarms live (contract 4.4). It is lost when the store names another holder.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { Script } from '../scripts.js';
import type { Store, WriteGuard } from '../store.js';

const RANDOM_BYTES = 3;
/** The longest gap between two answers of an available store; a slow one takes far less. */
const MAX_GAP_MS = 1_000;
/** How often a gateway on standby asks for the lease, and so how soon it gets one that is given up. */
const ASK_INTERVAL_MS = 100;

const leaseScript = new Script('lease', z.tuple([z.number(), z.number(), z.string(), z.string()]));

/** Who has the lease. */
export interface LeaseState {
  readonly isOurs: boolean;
  readonly epoch: number;
  /** Empty while nobody has it. */
  readonly holder: string;
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

export interface LeaseOptions {
  readonly store: Store;
  /** The name of this gateway. */
  readonly holder: string;
  readonly lengthMs: number;
  readonly renewMs: number;
  /** Milliseconds by a clock that does not jump. */
  readonly elapsed: () => number;
  readonly log: Logger;
}

/** A unique name that tells an operator which process it is. */
export function holderName(): string {
  return `${hostname()}/${process.pid}/${randomBytes(RANDOM_BYTES).toString('hex')}`;
}

export class Lease {
  readonly #options: LeaseOptions;
  #epoch = 0;
  /** The other's last renewal, and since when there has been no newer one while the store kept answering. */
  #renewal = '';
  #unrenewedSinceMs = 0;
  #answeredAtMs: number | undefined;
  #wasRefused = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /**
   * Asks once.
   *
   * @returns the lease, or who has it; undefined if the store does not answer
   */
  async ask(): Promise<HeldLease | LeaseState | undefined> {
    try {
      const state = await this.take();
      this.#wasRefused = false;
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
   * @param tell called with each answer that another gateway has it, and with undefined if the store does not answer
   * @returns the lease; undefined when no longer wanted
   */
  async wait(
    isWanted: () => boolean,
    tell: (state: LeaseState | undefined) => void,
  ): Promise<HeldLease | undefined> {
    while (isWanted()) {
      const answer = await this.ask();
      if (answer !== undefined && 'giveUp' in answer) {
        if (isWanted()) return answer;
        await answer.giveUp();
        return undefined;
      }
      tell(answer);
      await delay(ASK_INTERVAL_MS);
    }
    return undefined;
  }

  /**
   * Takes the lease unless another gateway has it.
   *
   * Call it repeatedly. A store that does not answer, or fails over, stops the holder from renewing just as it stops
   * us from asking: after such a gap, the full length of the lease must pass again without a renewal.
   */
  async take(): Promise<LeaseState> {
    const { lengthMs, elapsed } = this.#options;
    const askedAtMs = elapsed();
    const isFirst = this.#answeredAtMs === undefined;
    if (askedAtMs - (this.#answeredAtMs ?? askedAtMs) > MAX_GAP_MS) {
      this.#unrenewedSinceMs = askedAtMs;
    }
    const isOver = askedAtMs - this.#unrenewedSinceMs > lengthMs;
    const [isOurs, epoch, holder, renewal] = await this.#run(
      'take',
      this.#epoch,
      isOver ? this.#renewal : '',
      isFirst,
    );
    const nowMs = elapsed();
    if (renewal !== this.#renewal || nowMs - askedAtMs > MAX_GAP_MS) this.#unrenewedSinceMs = nowMs;
    this.#renewal = renewal;
    this.#answeredAtMs = nowMs;
    this.#epoch = Math.max(this.#epoch, epoch);
    return { isOurs: isOurs === 1, epoch, holder };
  }

  /** Renews the lease that `take` has taken. */
  async renew(epoch: number): Promise<LeaseState> {
    const [isOurs, newest, holder] = await this.#run('renew', epoch);
    this.#epoch = Math.max(this.#epoch, newest);
    return { isOurs: isOurs === 1, epoch: newest, holder };
  }

  /** Gives the lease up, so that the next gateway can take it at once. */
  async release(epoch: number): Promise<void> {
    await this.#run('release', epoch);
  }

  #hold({ epoch, holder }: LeaseState): HeldLease {
    const { renewMs } = this.#options;
    let lostTo: LeaseState | undefined;
    let lose: (state: LeaseState) => void = () => undefined;
    const lost = new Promise<LeaseState>((resolve) => {
      lose = resolve;
    });
    let renewing: Promise<void> | undefined;
    const renew = (): Promise<void> => {
      renewing ??= renewOnce().finally(() => {
        renewing = undefined;
      });
      return renewing;
    };
    const renewOnce = async (): Promise<void> => {
      if (lostTo !== undefined) return;
      const state = await this.renew(epoch).catch((error: unknown) => this.#failed(error));
      if (state === undefined || state.isOurs) return;
      clearInterval(timer);
      lostTo = state;
      lose(state);
    };
    const timer = setInterval(renew, renewMs);
    return {
      epoch,
      holder,
      token: `${epoch} ${holder}`,
      fenced: () => void renew(),
      lost,
      isLost: async () => {
        await renew();
        return lostTo !== undefined;
      },
      giveUp: async () => {
        clearInterval(timer);
        if (lostTo === undefined) await this.release(epoch).catch((error) => this.#failed(error));
      },
    };
  }

  #run(action: 'take' | 'renew' | 'release', epoch: number, renewal = '', takesEnded = false) {
    const { store, holder, lengthMs } = this.#options;
    return store.run(leaseScript, { action, holder, lengthMs, epoch, renewal, takesEnded });
  }

  /** StoreOutages logs a store that is away. */
  #failed(error: unknown): undefined {
    const isRefused = error instanceof Error && error.name === 'ReplyError';
    const level = isRefused && !this.#wasRefused ? 'warn' : 'debug';
    this.#wasRefused ||= isRefused;
    this.#options.log[level]({ err: error }, 'the store refuses the lease');
    return undefined;
  }
}
