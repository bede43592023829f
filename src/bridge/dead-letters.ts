import type { Logger } from 'pino';
import type { DeadLetter, DeadLetterStore } from '../site/bridge-list.js';
import { retry } from './retry.js';
import type { Upstream } from './upstream.js';

export interface DeadLettersOptions {
  readonly bridge: string;
  readonly store: DeadLetterStore;
  readonly log: Logger;
  /** Ends the retries: a message that is not stored by then stays in the queue. */
  readonly signal: AbortSignal;
  readonly onStored: (letter: DeadLetter) => void;
}

interface Pending {
  upstream: Upstream;
  /** One for each message with this topic and payload. */
  drops: (() => void)[];
}

/**
 * Stores dead letters before their messages leave the queue.
 *
 * So no message is lost unlisted. A message that becomes a dead letter again while the store is
 * away is stored once.
 */
export class DeadLetters {
  readonly #options: DeadLettersOptions;
  readonly #pending = new Map<string, Pending>();
  #isWarned = false;

  constructor(options: DeadLettersOptions) {
    this.#options = options;
  }

  /** @param drop called once the dead letter is stored */
  add(upstream: Upstream, letter: DeadLetter, drop: () => void): void {
    const key = `${letter.topic}\n${letter.payload.toString('base64')}`;
    const present = this.#pending.get(key);
    if (present === undefined) {
      const pending = { upstream, drops: [drop] };
      this.#pending.set(key, pending);
      void this.#store(letter, pending).finally(() => this.#pending.delete(key));
    } else if (present.upstream === upstream) {
      present.drops.push(drop);
    } else {
      // A later connection has made dead letters of the same messages.
      present.upstream = upstream;
      present.drops = [drop];
    }
  }

  async #store(letter: DeadLetter, pending: Pending): Promise<void> {
    const { bridge, store, signal, onStored } = this.#options;
    const onFailure = (error: unknown) => this.#warn(error);
    while (pending.drops.length > 0) {
      if (!(await retry(() => store.add(bridge, letter), { signal, onFailure }))) return;
      this.#isWarned = false;
      onStored(letter);
      pending.drops.shift()?.();
    }
  }

  #warn(error: unknown): void {
    if (!this.#isWarned) this.#options.log.warn({ err: error }, 'failed to store a dead letter');
    this.#isWarned = true;
  }
}
