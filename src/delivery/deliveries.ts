import type { Logger } from 'pino';
import { ALARM_KINDS, type AlarmKind } from '../domain/alarms.js';
import type { Audience } from '../domain/grants.js';
import type { Consumer } from './consumer.js';
import type { ConsumerServices } from './consumer-options.js';
import type { DirectMessage } from './direct-queue.js';
import type { Announced, Fed } from './log/batch.js';
import type { LogEntry, LogName } from './log/log-entry.js';
import type { NewAlarm } from './log/log-item.js';
import { LogTail } from './log/log-tail.js';
import { lastLeft } from './log/reply-code.js';
import type { Backlog, QueueStore } from './queues/queue-store.js';
import { Settler } from './queues/settler.js';
import { qosOf, Routes } from './routes.js';

/** A consumer whose queues are in the store. */
export type DurableConsumer = Consumer & { readonly key: string };

export function isDurable(consumer: Consumer): consumer is DurableConsumer {
  return consumer.key !== undefined;
}

export interface DeliveriesOptions {
  /** The number of the newest alarm in the store. */
  readonly newestAlarm: number;
  readonly queues: QueueStore;
  /** Writes a durable consumer's lost record again. Returns whether the consumer exists. */
  readonly mend: (key: string) => Promise<boolean>;
  /** Called when a read reveals that the store has lost alarms. */
  readonly onBehind: () => void;
  /** Called with the first and last number of the alarms that the store has lost. */
  readonly onWentBack: (from: number, to: number) => void;
  /** Called with the number of entries that a consumer accepted and the store has lost. */
  readonly onLost: (log: LogName, count: number) => void;
  readonly log: Logger;
  /** The steady clock. */
  readonly now: () => number;
  readonly elapsedSinceMs: (timeMs: number) => number;
}

