import { matchesFilter } from '../domain/topics.js';
import type { LogEntry, LogName } from './log-entry.js';

export type QoS = 0 | 1;

/** One subscription of a session. */
export interface Subscription {
  readonly filter: string;
  readonly qos: QoS;
  /** The newest entry of each log when it was made: older ones are not meant for it. */
  readonly after: Readonly<Record<LogName, number>>;
}

/** The subscriptions of one session, one for each filter. */
export class Subscriptions {
  readonly #byFilter = new Map<string, Subscription>();

  constructor(subscriptions: readonly Subscription[]) {
    for (const subscription of subscriptions) this.put(subscription);
  }

  get size(): number {
    return this.#byFilter.size;
  }

  list(): Subscription[] {
    return [...this.#byFilter.values()];
  }

  has(filter: string): boolean {
    return this.#byFilter.has(filter);
  }

  /** A filter that is subscribed to again keeps what it was owed [MQTT-3.8.4-3]. */
  put(subscription: Subscription): void {
    const before = this.#byFilter.get(subscription.filter);
    this.#byFilter.set(subscription.filter, {
      ...subscription,
      after: before?.after ?? subscription.after,
    });
  }

  remove(filter: string): void {
    this.#byFilter.delete(filter);
  }

  /** The highest QoS granted for the topic, undefined when no filter matches. */
  qosFor(topic: string): QoS | undefined {
    return highest(this.#byFilter.values(), topic);
  }

  /** The same for an entry of a log. */
  qosForEntry(entry: LogEntry): QoS | undefined {
    const concerned = this.list().filter(({ after }) => after[entry.log] < entry.sequence);
    return highest(concerned, entry.topic);
  }
}

/** A message that matches several filters is sent once, at the highest of their QoS. */
function highest(subscriptions: Iterable<Subscription>, topic: string): QoS | undefined {
  let qos: QoS | undefined;
  for (const subscription of subscriptions) {
    if (qos === 1) return qos;
    if (matchesFilter(subscription.filter, topic)) qos = subscription.qos;
  }
  return qos;
}
