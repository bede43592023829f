import type { Logger } from 'pino';
import { FilterTree } from '../domain/filter-tree.js';
import type { Audience } from '../domain/grants.js';
import { AlarmFigures } from './accounts.js';
import {
  type Consumer,
  type ConsumerServices,
  type DurableConsumer,
  isDurable,
} from './consumer.js';
import type { Entry, LogName, Message } from './message.js';
import type { Appended, NewEntry, Numbers } from './new-entry.js';
import type { QueueStore } from './queue.js';
import { Recent } from './recent.js';
import type { QoS, Subscription } from './sessions/subscriptions.js';
import { Settler } from './settler.js';

export interface RouterOptions {
  /** The number of the newest entry in the store. */
  readonly newestEntry: number;
  readonly queues: QueueStore;
  /** Writes a durable consumer's lost record again. Returns whether the consumer exists. */
  readonly mend: (key: string) => Promise<boolean>;
  /** Called with the first and last number of the entries that the store has lost. */
  readonly onWentBack: (from: number, to: number) => void;
  /** Called with the number of entries that a consumer accepted and the store has lost. */
  readonly onLost: (count: number) => void;
  readonly log: Logger;
  /** The steady clock. */
  readonly now: () => number;
  readonly elapsedSinceMs: (timeMs: number) => number;
}

/** Takes messages to the consumers that must receive them: stored entries, telemetry, what is sent but once. */
export class Router {
  /** The parts that all consumers share. */
  readonly services: ConsumerServices;
  readonly routes = new Routes();
  readonly alarmFigures: AlarmFigures;
  /** How many messages outside the queues were larger than a client takes, since the start. */
  leftOutCount = 0;
  readonly #options: RouterOptions;
  readonly #recent: Recent;
  readonly #consumers = new Set<Consumer>();
  readonly #durable = new Map<string, DurableConsumer>();
  readonly #toPump = new Set<Consumer>();
  /** By the routes of a topic: most messages share the destinations of others. */
  readonly #destinations = new WeakMap<object, readonly DurableConsumer[]>();
  readonly #names = new WeakMap<object, readonly string[]>();

  constructor(options: RouterOptions) {
    this.#options = options;
    const { newestEntry, queues, log, now, elapsedSinceMs, onLost, mend } = options;
    this.alarmFigures = new AlarmFigures(now);
    this.#recent = new Recent(newestEntry);
    this.services = {
      queues,
      settler: new Settler({ store: queues, mend, log }),
      lastAnnounced: () => this.#recent.last,
      pumpLater: (consumer) => this.#pumpLater(consumer),
      now,
      elapsedSinceMs,
      alarmSent: (alarm) => this.alarmFigures.sent(alarm),
      leftOut: () => this.leftOutCount++,
      lost: onLost,
    };
  }

  get consumers(): ReadonlySet<Consumer> {
    return this.#consumers;
  }

