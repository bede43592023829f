import type { Logger } from 'pino';
import type { LogName, LogPositions } from './log-entry.js';
import type { SessionProgress, SessionStore } from './session-store.js';
import { SharedTurn } from './shared-turn.js';

/** How much of what was acknowledged may be sent again after a crash. */
const SAVE_INTERVAL_MS = 50;

/** What was saved of a session. */
interface Saved {
  /** Without what changes with every entry, whether it concerns the session or not. */
  readonly text: string;
  readonly countedUpTo: LogPositions;
}

/** Saves the cursors that have moved, all of them in one write a moment later. */
export class ProgressKeeper {
  readonly #store: SessionStore;
  readonly #log: Logger;
  readonly #moved = new Map<string, () => SessionProgress>();
  /** What was saved last. */
  readonly #saved = new Map<string, Saved>();
  /** Up to where each session is settled in what is stored of it. */
  readonly #settled = new Map<string, LogPositions>();
  #timer: NodeJS.Timeout | undefined;
  readonly #saving = new SharedTurn(() => this.#save());

  constructor(store: SessionStore, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** The session's cursors may have moved. */
  moved(clientId: string, progress: () => SessionProgress): void {
    this.#moved.set(clientId, progress);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.flush().catch((error: unknown) => {
        this.#log.warn(
          { err: error },
          'failed to save cursors, acknowledged messages may be repeated',
        );
      });
    }, SAVE_INTERVAL_MS);
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
    this.#moved.delete(clientId);
    this.#saved.delete(clientId);
    this.#settled.delete(clientId);
  }

  /**
   * Saves now; all that had moved is stored when this resolves. What could not be saved is tried
   * again with the next change.
   */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // One at a time: what another has taken on is stored before this resolves.
    return this.#saving.take();
  }

  async #save(): Promise<void> {
    const moved = new Map(this.#moved);
    this.#moved.clear();
    const changed: SessionProgress[] = [];
    for (const [clientId, progress] of moved) {
      const current = progress();
      const saved = savedOf(current);
      if (isCoveredBy(saved, this.#saved.get(clientId))) continue;
      this.#saved.set(clientId, saved);
      changed.push(current);
    }
    if (changed.length === 0) return;
    try {
      await this.#store.saveProgress(changed);
      for (const progress of changed) {
        // Forgotten meanwhile, it has no say in what is kept.
        if (this.#settled.has(progress.clientId)) this.stored(progress);
      }
    } catch (error) {
      this.#notSaved(changed, moved);
      throw error;
    }
  }

  #notSaved(
    changed: readonly SessionProgress[],
    moved: ReadonlyMap<string, () => SessionProgress>,
  ): void {
    for (const { clientId } of changed) {
      const progress = moved.get(clientId);
      // Forgotten meanwhile, or moved again.
      if (!this.#saved.delete(clientId) || progress === undefined) continue;
      if (!this.#moved.has(clientId)) this.#moved.set(clientId, progress);
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
