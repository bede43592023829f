import { FilterTree } from '../../domain/filter-tree.js';

export type QoS = 0 | 1;

/** One subscription of a session. MQTT 5 options (3.8.3.1) are left out if not asked for. */
export interface Subscription {
  readonly filter: string;
  readonly qos: QoS;
  /** Whether the session's own messages are not sent to it. */
  readonly isNoLocal?: true | undefined;
  /** Whether messages keep the RETAIN flag that they were published with. */
  readonly isRetainAsPublished?: true | undefined;
  /** A number sent with the messages of the subscription. */
  readonly identifier?: number | undefined;
}

/** The form in which the subscriptions that match a topic get its messages. */
export interface Forwarding {
  readonly isRetainAsPublished: boolean;
  readonly identifiers: readonly number[] | undefined;
}

const AS_BEFORE_MQTT_5: Forwarding = { isRetainAsPublished: false, identifiers: undefined };

/** The subscriptions of one session. */
export class Subscriptions {
  readonly #byFilter = new Map<string, Subscription>();
  /** Built on demand after a change. */
  #tree: FilterTree<string> | undefined;
  #hasOptions = false;
  #hasQos0 = false;
  #hasNoLocal = false;

  constructor(subscriptions: readonly Subscription[]) {
    for (const subscription of subscriptions) this.put(subscription);
  }

  get size(): number {
    return this.#byFilter.size;
  }

  /** Whether any subscription may leave out the session's own messages. */
  get hasNoLocal(): boolean {
    return this.#hasNoLocal;
  }

  /** Whether any subscription may have been granted QoS 0. */
  get hasQos0(): boolean {
    return this.#hasQos0;
  }

  list(): Subscription[] {
    return [...this.#byFilter.values()];
  }

  has(filter: string): boolean {
    return this.#byFilter.has(filter);
  }

  /** Subscribes, or changes the options of a filter [MQTT-3.8.4-3]. */
  put(subscription: Subscription): void {
    const { filter, qos, isNoLocal, isRetainAsPublished, identifier } = subscription;
    this.#byFilter.set(filter, subscription);
    this.#tree = undefined;
    this.#hasQos0 ||= qos === 0;
    this.#hasNoLocal ||= isNoLocal === true;
    this.#hasOptions ||= isRetainAsPublished === true || identifier !== undefined;
  }

  remove(filter: string): void {
    if (this.#byFilter.delete(filter)) this.#tree = undefined;
  }

  /**
   * The highest QoS granted for the topic; undefined when no filter matches.
   *
   * @param isOwn whether the session has published the message, which No Local subscriptions then do not bring
   */
  qosFor(topic: string, isOwn = false): QoS | undefined {
    let qos: QoS | undefined;
    for (const subscription of this.#matching(topic, isOwn)) {
      qos = subscription.qos;
      if (qos === 1) return qos;
    }
    return qos;
  }

  /** @param isOwn as for `qosFor` */
  forwardingFor(topic: string, isOwn: boolean): Forwarding {
    if (!this.#hasOptions) return AS_BEFORE_MQTT_5;
    const all = this.#matching(topic, isOwn);
    // Each once: Mosquitto's clients disconnect on a repeated property.
    const identifiers = [...new Set(all.flatMap(({ identifier }) => identifier ?? []))];
    return {
      isRetainAsPublished: all.some(({ isRetainAsPublished }) => isRetainAsPublished === true),
      identifiers: identifiers.length === 0 ? undefined : identifiers,
    };
  }

  #matching(topic: string, isOwn: boolean): Subscription[] {
    this.#tree ??= treeOf(this.#byFilter.keys());
    const all = Array.from(this.#tree.match(topic)).flatMap((filter) => {
      return this.#byFilter.get(filter) ?? [];
    });
    return isOwn ? all.filter(({ isNoLocal }) => isNoLocal !== true) : all;
  }
}

function treeOf(filters: Iterable<string>): FilterTree<string> {
  const tree = new FilterTree<string>();
  for (const filter of filters) tree.add(filter, filter);
  return tree;
}
