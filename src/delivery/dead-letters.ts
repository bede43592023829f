import type { Logger } from 'pino';
import type { DeadLetter, DeadLetterStore } from '../site/bridge-list.js';
import { retry } from './retry.js';

export interface DeadLettersOptions {
  /** Whose dead letters they are, as the store knows it. */
  readonly key: string;
  readonly store: Pick<DeadLetterStore, 'add'>;
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
    const same = `${messageId}\n${letter.topic}\n${letter.payload.toString('base64')}`;
    const isPending = this.#drops.has(same);
    this.#drops.set(same, drop);
    if (!isPending) void this.#store(same, letter);
  }

  async #store(same: string, letter: DeadLetter): Promise<void> {
    const { key, store, signal, onStored } = this.#options;
    const onFailure = (error: unknown) => this.#warn(error);
    if (await retry(() => store.add(key, letter), { signal, onFailure })) {
      this.#isWarned = false;
      onStored(letter);
      this.#drops.get(same)?.();
    }
    this.#drops.delete(same);
  }

  #warn(error: unknown): void {
    if (!this.#isWarned) this.#options.log.warn({ err: error }, 'failed to store a dead letter');
    this.#isWarned = true;
  }
}
