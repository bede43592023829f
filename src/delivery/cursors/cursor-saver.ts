import type { Logger } from 'pino';
import type { Consumer } from '../consumer.js';
import type { LogName, LogPositions } from '../log/log-entry.js';
import type { SessionPosition, SessionStore } from '../sessions/session-store.js';
import { SharedTurn } from '../sessions/shared-turn.js';

/** Entries acknowledged in this time are sent again after a crash. */
const SAVE_INTERVAL_MS = 50;
/** Backoff after a failure: a store that takes no writes has the live copies to wait for as well. */
const RETRY_AFTER_MS = 1_000;
const FAILED = 'failed to save cursors, acknowledged messages may be repeated';

export interface CursorSaverOptions {
  readonly store: Pick<SessionStore, 'saveCursors'>;
  /** The position to save; undefined for a session that is not persistent, or is gone. */
  readonly positionOf: (consumer: Consumer) => SessionPosition | undefined;
  readonly log: Logger;
}

/** The stored position of a session. */
interface Stored {
  readonly ackFloors: LogPositions;
  /**
   * The position as JSON, without `countedUpTo`, which changes with every entry; empty after a write
   * that failed, for the store may have made it.
   */
  text: string;
  readonly countedUpTo: LogPositions;
}

/** Saves moved cursors, all of them in one write a moment later. */
export class CursorSaver {
  /** The consumers whose cursors may have moved since they were saved. */
  readonly moved = new Set<Consumer>();
  readonly #options: CursorSaverOptions;
  /** By session key. */
  readonly #stored = new Map<string, Stored>();
  readonly #saving = new SharedTurn(() => this.#save());
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;

  constructor(options: CursorSaverOptions) {
    this.#options = options;
  }

  start(): void {
    // Not an interval: a store that gives no answer would be asked for ever more.
    const timer = setTimeout(
      async () => {
        if (this.moved.size > 0) await this.#saveInBackground();
        if (this.#timer === timer) this.start();
      },
      this.#hasFailed ? RETRY_AFTER_MS : SAVE_INTERVAL_MS,
    );
    this.#timer = timer;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Notes the stored position of a session. */
  noteStored(position: SessionPosition): void {
    this.#stored.set(position.key, storedOf(position));
  }

  /** The lowest stored ack floor of all sessions. */
  storedAckFloor(log: LogName): number {
    let floor = Number.POSITIVE_INFINITY;
    for (const { ackFloors } of this.#stored.values()) floor = Math.min(floor, ackFloors[log]);
    return floor;
  }

  /** Forgets a session that has ended. */
  forget(key: string): void {
    this.#stored.delete(key);
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
    }
  }

  async #save(): Promise<void> {
    const { store, positionOf } = this.#options;
    const changed: { consumer: Consumer; position: SessionPosition; stored: Stored }[] = [];
    for (const consumer of this.moved) {
      const position = positionOf(consumer);
      if (position === undefined) continue;
      const stored = storedOf(position);
      if (isCoveredBy(stored, this.#stored.get(position.key))) continue;
      changed.push({ consumer, position, stored });
    }
    this.moved.clear();
    if (changed.length === 0) return;
    try {
      await store.saveCursors(changed.map(({ position }) => position));
    } catch (error) {
      for (const { consumer, position } of changed) {
        this.moved.add(consumer);
        const before = this.#stored.get(position.key);
        if (before !== undefined) before.text = '';
      }
      throw error;
    }
    for (const { position, stored } of changed) {
      // A session forgotten meanwhile no longer counts for the lowest ack floor.
      if (this.#stored.has(position.key)) this.#stored.set(position.key, stored);
    }
  }
}

function storedOf({ cursors: { alarms, messages }, ...position }: SessionPosition): Stored {
  const { countedUpTo: alarmsUpTo, ...ofAlarms } = alarms;
  const { countedUpTo: messagesUpTo, ...ofMessages } = messages;
  const text = JSON.stringify([position, ofAlarms, ofMessages]);
  return {
    ackFloors: { alarms: alarms.ackFloor, messages: messages.ackFloor },
    text,
    countedUpTo: { alarms: alarmsUpTo, messages: messagesUpTo },
  };
}

/**
 * Whether the saved position still holds.
 *
 * After the store has lost entries, a saved `countedUpTo` is too high.
 */
function isCoveredBy({ text, countedUpTo }: Stored, before: Stored | undefined): boolean {
  return (
    before?.text === text &&
    before.countedUpTo.alarms <= countedUpTo.alarms &&
    before.countedUpTo.messages <= countedUpTo.messages
  );
}
