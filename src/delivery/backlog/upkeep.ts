import type { Logger } from 'pino';
import type { Deliveries } from '../deliveries.js';
import type { LogPositions, TrimmableLogs } from '../log/log-entry.js';
import { MessageCompaction } from '../log/message-compaction.js';
import type { Sessions } from '../sessions/sessions.js';
import type { BacklogBounds } from './backlog-bounds.js';

const INTERVAL_MS = 1_000;
/** Entries are expired, and logs trimmed, every so many intervals. */
const INTERVALS_PER_KEEPING = 10;
/** Entries to count again after a crash, at most, before the gateway is ready. */
const UNCOUNTED_ENTRIES = 5_000;
const INTERVALS_PER_CHECKPOINT = 60;

export interface UpkeepOptions {
  readonly logs: TrimmableLogs;
  readonly deliveries: Deliveries;
  readonly sessions: Sessions;
  readonly bounds: BacklogBounds;
  readonly log: Logger;
}

/**
 * Keeps the logs in bounds: expires what is too old, trims what is below every ack floor, and saves
 * how much every session has accepted, so that a start need not count it.
 */
export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #compaction: MessageCompaction;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;
  #intervals = 0;
  /** Undefined: the first checkpoint is due at once, as a start may have found that entries were lost. */
  #savedAt: LogPositions | undefined;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#compaction = new MessageCompaction(options.logs, options.deliveries);
  }

  start(): void {
    this.#timer = setInterval(() => {
      if (this.#isRunning) return;
      // Runs count, not ticks: one that takes long must not make expiry miss its turn.
      this.#intervals++;
      this.#running = this.#run();
    }, INTERVAL_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Expires, saves and trims. */
  async keep(): Promise<void> {
    const { deliveries, sessions } = this.#options;
    for (const consumer of deliveries.consumers) consumer.keepBounds();
    for (const selection of deliveries.routes.selections()) selection.forgetOldMarks();
    const saved = deliveries.floor('messages');
    await this.#makeRoom(() => sessions.saveCursors());
    // What was acknowledged meanwhile is not saved; and a log that went back gives numbers anew.
    await this.#trim(Math.min(saved, deliveries.floor('messages')));
    await this.#compaction.run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    if (this.#isCheckpointDue()) await this.#attempt(() => this.checkpoint());
    await this.#attempt(() => this.bound());
    if (this.#intervals % INTERVALS_PER_KEEPING === 0) await this.#attempt(() => this.keep());
    this.#isRunning = false;
  }

  /** A full store takes no checkpoint, and must be trimmed all the same: it would stay full. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'failed to trim the logs, retrying');
    });
  }

  /** Keeps backlogs within their bytes; makes room at once when the log has too many. */
  async bound(): Promise<void> {
    const { bounds, logs } = this.#options;
    bounds.boundPrincipals();
    if ((await bounds.boundLog()) === 0) return;
    await this.keep();
    // What little a quiet session is owed, at the beginning of the log, holds all the rest.
    if (bounds.excessOf(await logs.messageBytes()) > 0) await this.#compaction.compact();
  }

  #isCheckpointDue(): boolean {
    if (this.#savedAt === undefined) return true;
    const { alarms, messages } = this.#options.deliveries.newest;
    const ofAlarms = alarms - this.#savedAt.alarms;
    const ofMessages = messages - this.#savedAt.messages;
    const appended = ofAlarms + ofMessages;
    // The store has lost entries: the saved counts include them.
    if (ofAlarms < 0 || ofMessages < 0) return true;
    if (appended === 0) return false;
    return appended >= UNCOUNTED_ENTRIES || this.#intervals % INTERVALS_PER_CHECKPOINT === 0;
  }

  /** Saves how much every session has accepted, and up to where that is counted. */
  async checkpoint(): Promise<void> {
    const { newest } = this.#options.deliveries;
    await this.#options.sessions.saveAll();
    this.#savedAt = newest;
  }

  /**
   * Saves before anything is trimmed, making room when the store is full.
   *
   * A gateway that starts from stored cursors must not look for trimmed entries. A full store takes
   * no cursors: then entries below the stored ack floors are trimmed first.
   */
  async #makeRoom(save: () => Promise<void>): Promise<void> {
    try {
      await save();
    } catch {
      const { deliveries, sessions } = this.#options;
      const stored = sessions.storedFloor('messages');
      await this.#trim(Math.min(stored, deliveries.floor('messages')));
      await save();
    }
  }

  async #trim(upTo: number): Promise<void> {
    if (upTo > 0) await this.#options.logs.trimMessages(upTo);
  }
}
