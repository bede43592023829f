import { FilterTree } from '../domain/filter-tree.js';
import type { LogEntry, LogName, LogPositions } from './log-entry.js';

export type QoS = 0 | 1;

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
  /** All of them; put together when it is asked for, after a change. */
  #byFilter: FilterTree<Subscription> | undefined;

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
    this.#byFilter = undefined;
  }

  remove(filter: string, newest: LogPositions): void {
    const subscription = this.#current.get(filter);
    if (subscription === undefined) return;
    this.#current.delete(filter);
    this.#byFilter = undefined;
    if (subscription.qos === 1) this.#ended.push({ ...subscription, until: newest });
  }

  /** Forgets ended subscriptions whose last entry is below the ack floor. */
  prune(ackFloors: LogPositions): void {
    if (this.#ended.length === 0) return;
    const kept = this.#ended.filter(
      ({ until }) =>
        until === undefined ||
        until.alarms > ackFloors.alarms ||
        until.messages > ackFloors.messages,
    );
    if (kept.length < this.#ended.length) this.#byFilter = undefined;
    this.#ended = kept;
  }

  /** Whether subscriptions have ended to which messages may still be owed. */
  get hasEnded(): boolean {
    return this.#ended.length > 0;
  }

  /** The sequence since which the present filters alone decide what is accepted. */
  unchangedSince(log: LogName): number {
    let since = 0;
    for (const { after } of this.#current.values()) since = Math.max(since, after[log]);
    for (const { until } of this.#ended) since = Math.max(since, until?.[log] ?? 0);
    return since;
  }

  /** The store has lost its newest entries: what is appended anew is meant for all that hold. */
  rewindTo(log: LogName, sequence: number): void {
    this.#byFilter = undefined;
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

  /** The highest QoS granted for the topic now, undefined when no filter matches. */
  qosFor(topic: string): QoS | undefined {
    return highest(this.#matching(topic), ({ until }) => until === undefined);
  }

  /** The same for an entry of a log, as it was when the entry was appended. */
  qosForEntry({ log, sequence, topic }: LogEntry): QoS | undefined {
    return highest(
      this.#matching(topic),
      ({ after, until }) =>
        after[log] < sequence && (until === undefined || sequence <= until[log]),
    );
  }

  #matching(topic: string): Set<Subscription> {
    this.#byFilter ??= treeOf(this.all());
    return this.#byFilter.match(topic);
  }
}

function treeOf(subscriptions: readonly Subscription[]): FilterTree<Subscription> {
  const tree = new FilterTree<Subscription>();
  for (const subscription of subscriptions) tree.add(subscription.filter, subscription);
  return tree;
}

/** A message that matches several filters is sent once, at the highest of their QoS. */
function highest(
  subscriptions: ReadonlySet<Subscription>,
  isInForce: (subscription: Subscription) => boolean,
): QoS | undefined {
  let qos: QoS | undefined;
  for (const subscription of subscriptions) {
    if (subscription.qos !== qos && isInForce(subscription)) qos = subscription.qos;
    if (qos === 1) return qos;
  }
  return qos;
}
