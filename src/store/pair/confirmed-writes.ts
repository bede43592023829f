import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '../../errors.js';
import type { ReplicaLink } from './replica-link.js';

const SEND_AGAIN_AFTER_MS = 50;

/**
 * What becomes of writes: a replica has them, or none is needed; the connection broke before it said so; or they
 * may not be acknowledged at present.
 */
export type Verdict = 'confirmed' | 'broken' | 'held';

/** Decides whether writes may be acknowledged (Replicas). */
export interface Judge {
  /** Whether anything waits for a replica. */
  readonly isOn: boolean;
  /** Why nothing is acknowledged at present, undefined when it may be. */
  readonly refusal: string | undefined;
  /** Judges all that this generation of the connection has written. */
  readonly judge: (link: ReplicaLink, generation: number) => Promise<Verdict>;
  /** Resolves once held writes may be judged otherwise. */
  readonly untilChange: () => Promise<void>;
}

interface Write {
  readonly send: () => Promise<unknown>;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** How often it was sent: only the last answer counts. */
  attempts: number;
  answer: { readonly reply: unknown; readonly generation: number } | undefined;
}

/**
 * Withholds the replies of one connection's writes until a replica has them.
 *
 * All that was answered is judged at once: what comes meanwhile is the next group. When the connection broke before
 * a judgement, its writes may be lost with the former primary. Where they can be repeated they are all sent again, in
 * their order: one alone might overwrite what was written after it. Elsewhere they fail.
 */
export class ConfirmedWrites {
  readonly #link: ReplicaLink;
  readonly #judge: Judge;
  readonly #isRepeating: boolean;
  /** In the order in which they were sent. */
  #writes: Write[] = [];
  #isJudging = false;

  /** @param isRepeating whether writes wait as long as it takes; else they fail soon */
  constructor(link: ReplicaLink, judge: Judge, isRepeating: boolean) {
    this.#link = link;
    this.#judge = judge;
    this.#isRepeating = isRepeating;
  }

  /**
   * Resolves to the reply once it may be acknowledged (write-guard.ts).
   *
   * @throws GatewayError `store-unavailable` where writes are not repeated, also for one that was made
   */
  confirm(send: () => Promise<unknown>): Promise<unknown> {
    const { isOn, refusal } = this.#judge;
    if (!isOn || this.#link.isMarking) return send();
    if (!this.#isRepeating && refusal !== undefined) return Promise.reject(unavailable(refusal));
    return new Promise((resolve, reject) => {
      const write: Write = { send, resolve, reject, attempts: 0, answer: undefined };
      this.#writes.push(write);
      this.#send(write);
    });
  }

  #send(write: Write): void {
    const attempt = ++write.attempts;
    write.answer = undefined;
    write.send().then(
      (reply) => {
        if (write.attempts !== attempt) return;
        write.answer = { reply, generation: this.#link.generation };
        if (!this.#isJudging) void this.#judgeAll();
      },
      (error) => {
        if (write.attempts !== attempt) return;
        this.#remove([write]);
        write.reject(error);
      },
    );
  }

  async #judgeAll(): Promise<void> {
    this.#isJudging = true;
    for (let group = this.#answered(); group.length > 0; group = this.#answered()) {
      const { generation } = this.#link;
      const isWhole = group.every(({ answer }) => answer?.generation === generation);
      const verdict = isWhole ? await this.#judge.judge(this.#link, generation) : 'broken';
      if (verdict === 'confirmed')
        this.#settle(group, (write) => write.resolve(write.answer?.reply));
      else if (!this.#isRepeating) this.#fail(group);
      else if (verdict === 'held') await this.#judge.untilChange();
      else await this.#sendAgain();
    }
    this.#isJudging = false;
  }

  #answered(): Write[] {
    return this.#writes.filter(({ answer }) => answer !== undefined);
  }

  #fail(group: readonly Write[]): void {
    const reason = this.#judge.refusal ?? 'The store went away before a replica confirmed.';
    this.#settle(group, (write) => write.reject(unavailable(reason)));
  }

  async #sendAgain(): Promise<void> {
    await delay(SEND_AGAIN_AFTER_MS);
    for (const write of this.#writes) this.#send(write);
  }

  #settle(group: readonly Write[], settle: (write: Write) => void): void {
    this.#remove(group);
    for (const write of group) settle(write);
  }

  #remove(group: readonly Write[]): void {
    const removed = new Set(group);
    this.#writes = this.#writes.filter((write) => !removed.has(write));
  }
}

function unavailable(reason: string): GatewayError {
  return new GatewayError('store-unavailable', reason);
}
