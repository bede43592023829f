import type { Logger } from 'pino';
import { ALARM_KINDS, type AlarmKind } from '../domain/alarms.js';
import type { Audience } from '../domain/grants.js';
import type { QueueStore } from './accounts.js';
import type { Consumer, ConsumerServices } from './consumer.js';
import type { Entry, LogName, Message } from './message.js';
import type { NewAlarm, NewEntry } from './new-entry.js';
import { Recent } from './recent.js';
import { qosOf, Routes } from './routes.js';
import { Settler } from './settler.js';
import type { Appended, Fed, Numbers } from './writer.js';

/** A consumer whose queue of alarms is in the store. */
export type DurableConsumer = Consumer & { readonly key: string };

export function isDurable(consumer: Consumer): consumer is DurableConsumer {
  return consumer.key !== undefined;
}

export interface DeliveriesOptions {
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
export class Deliveries implements Fed {
  /** The parts that all consumers share. */
  readonly services: ConsumerServices;
  readonly routes = new Routes<Consumer>();
  readonly alarmFigures: AlarmFigures;
  /** How many messages outside the queues were larger than a client takes, since the start. */
  leftOutCount = 0;
  readonly #options: DeliveriesOptions;
  readonly #recent: Recent;
  readonly #consumers = new Set<Consumer>();
  readonly #durable = new Map<string, DurableConsumer>();
  readonly #toPump = new Set<Consumer>();
  /** By the routes of a topic: most messages share the destinations of others. */
  readonly #destinations = new WeakMap<object, readonly DurableConsumer[]>();
  readonly #names = new WeakMap<object, readonly string[]>();

  constructor(options: DeliveriesOptions) {
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
      const entry = entryOf(source, sequence);
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
      const { member } = route;
      const qos = qosOf(route, entry.publisher);
      if (qos === undefined || !member.mayReceive(entry)) continue;
      if (qos === 0) member.offerAtQos0(entry);
      else if (member.isConnected || isDurable(member)) member.offer(entry);
    }
  }

  /** Sends a message outside the queues to every connected subscriber. */
  publishDirect(message: Message): void {
    for (const route of this.routes.match(message.topic)) {
      const qos = qosOf(route, message.publisher);
      if (qos !== undefined && route.member.isConnected) route.member.offerDirect(message, qos);
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
      const { receiver } = route.member.window;
      if (receiver === undefined || sentTo.has(receiver)) continue;
      if (!route.member.mayReceive(message) || qosOf(route, message.publisher) === undefined)
        continue;
      if (route.member.window.sendNow(message)) sentTo.add(receiver);
    }
  }

  /** Whether a subscriber, connected or away, has asked for the topic and may see the message. */
  isWanted(message: Audience & { readonly topic: string }): boolean {
    return this.routes.match(message.topic).some(({ member }) => member.mayReceive(message));
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
      const { member } = route;
      const qos = qosOf(route, entry.publisher);
      if (isDurable(member) || !member.isConnected) continue;
      if (qos === undefined || !member.mayReceive(entry)) continue;
      if (qos === 0) member.offerAtQos0(entry);
      else member.offer(entry);
    }
  }

  #durableFor(message: Message, log: LogName): readonly DurableConsumer[] {
    const routes = this.routes.match(message.topic);
    const { publisher } = message;
    const isOwn =
      publisher !== undefined && routes.some(({ member }) => member.session === publisher);
    const isRemembered = log === 'alarms' && !isOwn;
    const known = isRemembered ? this.#destinations.get(routes) : undefined;
    const all =
      known ??
      routes.flatMap((route) => {
        const { member } = route;
        const qos = qosOf(route, publisher);
        const isQueued = log === 'alarms' ? qos !== undefined : qos === 1;
        return isQueued && isDurable(member) ? [member] : [];
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

function entryOf(source: NewEntry, sequence: number): Entry {
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

/** Counts durations in buckets, each twice as long as the one before; each duration costs one increment. */
export class Durations {
  /** How many took less than 1, 2, 4 … 65,536 ms and did not fit the bucket before; the last bucket has the rest. */
  readonly counts: number[] = new Array(18).fill(0);
  sumMs = 0;

  add(durationMs: number): void {
    // The position of the highest bit.
    const bucket = Math.min(32 - Math.clz32(durationMs), this.counts.length - 1);
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sumMs += durationMs;
  }
}

/** Counts the alarms accepted since the start, for `/metrics`. */
export class AlarmFigures {
  /** Recorded alarms by kind. */
  readonly counts = new Map<AlarmKind, number>(ALARM_KINDS.map((kind) => [kind, 0]));
  readonly untilRecorded = new Durations();
  readonly untilSent = new Durations();
  readonly #now: () => number;

  /** @param now the steady clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  recorded({ source }: Entry): void {
    if (source === undefined || !('alarm' in source)) return;
    const { kind } = source.alarm;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    this.untilRecorded.add(this.#now() - source.receivedAtMs);
  }

  /** Notes that an alarm is sent; only the first time counts. */
  sent(alarm: NewAlarm): void {
    if (alarm.isSent) return;
    alarm.isSent = true;
    this.untilSent.add(this.#now() - alarm.receivedAtMs);
  }
}
