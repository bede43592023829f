import { matchesFilter } from '../domain/topics.js';
import type { LogEntry, LogName } from './log-entry.js';

export type QoS = 0 | 1;

/** A sequence number of each log. */
export type LogPositions = Readonly<Record<LogName, number>>;

/** One subscription of a session, and from and up to where in the logs it holds. */
export interface Subscription {
  readonly filter: string;
  readonly qos: QoS;
  /** The newest entries when it was made: they are not meant for it. */
  readonly after: LogPositions;
  /** The newest entries when it was ended: what was owed until then still is. */
  readonly until?: LogPositions | undefined;
}

/** The subscriptions of one session. */
export class Subscriptions {
  #current = new Map<string, Subscription>();
  #ended: Subscription[] = [];

  constructor(subscriptions: readonly Subscription[]) {
    for (const subscription of subscriptions) {
      if (subscription.until === undefined) this.#current.set(subscription.filter, subscription);
      else this.#ended.push(subscription);
    }
  }

  get size(): number {
    return this.#current.size;
  }

  /** Those in force. */
  list(): Subscription[] {
    return [...this.#current.values()];
  }

  /** With those that have ended but may still be owed something. */
  all(): Subscription[] {
    return [...this.#current.values(), ...this.#ended];
  }

  has(filter: string): boolean {
    return this.#current.has(filter);
  }

  /**
   * Subscribes, or changes the QoS of a filter that is subscribed to already [MQTT-3.8.4-3]: what is
   * owed so far stays owed at the QoS at which it was accepted.
   */
  put(filter: string, qos: QoS, newest: LogPositions): void {
    const before = this.#current.get(filter);
    if (before?.qos === qos) return;
    this.remove(filter, newest);
    this.#current.set(filter, { filter, qos, after: newest });
  }

  remove(filter: string, newest: LogPositions): void {
    const subscription = this.#current.get(filter);
    if (subscription === undefined) return;
    this.#current.delete(filter);
    if (subscription.qos === 1) this.#ended.push({ ...subscription, until: newest });
  }

  /** Forgets ended subscriptions whose last entry is settled. Returns their filters. */
  prune(settled: LogPositions): string[] {
    const isSettled = ({ until }: Subscription) =>
      until !== undefined && until.alarms <= settled.alarms && until.messages <= settled.messages;
    const gone = this.#ended.filter(isSettled);
    if (gone.length > 0) this.#ended = this.#ended.filter((ended) => !isSettled(ended));
    return gone.map(({ filter }) => filter);
  }

  /** The store has lost its newest entries: what is appended anew is meant for all that hold. */
  rewindTo(log: LogName, sequence: number): void {
    const back = (at: LogPositions) => ({ ...at, [log]: Math.min(at[log], sequence) });
    for (const [filter, subscription] of this.#current) {
      this.#current.set(filter, { ...subscription, after: back(subscription.after) });
    }
    this.#ended = this.#ended.map((ended) => ({
      ...ended,
      after: back(ended.after),
      until: ended.until && back(ended.until),
    }));
  }

  /** Whether the filter is in force, or ended and not pruned yet. */
  knows(filter: string): boolean {
    return this.has(filter) || this.#ended.some((ended) => ended.filter === filter);
  }

  /** The highest QoS granted for the topic now, undefined when no filter matches. */
  qosFor(topic: string): QoS | undefined {
    return highest(this.#current.values(), topic);
  }

  /** The same for an entry of a log, as it was when the entry was appended. */
  qosForEntry(entry: LogEntry): QoS | undefined {
    const { log, sequence } = entry;
    const inForce = this.all().filter(
      ({ after, until }) =>
        after[log] < sequence && (until === undefined || sequence <= until[log]),
    );
    return highest(inForce, entry.topic);
  }
}

/** A message that matches several filters is sent once, at the highest of their QoS. */
function highest(subscriptions: Iterable<Subscription>, topic: string): QoS | undefined {
  let qos: QoS | undefined;
  for (const subscription of subscriptions) {
    if (qos === 1) return qos;
    if (subscription.qos !== qos && matchesFilter(subscription.filter, topic)) {
      qos = subscription.qos;
    }
  }
  return qos;
}
