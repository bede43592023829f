import { FilterTree } from '../../domain/filter-tree.js';
import type { LogEntry, LogName, LogPositions } from '../log/log-entry.js';

export type QoS = 0 | 1;

/** One subscription of a session, and its range in each log. */
export interface Subscription {
  readonly filter: string;
  readonly qos: QoS;
  /** The newest entries when subscribed: entries up to here are not covered. */
  readonly after: LogPositions;
  /** The newest entries when unsubscribed: entries up to here are still covered. */
  readonly until?: LogPositions | undefined;
}

/** Topics whose subscriptions are remembered: those of the devices that a page of a backlog is about. */
const MAX_REMEMBERED_TOPICS = 256;

/** The subscriptions of one session. */
export class Subscriptions {
  #current = new Map<string, Subscription>();
  #ended: Subscription[] = [];
  /** All subscriptions by filter; built on demand after a change. */
  #byFilter: FilterTree<Subscription> | undefined;
  readonly #remembered = new Map<string, ReadonlySet<Subscription>>();

  constructor(subscriptions: readonly Subscription[]) {
    for (const subscription of subscriptions) {
      if (subscription.until === undefined) this.#current.set(subscription.filter, subscription);
      else this.#ended.push(subscription);
    }
  }

  get size(): number {
    return this.#current.size;
  }

  /** With ended ones that may still have queued entries. */
  get heldCount(): number {
    return this.#current.size + this.#ended.length;
  }

  /** The subscriptions in force. */
  list(): Subscription[] {
    return [...this.#current.values()];
  }

  /** The subscriptions in force, and ended ones that may still have queued entries. */
  all(): Subscription[] {
    return [...this.#current.values(), ...this.#ended];
  }

  has(filter: string): boolean {
    return this.#current.has(filter);
  }

  /**
   * Subscribes, or changes the QoS of a filter [MQTT-3.8.4-3].
   *
   * Entries accepted so far keep the QoS at which they were accepted.
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

  /** Whether there are ended subscriptions that may still have queued entries. */
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

  /** Covers entries that are appended anew after the store lost its newest. */
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

  /** The highest QoS granted when the entry was appended, undefined when no filter matched. */
  qosForEntry({ log, sequence, topic }: LogEntry): QoS | undefined {
    return highest(
      this.#matching(topic),
      ({ after, until }) =>
        after[log] < sequence && (until === undefined || sequence <= until[log]),
    );
  }

  #matching(topic: string): ReadonlySet<Subscription> {
    if (this.#byFilter === undefined) {
      this.#byFilter = treeOf(this.all());
      this.#remembered.clear();
    }
    const known = this.#remembered.get(topic);
    if (known !== undefined) return known;
    const matching = this.#byFilter.match(topic);
    if (this.#remembered.size >= MAX_REMEMBERED_TOPICS) this.#remembered.clear();
    this.#remembered.set(topic, matching);
    return matching;
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
