import type { Logger } from 'pino';
import { type Deliveries, isDurable } from '../deliveries.js';
import { isUnanswered } from '../log/reply-code.js';
import type { AccountReader } from '../queues/account-reader.js';
import type { Sessions } from '../sessions/sessions.js';
import type { BacklogBounds } from './backlog-bounds.js';

const INTERVAL_MS = 1_000;
/** Every this many intervals, entries are expired and accounts checked. */
const INTERVALS_PER_KEEPING = 10;

export interface UpkeepOptions {
  readonly deliveries: Deliveries;
  readonly sessions: Sessions;
  readonly accounts: AccountReader;
  readonly bounds: BacklogBounds;
  /** Reads the number of the newest alarm in the store. */
  readonly newestAlarm: () => Promise<number>;
  /** Called when that number is lower than before. */
  readonly onWentBack: () => void;
  /** Called when the accounts have been read. */
  readonly onAccounts: () => void;
  readonly log: Logger;
}

/** Keeps queues in bounds and reads their accounts. */
export class Upkeep {
  readonly #options: UpkeepOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;
  #intervals = 0;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      if (this.#isRunning) return;
      // Count runs, not ticks: a long run must not make expiry miss its turn.
      this.#intervals++;
      this.#running = this.#run();
    }, INTERVAL_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Expires old entries, reads the accounts, and has consumers read forgotten items. */
  async keep(): Promise<void> {
    const { deliveries, sessions, accounts, newestAlarm, onWentBack, onAccounts } = this.#options;
    const { last } = deliveries.tail;
    if ((await newestAlarm()) < last) onWentBack();
    for (const consumer of deliveries.consumers) {
      const { alarms, messages } = consumer.queued;
      if (isDurable(consumer) && alarms + messages > 0) await consumer.keepBounds();
    }
    for (const key of await accounts.read()) {
      // A new session has no record until it is first stored.
      if (sessions.get(key)?.isSaved === true) await sessions.mend(key);
    }
    onAccounts();
    for (const consumer of deliveries.consumers) consumer.readForgotten();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    await this.#attempt(() => this.#options.bounds.keep());
    if (this.#intervals % INTERVALS_PER_KEEPING === 0) await this.#attempt(() => this.keep());
    this.#isRunning = false;
  }

  /** A failure does not stop the rest; StoreMonitor reports a store that does not answer. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    await work().catch((err: unknown) => {
      const { log } = this.#options;
      if (!isUnanswered(err)) log.warn({ err }, 'failed to keep the queues in bounds, retrying');
    });
  }
}
