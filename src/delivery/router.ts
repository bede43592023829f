import type { Destination, DirectMessage } from './destination.js';
import type { LogEntry, LogName } from './log-entry.js';
import { LOG_NAMES } from './log-entry.js';
import type { LogTail } from './log-tail.js';

/** Takes what was stored, or is not to be stored, to everyone who must receive it. */
export class Router {
  readonly tails: Readonly<Record<LogName, LogTail>>;
  readonly #destinations = new Set<Destination>();

  constructor(tails: Readonly<Record<LogName, LogTail>>) {
    this.tails = tails;
  }

  /** The sequence number of the newest entry of each log. */
  get newest(): Readonly<Record<LogName, number>> {
    return { alarms: this.tails.alarms.last, messages: this.tails.messages.last };
  }

  add(destination: Destination): void {
    this.#destinations.add(destination);
  }

  remove(destination: Destination): void {
    this.#destinations.delete(destination);
  }

  /** An entry now stands in its log. Entries of a log come in its order. */
  appended(entry: LogEntry): void {
    const tail = this.tails[entry.log];
    const storeWentBack = entry.sequence <= tail.last;
    tail.append(entry);
    for (const destination of this.#destinations) {
      if (storeWentBack) destination.rewindTo(entry.log, entry.sequence - 1);
      if (destination.isConnected) destination.wake();
    }
  }

  /** A message that is in no log: whoever is connected and subscribed gets it now. */
  publishDirect(message: DirectMessage): void {
    for (const destination of this.#destinations) destination.offer(message);
  }

  /** Goes on where reading the store had failed. */
  wakeAll(): void {
    for (const destination of this.#destinations) destination.wake();
  }

  /** Up to where every destination is done with each log, `newest` when there is none. */
  settled(): Record<LogName, number> {
    const settled = { ...this.newest };
    for (const destination of this.#destinations) {
      for (const log of LOG_NAMES) {
        settled[log] = Math.min(settled[log], destination.settled[log]);
      }
    }
    return settled;
  }
}
