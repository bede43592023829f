import type { Logger } from 'pino';
import { FilterTree } from '../domain/filter-tree.js';
import { AwayCounts } from './away-counts.js';
import type { Destination } from './destination.js';
import type { DirectMessage } from './direct-queue.js';
import type { LogEntry, LogName, LogReader } from './log-entry.js';
import type { LogTail } from './log-tail.js';
import type { LogPositions } from './subscriptions.js';

const GAP_RETRY_MS = 250;

export interface RouterOptions {
  readonly tails: Readonly<Record<LogName, LogTail>>;
  readonly reader: LogReader;
  readonly log: Logger;
}

/** Takes what was stored, or is not to be stored, to everyone who must receive it. */
export class Router {
  readonly tails: Readonly<Record<LogName, LogTail>>;
  readonly #reader: LogReader;
  readonly #log: Logger;
  readonly #destinations = new Set<Destination>();
  readonly #filters = new FilterTree<Destination>();
  /** The same of those who are connected alone. */
  readonly #connected = new FilterTree<Destination>();
  readonly #away = new AwayCounts();
  /** Entries that wait until a gap before them is filled from the store. */
  readonly #waiting: Record<LogName, LogEntry[]> = { alarms: [], messages: [] };

  constructor(options: RouterOptions) {
    this.tails = options.tails;
    this.#reader = options.reader;
    this.#log = options.log;
  }

  /** The sequence number of the newest entry of each log. */
  get newest(): LogPositions {
    return { alarms: this.tails.alarms.last, messages: this.tails.messages.last };
  }

  get destinations(): ReadonlySet<Destination> {
    return this.#destinations;
  }

  add(destination: Destination): void {
    this.#destinations.add(destination);
    for (const { filter } of destination.subscriptions.all()) {
      this.#filters.add(filter, destination);
    }
    this.connectionChanged(destination);
  }

  remove(destination: Destination): void {
    this.#destinations.delete(destination);
    destination.countedBy(undefined);
    for (const { filter } of destination.subscriptions.all()) this.#forget(filter, destination);
  }

  /** It is connected now and gets what is appended; or is away, and it is only counted. */
  connectionChanged(destination: Destination): void {
    if (!this.#destinations.has(destination)) return;
    const { isConnected, member } = destination;
    // Filters that have ended may have been among the connected ones, too.
    for (const { filter } of destination.subscriptions.all()) {
      this.#connected.remove(filter, destination);
    }
    if (isConnected) {
      for (const { filter } of member.filters) this.#connected.add(filter, destination);
    }
    destination.countedBy(isConnected ? undefined : this.#away.join(member, () => this.newest));
  }

  /** It has these filters now. Costs no more for those that it had: they may be a thousand. */
  subscribed(destination: Destination, filters: readonly string[]): void {
    if (!this.#destinations.has(destination)) return;
    for (const filter of filters) this.#filters.add(filter, destination);
    if (destination.isConnected) {
      for (const filter of filters) this.#connected.add(filter, destination);
    } else {
      this.connectionChanged(destination);
    }
  }

  /** These filters of it have ended; what is owed to them still is. */
  ended(destination: Destination, filters: readonly string[]): void {
    for (const filter of filters) this.#connected.remove(filter, destination);
    if (!destination.isConnected) this.connectionChanged(destination);
  }

  /** To be called once nothing is owed to the filter any more. */
  unsubscribed(destination: Destination, filter: string): void {
    this.#forget(filter, destination);
  }

  /** Whoever has, or had until lately, a filter that matches the topic. */
  concerned(topic: string): Set<Destination> {
    return this.#filters.match(topic);
  }

  /**
   * An entry now stands in its log. One that is known already, because an alarm was published again,
   * changes nothing. Before one that comes too early, because the store's answer for another was
   * lost, the missing ones are read from the store.
   *
   * @param isNew whether it was appended just now, and not found there
   */
  appended(entry: LogEntry, isNew: boolean): void {
    const waiting = this.#waiting[entry.log];
    const { last } = this.tails[entry.log];
    if (entry.sequence <= last && !isNew) return;
    if (entry.sequence <= last) this.#wentBack(entry.log, entry.sequence - 1);
    if (waiting.length > 0) {
      waiting.push(entry);
    } else if (entry.sequence > last + 1) {
      waiting.push(entry);
      this.#fillGap(entry.log);
    } else {
      this.#announce(entry);
    }
  }

  /** A message that is in no log: whoever is connected and subscribed gets it now. */
  publishDirect(message: DirectMessage): void {
    for (const destination of this.#connected.match(message.topic)) destination.offer(message);
  }

  /** Goes on where reading the store had failed. */
  wakeAll(): void {
    for (const destination of this.#destinations) {
      if (destination.isConnected) destination.wake();
    }
  }

  /** The store has lost its newest entries (a failover, a restored backup): it ends here. */
  #wentBack(log: LogName, last: number): void {
    this.#log.error({ log, last }, 'the store has lost its newest log entries');
    this.tails[log].restart(last);
    for (const destination of this.#destinations) destination.storeWentBack(log, last);
  }

  #forget(filter: string, destination: Destination): void {
    this.#filters.remove(filter, destination);
    this.#connected.remove(filter, destination);
  }

  #announce(entry: LogEntry): void {
    this.tails[entry.log].append(entry);
    this.#away.appended(entry);
    for (const destination of this.#connected.match(entry.topic)) destination.appended(entry);
  }

  #fillGap(log: LogName): void {
    this.#readGap(log).catch((error: unknown) => {
      this.#log.warn({ err: error, log }, 'missing entries not read, trying again');
      setTimeout(() => this.#fillGap(log), GAP_RETRY_MS).unref();
    });
  }

  async #readGap(log: LogName): Promise<void> {
    const waiting = this.#waiting[log];
    const tail = this.tails[log];
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const missing = first.sequence - 1 - tail.last;
      const entries = missing > 0 ? await this.#reader.read(log, tail.last, missing) : [];
      for (const entry of entries) if (entry.sequence < first.sequence) this.#announce(entry);
      waiting.shift();
      // It may have come twice, recorded and then found to be recorded.
      if (first.sequence > tail.last) this.#announce(first);
    }
  }
}