  get numbers(): Numbers {
    return { known: this.#recent.last, above: this.#recent.above };
  }

  add(consumer: Consumer): void {
    this.#consumers.add(consumer);
    if (isDurable(consumer)) this.#durable.set(consumer.key, consumer);
    this.routes.set(consumer, () => consumer.subscriptions.list());
  }

  remove(consumer: Consumer): void {
    this.#consumers.delete(consumer);
    this.#toPump.delete(consumer);
    if (isDurable(consumer) && this.#durable.get(consumer.key) === consumer) {
      this.#durable.delete(consumer.key);
    }
    this.routes.remove(consumer);
  }

  /** All those in whose queues an entry goes, whatever QoS is granted, so that none overtakes another of its device. */
  destinationsOf(entry: NewEntry): readonly string[] {
    const consumers = this.#durableFor(entry, 'alarms');
    const known = this.#names.get(consumers);
    if (known !== undefined) return known;
    const names = consumers.map(({ key }) => key);
    this.#names.set(consumers, names);
    return names;
  }

  /** Whether a durable consumer wants the message at QoS 1. */
  isQueued(message: Message): boolean {
    return this.#durableFor(message, 'messages').length > 0;
  }

  /**
   * Announces stored entries, in this order.
   *
   * One announced before is skipped: it was published again.
   */
  announce(
    entries: readonly NewEntry[],
    { numbers, backlogs }: Exclude<Appended, { readonly unusable: unknown }>,
    destinations: readonly (readonly string[])[],
  ): void {
    for (const [index, source] of entries.entries()) {
      const number = numbers[index] ?? 0;
      const sequence = Math.abs(number);
      if (sequence <= this.#recent.last) continue;
      const entry = appendedEntry(source, sequence);
      // Another writer has put entries on the queues, or some were lost; those were not announced.
      const isAfterGap = sequence > this.#recent.last + 1;
      if (number > 0) this.alarmFigures.recorded(entry);
      this.#recent.append(entry);
      if (isAfterGap) this.#restartAll();
      for (const key of destinations[index] ?? []) this.#durable.get(key)?.offer(entry);
      this.#offerLive(entry);
    }
    for (const [key, queued] of backlogs) this.#durable.get(key)?.noteBacklog(queued);
  }

  /**
   * Forgets what the store has lost, by a failover or a restored backup. The queues went back too, and are read again.
   *
   * @param last the number of the newest entry left
   * @returns the lost entries still in memory, in order
   */
  wentBack(last: number): readonly NewEntry[] {
    const to = this.#recent.last;
    if (to <= last) return [];
    this.#options.log.error({ last }, 'the store has lost its newest alarms');
    const lost = this.#recent.cutAfter(last);
    this.#restartAll();
    this.#options.onWentBack(last + 1, to);
    return lost;
  }

  async mend(keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.#options.mend(key);
  }

  /** Queues a message at QoS 1 in memory, for each subscriber: also for an absent one whose session is kept. */
  queue(message: Message): void {
    const entry: Entry = { ...message, log: 'messages', sequence: 0, isNeverLate: true };
    for (const route of this.routes.match(entry.topic)) {
      const { consumer } = route;
      const qos = qosOf(route, entry.publisher);
      if (qos === undefined || !consumer.mayReceive(entry)) continue;
      if (qos === 0) consumer.offerAtQos0(entry);
      else if (consumer.isConnected || isDurable(consumer)) consumer.offer(entry);
    }
  }

  /** Sends a message outside the queues to every connected subscriber. */
  publishDirect(message: Message): void {
    for (const route of this.routes.match(message.topic)) {
      const qos = qosOf(route, message.publisher);
      if (qos !== undefined && route.consumer.isConnected) route.consumer.offerDirect(message, qos);
    }
  }

  /**
   * Sends a message at QoS 0 to the connected subscribers that do not have it yet.
   *
   * @param sentTo the connections that have it; those that get it now are added. A session that connects again has
   *   perhaps not got what was written to the connection before; one may be full for a moment
   */
  publishCopy(message: Message, sentTo: Set<unknown>): void {
    for (const route of this.routes.match(message.topic)) {
      const { receiver } = route.consumer.window;
      if (receiver === undefined || sentTo.has(receiver)) continue;
      if (!route.consumer.mayReceive(message) || qosOf(route, message.publisher) === undefined)
        continue;
      if (route.consumer.window.sendNow(message)) sentTo.add(receiver);
    }
  }

  /** Whether a subscriber, connected or away, has asked for the topic and may see the message. */
  isWanted(message: Audience & { readonly topic: string }): boolean {
    return this.routes.match(message.topic).some(({ consumer }) => consumer.mayReceive(message));
  }

  /**
   * The smallest lag, in entries, of the consumers that acknowledge promptly; 0 when none reads.
   *
   * One slow consumer must not slow down the devices for all.
   */
  get lag(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const consumer of this.#consumers) {
      if (consumer.isPrompt) least = Math.min(least, consumer.lag);
    }
    return Number.isFinite(least) ? least : 0;
  }

  /** Offers an entry to the connected subscribers that have no queue for it in the store. */
  #offerLive(entry: Entry): void {
    for (const route of this.routes.match(entry.topic)) {
      const { consumer } = route;
      const qos = qosOf(route, entry.publisher);
      if (isDurable(consumer) || !consumer.isConnected) continue;
      if (qos === undefined || !consumer.mayReceive(entry)) continue;
      if (qos === 0) consumer.offerAtQos0(entry);
      else consumer.offer(entry);
    }
  }

  #durableFor(message: Message, log: LogName): readonly DurableConsumer[] {
    const routes = this.routes.match(message.topic);
    const { publisher } = message;
    const isOwn =
      publisher !== undefined && routes.some(({ consumer }) => consumer.session === publisher);
    const isRemembered = log === 'alarms' && !isOwn;
    const known = isRemembered ? this.#destinations.get(routes) : undefined;
    const all =
      known ??
      routes.flatMap((route) => {
        const { consumer } = route;
        const qos = qosOf(route, publisher);
        const isQueued = log === 'alarms' ? qos !== undefined : qos === 1;
        return isQueued && isDurable(consumer) ? [consumer] : [];
      });
    if (isRemembered && known === undefined) this.#destinations.set(routes, all);
    return all.every((consumer) => consumer.mayReceive(message))
      ? all
      : all.filter((consumer) => consumer.mayReceive(message));
  }

  #restartAll(): void {
    for (const consumer of this.#consumers) consumer.restart();
  }

  /** Wakes the consumer once per batch, or once for all acknowledgements of one read. */
  #pumpLater(consumer: Consumer): void {
    if (this.#toPump.size === 0) queueMicrotask(() => this.#pump());
    this.#toPump.add(consumer);
  }

  #pump(): void {
    const consumers = [...this.#toPump];
    this.#toPump.clear();
    for (const consumer of consumers) consumer.wake();
  }
}

