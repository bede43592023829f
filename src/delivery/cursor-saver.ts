import type { Logger } from 'pino';
import type { Consumer } from './consumer.js';
import type { LogName, LogPositions } from './log-entry.js';
import type { SessionPosition, SessionStore } from './session-store.js';
import { SharedTurn } from './shared-turn.js';

/** Entries acknowledged in this time are sent again after a crash. */
const SAVE_INTERVAL_MS = 50;
/** Backoff after a failure: a store that takes no writes has the live copies to wait for as well. */
const RETRY_AFTER_MS = 1_000;
const FAILED = 'failed to save cursors, acknowledged messages may be repeated';

export interface CursorSaverOptions {
  readonly store: SessionStore;
  /** The position to save; undefined for a session that is not persistent, or is gone. */
  readonly positionOf: (consumer: Consumer) => SessionPosition | undefined;
  readonly log: Logger;
}

/** The last saved position of a session. */
interface Saved {
  /** The position as JSON, without `countedUpTo`, which changes with every entry. */
  readonly text: string;
  readonly countedUpTo: LogPositions;
}

/** Saves moved cursors, all of them in one write a moment later. */
export class CursorSaver {
  /** The consumers whose cursors may have moved since they were saved. */
  readonly moved = new Set<Consumer>();
  readonly #options: CursorSaverOptions;
  /** By session key. */
  readonly #saved = new Map<string, Saved>();
  /** Stored ack floors, by session key. */
  readonly #ackFloors = new Map<string, LogPositions>();
  readonly #saving = new SharedTurn(() => this.#save());
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;
  /** By `performance.now`. */
  #notBeforeMs = 0;

  constructor(options: CursorSaverOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      const mayTry = performance.now() >= this.#notBeforeMs;
      if (mayTry && this.moved.size > 0) void this.#saveInBackground();
    }, SAVE_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Notes the stored position of a session. */
  noteStored({ key, cursors: { alarms, messages } }: SessionPosition): void {
    this.#ackFloors.set(key, { alarms: alarms.ackFloor, messages: messages.ackFloor });
  }

  /** The lowest stored ack floor of all sessions. */
  storedAckFloor(log: LogName): number {
    return Math.min(...[...this.#ackFloors.values()].map((ackFloor) => ackFloor[log]));
  }

  /** Forgets a session that has ended. */
  forget(key: string): void {
    this.#saved.delete(key);
    this.#ackFloors.delete(key);
  }

  /**
   * Saves now; resolves once every moved cursor is stored.
   *
   * Cursors that failed to be saved are retried.
   */
  flush(): Promise<void> {
    // Saves run one at a time: cursors that another save has taken are stored as well.
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
      this.#notBeforeMs = performance.now() + RETRY_AFTER_MS;
    }
  }

  async #save(): Promise<void> {
    const { store, positionOf } = this.#options;
    const changed = new Map<Consumer, SessionPosition>();
    for (const consumer of this.moved) {
      const position = positionOf(consumer);
      if (position === undefined) continue;
      const saved = savedOf(position);
      if (isCoveredBy(saved, this.#saved.get(position.key))) continue;
      this.#saved.set(position.key, saved);
      changed.set(consumer, position);
    }
    this.moved.clear();
    if (changed.size === 0) return;
    try {
      await store.saveCursors([...changed.values()]);
    } catch (error) {
      for (const [consumer, { key }] of changed) {
        // A session forgotten meanwhile is not saved again.
        if (this.#saved.delete(key)) this.moved.add(consumer);
      }
      throw error;
    }
    for (const position of changed.values()) {
      // A session forgotten meanwhile no longer counts for the lowest ack floor.
      if (this.#ackFloors.has(position.key)) this.noteStored(position);
    }
  }
}

function savedOf({ cursors: { alarms, messages }, ...position }: SessionPosition): Saved {
  const { countedUpTo: alarmsUpTo = 0, ...ofAlarms } = alarms;
  const { countedUpTo: messagesUpTo = 0, ...ofMessages } = messages;
  const text = JSON.stringify([position, ofAlarms, ofMessages]);
  return { text, countedUpTo: { alarms: alarmsUpTo, messages: messagesUpTo } };
}

/**
 * Whether the saved position still holds.
 *
 * After the store has lost entries, a saved `countedUpTo` is too high.
 */
function isCoveredBy({ text, countedUpTo }: Saved, before: Saved | undefined): boolean {
  return (
    before?.text === text &&
    before.countedUpTo.alarms <= countedUpTo.alarms &&
    before.countedUpTo.messages <= countedUpTo.messages
  );
}
