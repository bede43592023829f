import type { Logger } from 'pino';
import type { AccountReader } from './accounts.js';
import { isUnanswered } from './reply-code.js';
import type { Router } from './router.js';
import type { Sessions } from './sessions/sessions.js';

export const UPKEEP_INTERVAL_MS = 10_000;

export interface UpkeepOptions {
  readonly router: Router;
  readonly sessions: Sessions;
  readonly accounts: AccountReader;
  /** Reads the number of the newest entry in the store. */
  readonly newestEntry: () => Promise<number>;
  /** Called when that number is lower than before. */
  readonly onWentBack: () => void;
  /** Called when the accounts have been read. */
  readonly onAccounts: () => void;
  readonly log: Logger;
}

/** Expires what is too old in the queues, reads their accounts, and has consumers read what they forgot. */
export class Upkeep {
  readonly #options: UpkeepOptions;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /**
   * Runs once; call it every `UPKEEP_INTERVAL_MS`. A failure is logged; StoreWatch reports a store that does not answer.
   */
  async run(): Promise<void> {
    try {
      await this.keep();
    } catch (err) {
      const { log } = this.#options;
      if (!isUnanswered(err)) log.warn({ err }, 'failed to keep the queues in bounds, retrying');
    }
  }

  async keep(): Promise<void> {
    const { router, sessions, accounts, newestEntry, onWentBack, onAccounts } = this.#options;
    const { known } = router.numbers;
    if ((await newestEntry()) < known) onWentBack();
    for (const consumer of router.consumers) await consumer.expire();
    for (const key of await accounts.read()) {
      // A new session has no record until it is first stored.
      if (sessions.get(key)?.isSaved === true) await sessions.mend(key);
    }
    onAccounts();
    for (const consumer of router.consumers) consumer.readForgotten();
  }
}
