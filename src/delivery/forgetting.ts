import type { DirectMessage } from './direct-queue.js';
import type { RetainedMessages } from './retained-messages.js';

const NOTHING = Buffer.alloc(0);

/**
 * Removes retained messages, but none that was retained after its removal was asked for.
 *
 * Finding them takes a while, and longer with a slow store. Meanwhile the device may have moved back and published
 * there, or have been given a command at its new place: both must stay.
 */
export class Forgetting {
  readonly #retained: RetainedMessages;
  /** By topic, as long as anything is to be forgotten: which of all messages its newest one is. */
  readonly #newest = new Map<string, number>();
  #count = 0;
  #waiting = 0;
  /** One at a time: subscribers read retained messages as well. */
  #turn: Promise<void> = Promise.resolve();

  constructor(retained: RetainedMessages) {
    this.#retained = retained;
  }

  /** Notes a message that is being retained. */
  note(topic: string): void {
    if (this.#waiting > 0) this.#newest.set(topic, ++this.#count);
  }

  /** Removes the messages retained so far that match the filter and meet the condition. */
  forget(filter: string, isMeant: (message: DirectMessage) => boolean): Promise<void> {
    const soFar = this.#count;
    this.#waiting++;
    const forgetting = this.#turn.then(async () => {
      for await (const page of this.#retained.matching([filter])) {
        for (const message of page) {
          const isNewer = (this.#newest.get(message.topic) ?? 0) > soFar;
          if (isNewer || !isMeant(message)) continue;
          await this.#retained.store({ ...message, payload: NOTHING });
        }
      }
    });
    const done = forgetting.finally(() => {
      this.#waiting--;
      if (this.#waiting === 0) this.#newest.clear();
    });
    // The caller gets the error; the next goes ahead all the same.
    this.#turn = done.catch(() => undefined);
    return done;
  }
}