/** Takes stored entries and direct messages to the consumers that must receive them. */
export class Deliveries implements Fed<DurableConsumer> {
  readonly tail: LogTail;
  /** The parts that all consumers share. */
  readonly services: ConsumerServices;
  readonly routes = new Routes<Consumer>();
  readonly alarmFigures: AlarmFigures;
  /** How many messages outside the queues were larger than a client takes, since the start. */
  leftOutCount = 0;
  readonly #options: DeliveriesOptions;
  readonly #consumers = new Set<Consumer>();
  readonly #durable = new Map<string, DurableConsumer>();
  readonly #toPump = new Set<Consumer>();
  /** Undefined until this run announces a message: stored messages were all announced before. */
  #lastMessage: number | undefined;
  /** By the routes of a topic: most messages share the destinations of others. */
  readonly #destinations = {
    alarms: new WeakMap<object, readonly DurableConsumer[]>(),
    messages: new WeakMap<object, readonly DurableConsumer[]>(),
  };

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    const { newestAlarm, queues, log, now, elapsedSinceMs, onLost } = options;
    this.alarmFigures = new AlarmFigures(now);
    this.tail = new LogTail(newestAlarm);
    this.services = {
      queues,
      settler: new Settler({ store: queues, mend: options.mend, log }),
      routes: this.routes,
      tail: this.tail,
      lastAnnounced: (name) => this.lastAnnounced(name),
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

  /** The number of the newest announced entry. In a new run, all messages in the store count as announced. */
  lastAnnounced(log: LogName): number {
    return log === 'alarms' ? this.tail.last : (this.#lastMessage ?? Number.MAX_SAFE_INTEGER);
  }

  /**
   * The durable consumers in whose queues an entry goes: an alarm whatever QoS is granted, so that none overtakes another
   * of its device; any other message at QoS 1.
   */
  destinationsOf(
    log: LogName,
    message: Audience & { readonly topic: string; readonly publisher?: string | undefined },
  ): readonly DurableConsumer[] {
    const routes = this.routes.match(message.topic);
    const { publisher } = message;
    const isOfMember =
      publisher !== undefined && routes.some(({ member }) => member.session === publisher);
    const known = isOfMember ? undefined : this.#destinations[log].get(routes);
    const all =
      known ??
      routes.flatMap((route) => {
        const { member } = route;
        const qos = qosOf(route, publisher);
        const isQueued = log === 'alarms' ? qos !== undefined : qos === 1;
        return isQueued && isDurable(member) ? [member] : [];
      });
    if (known === undefined && !isOfMember) this.#destinations[log].set(routes, all);
    return all.every((consumer) => consumer.mayReceive(message))
      ? all
      : all.filter((consumer) => consumer.mayReceive(message));
  }

  /**
   * Announces stored entries, in this order.
   *
   * An alarm announced before is skipped: it was published again.
   */
  announce(announced: readonly Announced<DurableConsumer>[]): void {
    for (const { entry, isNew, destinations } of announced) {
      if (entry.log === 'messages') this.#noteMessage(entry.sequence);
      else if (!this.#append(entry, isNew)) continue;
      for (const consumer of destinations) consumer.offer(entry);
      this.offerUnstored(entry);
    }
  }

  /** Offers an entry to the subscribers that have no queue for it in the store. */
  offerUnstored(entry: LogEntry): void {
    for (const route of this.routes.match(entry.topic)) {
      const { member } = route;
      const qos = qosOf(route, entry.source?.publisher);
      if (!member.isConnected || qos === undefined || !member.mayReceive(entry)) continue;
      if (isDurable(member) && (qos === 1 || entry.log === 'alarms')) continue;
      if (qos === 0) member.offerAtQos0(entry);
      else member.offer(entry);
    }
  }

  /**
   * Cuts the tail where the history now ends: it lost its newest alarms, by a failover or a restored backup. The queues
   * went back too, and are read again.
   *
   * @param last the number of the newest alarm left
   * @returns the lost alarms still in memory, in order
   */
  wentBack(last: number): readonly LogEntry[] {
    const { last: to } = this.tail;
    if (to <= last) return [];
    const lost = this.tail.entriesAfter(last);
    this.#options.log.error({ last }, 'the store has lost its newest alarms');
    this.tail.cutAfter(last);
    this.#restartAll();
    this.#options.onWentBack(last + 1, to);
    return lost;
  }

  /** Whether a read failed because the store has lost alarms. If so, the queues are soon read again. */
  isBehind(error: unknown): boolean {
    if (lastLeft(error) === undefined) return false;
    this.#options.onBehind();
    return true;
  }

  noteBacklogs(backlogs: ReadonlyMap<string, Partial<Backlog>>): void {
    for (const [key, backlog] of backlogs) this.#durable.get(key)?.noteBacklog(backlog);
  }

  async mend(keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.#options.mend(key);
  }

  /** Sends a message outside the queues to every connected subscriber. */
  publishDirect(message: DirectMessage): void {
    for (const route of this.routes.match(message.topic)) {
      const qos = qosOf(route, message.publisher);
      if (qos !== undefined && route.member.isConnected) route.member.offerDirect(message, qos);
    }
  }

  /**
   * Sends a message at QoS 0 to the connected subscribers that do not have it yet.
   *
   * @param sentTo the connections that have it; those that get it now are added. A session that connects again has
   *   perhaps not got what was written to the connection before
   * @returns whether all have it: a connection may be full for a moment
   */
  publishCopy(message: DirectMessage, sentTo: Set<unknown>): boolean {
    let isComplete = true;
    for (const route of this.routes.match(message.topic)) {
      const { receiver } = route.member.window;
      if (receiver === undefined || sentTo.has(receiver)) continue;
      if (!route.member.mayReceive(message) || qosOf(route, message.publisher) === undefined)
        continue;
      if (route.member.window.sendNow(message)) sentTo.add(receiver);
      else isComplete = false;
    }
    return isComplete;
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

  /** Follows the numbers of messages. A store that has lost its newest gives their numbers again. */
  #noteMessage(sequence: number): void {
    const hasLost = this.#lastMessage !== undefined && sequence <= this.#lastMessage;
    this.#lastMessage = sequence;
    if (hasLost) this.#restartAll();
  }

  /** Takes an alarm into the tail. Returns whether to deliver it. */
  #append(entry: LogEntry, isNew: boolean): boolean {
    const { tail } = this;
    if (entry.sequence <= tail.last) return false;
    // Another writer has put entries on the queues, and these were not announced.
    const isAfterGap = entry.sequence > tail.last + 1;
    if (isNew) this.alarmFigures.recorded(entry);
    tail.append(entry);
    if (isAfterGap) this.#restartAll();
    return true;
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

  recorded({ source }: LogEntry): void {
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