function appendedEntry(source: NewEntry, sequence: number): Entry {
  const { topic, payload, receivedAtMs, locationId, groupId, properties, publisher } = source;
  const isNeverLate = 'isNeverLate' in source ? true : undefined;
  return {
    log: 'alarms',
    sequence,
    topic,
    payload,
    receivedAtMs,
    locationId,
    groupId,
    properties,
    publisher,
    isNeverLate,
    source,
  };
}

/** A consumer whose filters match, at the highest QoS it has asked for. */
interface Route {
  readonly consumer: Consumer;
  /** For the messages of others. */
  readonly qos: QoS;
  /** For its own messages, by the filters that are not No Local; undefined: it gets none (MQTT 5, 3.8.3.1). */
  readonly ownQos: QoS | undefined;
}

/** Topics whose routes are remembered: a device has about ten, an ordinary home a few hundred. */
const MAX_REMEMBERED_TOPICS = 20_000;

/** Finds the consumers whose filters match a topic. */
class Routes {
  readonly #tree = new FilterTree<Route>();
  /** By consumer and filter. */
  readonly #branches = new Map<Consumer, Map<string, Route>>();
  readonly #remembered = new Map<string, readonly Route[]>();
  /** Consumers whose filters must be read again before the next match. */
  readonly #changed = new Map<Consumer, () => readonly Subscription[]>();

  /**
   * Sets the filters that a consumer is matched by.
   *
   * They are read before the next match: a thousand subscriptions in a row cause one change.
   */
  set(consumer: Consumer, filters: () => readonly Subscription[]): void {
    this.#changed.set(consumer, filters);
  }

  remove(consumer: Consumer): void {
    this.#changed.delete(consumer);
    this.#apply(consumer, []);
    this.#branches.delete(consumer);
  }

  match(topic: string): readonly Route[] {
    for (const [consumer, filters] of this.#changed) this.#apply(consumer, filters());
    this.#changed.clear();
    const known = this.#remembered.get(topic);
    if (known !== undefined) return known;
    const found = new Map<Consumer, Route>();
    for (const route of this.#tree.match(topic)) {
      const before = found.get(route.consumer);
      found.set(route.consumer, before === undefined ? route : broader(before, route));
    }
    const routes = [...found.values()];
    if (this.#remembered.size >= MAX_REMEMBERED_TOPICS) this.#remembered.clear();
    this.#remembered.set(topic, routes);
    return routes;
  }

  /** Replaces the filters of a consumer. */
  #apply(consumer: Consumer, filters: readonly Subscription[]): void {
    const before = this.#branches.get(consumer) ?? new Map<string, Route>();
    const after = new Map<string, Route>();
    for (const { filter, qos, isNoLocal = false } of filters) {
      const known = before.get(filter);
      const ownQos = isNoLocal ? undefined : qos;
      if (known?.qos === qos && known.ownQos === ownQos) after.set(filter, known);
      else {
        const route = { consumer, qos, ownQos };
        after.set(filter, route);
        this.#tree.add(filter, route);
      }
    }
    for (const [filter, route] of before) {
      if (after.get(filter) !== route) this.#tree.remove(filter, route);
    }
    this.#branches.set(consumer, after);
    this.#remembered.clear();
  }
}

/** Combines two filters of a consumer: the higher QoS of each. */
function broader(one: Route, other: Route): Route {
  const ownQos = higher(one.ownQos, other.ownQos);
  const highest = one.qos < other.qos ? other : one;
  return highest.ownQos === ownQos ? highest : { ...highest, ownQos };
}

function higher(one: QoS | undefined, other: QoS | undefined): QoS | undefined {
  return (one ?? -1) < (other ?? -1) ? other : one;
}

/** The QoS at which a consumer gets a message; undefined: it is its own, and its filters are No Local. */
function qosOf({ qos, ownQos, consumer }: Route, publisher: string | undefined): QoS | undefined {
  return publisher !== undefined && publisher === consumer.session ? ownQos : qos;
}
