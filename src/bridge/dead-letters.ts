import type { Logger } from 'pino';
import { retry } from '../delivery/retry.js';
import type { DeadLetter, DeadLetterStore } from '../site/bridge-list.js';

export interface DeadLettersOptions {
  readonly bridge: string;
  readonly store: DeadLetterStore;
  readonly log: Logger;
  /** Ends the retries: a message that is not stored by then stays in the queue. */
  readonly signal: AbortSignal;
  readonly onStored: (letter: DeadLetter) => void;
}

/**
 * Stores dead letters before their messages leave the queue.
 *
 * So no message is lost unlisted. A message that becomes a dead letter again while the store is
 * away is stored once: it returns with the same packet identifier [MQTT-4.4.0-1].
 */
export class DeadLetters {
  readonly #options: DeadLettersOptions;
  /** Drops each message; set by the last connection that made it a dead letter. */
  readonly #drops = new Map<string, () => void>();
  #isWarned = false;

  constructor(options: DeadLettersOptions) {
    this.#options = options;
  }

  /** @param drop called once the dead letter is stored */
  add(messageId: number, letter: DeadLetter, drop: () => void): void {
    const key = `${messageId}\n${letter.topic}\n${letter.payload.toString('base64')}`;
    const isPending = this.#drops.has(key);
    this.#drops.set(key, drop);
    if (!isPending) void this.#store(key, letter);
  }

  async #store(key: string, letter: DeadLetter): Promise<void> {
    const { bridge, store, signal, onStored } = this.#options;
    const onFailure = (error: unknown) => this.#warn(error);
    if (await retry(() => store.add(bridge, letter), { signal, onFailure })) {
      this.#isWarned = false;
      onStored(letter);
      this.#drops.get(key)?.();
    }
    this.#drops.delete(key);
  }

  #warn(error: unknown): void {
    if (!this.#isWarned) this.#options.log.warn({ err: error }, 'failed to store a dead letter');
    this.#isWarned = true;
  }
}
