import type { Logger } from 'pino';
import type { Consumer } from './consumer.js';
import type { LogName, LogPositions } from './log-entry.js';
import type { SessionPosition, SessionStore } from './session-store.js';
import { SharedTurn } from './shared-turn.js';

/** How much of what was acknowledged may be sent again after a crash. */
const SAVE_INTERVAL_MS = 50;
const FAILED = 'failed to save cursors, acknowledged messages may be repeated';

export interface CursorSaverOptions {
  readonly store: SessionStore;
  /** What is to be saved of a consumer; undefined of one whose session is not kept, or is gone. */
  readonly positionOf: (consumer: Consumer) => SessionPosition | undefined;
  readonly log: Logger;
}

/** What was saved of a session. */
interface Saved {
  /** Without what changes with every entry, whether it concerns the session or not. */
  readonly text: string;
  readonly countedUpTo: LogPositions;
}

/** Saves the cursors that have moved, all of them in one write a moment later. */
export class CursorSaver {
  /** The consumers whose cursors may have moved since they were saved. */
  readonly moved = new Set<Consumer>();
  readonly #options: CursorSaverOptions;
  /** What was saved last. */
  readonly #saved = new Map<string, Saved>();
  /** The ack floors of each session in what is stored of it. */
  readonly #ackFloors = new Map<string, LogPositions>();
  readonly #saving = new SharedTurn(() => this.#save());
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;

  constructor(options: CursorSaverOptions) {
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
  stored({ clientId, cursors: { alarms, messages } }: SessionPosition): void {
    this.#ackFloors.set(clientId, { alarms: alarms.ackFloor, messages: messages.ackFloor });
  }

  /** The lowest ack floor of the sessions in what is stored of them. */
  storedAckFloor(log: LogName): number {
    return Math.min(...[...this.#ackFloors.values()].map((ackFloor) => ackFloor[log]));
  }

  /** The session is gone: nothing of it is to be saved any more. */
  forget(clientId: string): void {
    this.#saved.delete(clientId);
    this.#ackFloors.delete(clientId);
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
    const { store, positionOf } = this.#options;
    const changed = new Map<Consumer, SessionPosition>();
    for (const consumer of this.moved) {
      const position = positionOf(consumer);
      if (position === undefined) continue;
      const saved = savedOf(position);
      if (isCoveredBy(saved, this.#saved.get(position.clientId))) continue;
      this.#saved.set(position.clientId, saved);
      changed.set(consumer, position);
    }
    this.moved.clear();
    if (changed.size === 0) return;
    try {
      await store.saveCursors([...changed.values()]);
    } catch (error) {
      for (const [consumer, { clientId }] of changed) {
        // Not one that was forgotten meanwhile.
        if (this.#saved.delete(clientId)) this.moved.add(consumer);
      }
      throw error;
    }
    for (const position of changed.values()) {
      // Forgotten meanwhile, it has no say in what is kept.
      if (this.#ackFloors.has(position.clientId)) this.stored(position);
    }
  }
}

function savedOf({ cursors: { alarms, messages }, ...position }: SessionPosition): Saved {
  const { countedUpTo: alarmsUpTo = 0, ...ofAlarms } = alarms;
  const { countedUpTo: messagesUpTo = 0, ...ofMessages } = messages;
  const text = JSON.stringify([position, ofAlarms, ofMessages]);
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
