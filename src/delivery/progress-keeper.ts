import type { Logger } from 'pino';
import type { Consumer } from './consumer.js';
import type { LogName, LogPositions } from './log-entry.js';
import type { SessionProgress, SessionStore } from './session-store.js';
import { SharedTurn } from './shared-turn.js';

/** How much of what was acknowledged may be sent again after a crash. */
const SAVE_INTERVAL_MS = 50;
const FAILED = 'failed to save cursors, acknowledged messages may be repeated';

export interface ProgressKeeperOptions {
  readonly store: SessionStore;
  /** What is to be saved of a consumer; undefined of one whose session is not kept, or is gone. */
  readonly progressOf: (consumer: Consumer) => SessionProgress | undefined;
  readonly log: Logger;
}

/** What was saved of a session. */
interface Saved {
  /** Without what changes with every entry, whether it concerns the session or not. */
  readonly text: string;
  readonly countedUpTo: LogPositions;
}

/** Saves the cursors that have moved, all of them in one write a moment later. */
export class ProgressKeeper {
  /** The consumers whose cursors may have moved since they were saved. */
  readonly moved = new Set<Consumer>();
  readonly #options: ProgressKeeperOptions;
  /** What was saved last. */
  readonly #saved = new Map<string, Saved>();
  /** Up to where each session is settled in what is stored of it. */
  readonly #settled = new Map<string, LogPositions>();
  readonly #saving = new SharedTurn(() => this.#save());
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;

  constructor(options: ProgressKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      if (this.moved.size > 0) void this.#saveInBackground();
    }, SAVE_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** This is stored of the session. */
  stored({ clientId, cursors: { alarms, messages } }: SessionProgress): void {
    this.#settled.set(clientId, { alarms: alarms.settled, messages: messages.settled });
  }

  /** Where the log is settled for all of the sessions in what is stored of them. */
  storedSettled(log: LogName): number {
    return Math.min(...[...this.#settled.values()].map((settled) => settled[log]));
  }

  /** The session is gone: nothing of it is to be saved any more. */
  forget(clientId: string): void {
    this.#saved.delete(clientId);
    this.#settled.delete(clientId);
  }

  /**
   * Saves now; all that had moved is stored when this resolves. What could not be saved is tried
   * again.
   */
  flush(): Promise<void> {
    // One at a time: what another has taken on is stored before this resolves.
    return this.#saving.take();
  }

  /** One log line for an outage, however often saving is retried. */
  async #saveInBackground(): Promise<void> {
    try {
      await this.flush();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#options.log.warn({ err: error }, FAILED);
      this.#hasFailed = true;
    }
  }

  async #save(): Promise<void> {
    const { store, progressOf } = this.#options;
    const changed = new Map<Consumer, SessionProgress>();
    for (const consumer of this.moved) {
      const progress = progressOf(consumer);
      if (progress === undefined) continue;
      const saved = savedOf(progress);
      if (isCoveredBy(saved, this.#saved.get(progress.clientId))) continue;
      this.#saved.set(progress.clientId, saved);
      changed.set(consumer, progress);
    }
    this.moved.clear();
    if (changed.size === 0) return;
    try {
      await store.saveProgress([...changed.values()]);
    } catch (error) {
      for (const [consumer, { clientId }] of changed) {
        // Not one that was forgotten meanwhile.
        if (this.#saved.delete(clientId)) this.moved.add(consumer);
      }
      throw error;
    }
    for (const progress of changed.values()) {
      // Forgotten meanwhile, it has no say in what is kept.
      if (this.#settled.has(progress.clientId)) this.stored(progress);
    }
  }
}

function savedOf({ cursors: { alarms, messages }, ...progress }: SessionProgress): Saved {
  const { countedUpTo: alarmsUpTo = 0, ...ofAlarms } = alarms;
  const { countedUpTo: messagesUpTo = 0, ...ofMessages } = messages;
  const text = JSON.stringify([progress, ofAlarms, ofMessages]);
  return { text, countedUpTo: { alarms: alarmsUpTo, messages: messagesUpTo } };
}

/** Whether there is nothing to save. Where the store has lost entries, a number counted to is too high. */
function isCoveredBy({ text, countedUpTo }: Saved, before: Saved | undefined): boolean {
  return (
    before?.text === text &&
    before.countedUpTo.alarms <= countedUpTo.alarms &&
    before.countedUpTo.messages <= countedUpTo.messages
  );
}
