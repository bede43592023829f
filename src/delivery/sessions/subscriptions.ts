import { FilterTree } from '../../domain/filter-tree.js';

export type QoS = 0 | 1;

/** One subscription of a session. */
export interface Subscription {
  readonly filter: string;
  readonly qos: QoS;
}

/** The subscriptions of one session. */
export class Subscriptions {
  readonly #qosByFilter = new Map<string, QoS>();
  /** Built on demand after a change. */
  #tree: FilterTree<string> | undefined;

  constructor(subscriptions: readonly Subscription[]) {
    for (const { filter, qos } of subscriptions) this.#qosByFilter.set(filter, qos);
  }

  get size(): number {
    return this.#qosByFilter.size;
  }

  list(): Subscription[] {
    return Array.from(this.#qosByFilter, ([filter, qos]) => ({ filter, qos }));
  }

  has(filter: string): boolean {
    return this.#qosByFilter.has(filter);
  }

  /** Subscribes, or changes the QoS of a filter [MQTT-3.8.4-3]. */
  put(filter: string, qos: QoS): void {
    this.#qosByFilter.set(filter, qos);
    this.#tree = undefined;
  }

  remove(filter: string): void {
    if (this.#qosByFilter.delete(filter)) this.#tree = undefined;
  }

  /** The highest QoS granted for the topic, undefined when no filter matches. */
  qosFor(topic: string): QoS | undefined {
    this.#tree ??= treeOf(this.#qosByFilter.keys());
    let qos: QoS | undefined;
    for (const filter of this.#tree.match(topic)) {
      qos = this.#qosByFilter.get(filter) ?? qos;
      if (qos === 1) return qos;
    }
    return qos;
  }
}

function treeOf(filters: Iterable<string>): FilterTree<string> {
  const tree = new FilterTree<string>();
  for (const filter of filters) tree.add(filter, filter);
  return tree;
}
