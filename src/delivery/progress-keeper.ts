import type { Logger } from 'pino';
import type { Destination } from './destination.js';
import type { SessionProgress, SessionStore } from './session-store.js';

/** How much of what was acknowledged may be sent again after a crash. */
const SAVE_INTERVAL_MS = 50;

/** Saves the cursors that have moved, all of them in one write a moment later. */
export class ProgressKeeper {
  readonly #store: SessionStore;
  readonly #log: Logger;
  readonly #moved = new Map<string, Destination>();
  readonly #saved = new WeakMap<Destination, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: SessionStore, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** The destination's cursors may have moved. */
  moved(clientId: string, destination: Destination): void {
    const { alarms, messages } = destination.settled;
    if (this.#saved.get(destination) === `${alarms}/${messages}`) return;
    this.#moved.set(clientId, destination);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.flush().catch((error: unknown) => {
        this.#log.warn({ err: error }, 'cursors not saved, acknowledged messages may be repeated');
      });
    }, SAVE_INTERVAL_MS);
  }

  /** The session is gone: nothing of it is to be saved any more. */
  forget(clientId: string): void {
    this.#moved.delete(clientId);
  }

  /** Saves now. What could not be saved is tried again with the next change. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const progress: SessionProgress[] = [];
    for (const [clientId, destination] of this.#moved) {
      const { settled } = destination;
      progress.push({ clientId, cursors: settled });
      this.#saved.set(destination, `${settled.alarms}/${settled.messages}`);
    }
    this.#moved.clear();
    if (progress.length > 0) await this.#store.saveProgress(progress);
  }
}
