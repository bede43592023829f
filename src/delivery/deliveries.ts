import type { Logger } from 'pino';
import { ALARM_KINDS, type AlarmKind } from '../domain/alarms.js';
import type { Audience } from '../domain/grants.js';
import type { Consumer } from './consumer.js';
import type { ConsumerServices } from './consumer-options.js';
import type { DirectMessage } from './direct-queue.js';
import type {
  Announced,
  LogEntry,
  LogName,
  LogPositions,
  LogReader,
  NewAlarm,
} from './log/log-entry.js';
import { LogTail } from './log/log-tail.js';
import { entriesBetween, retrying } from './log/stored-entries.js';
import { Routes } from './routes.js';

export interface DeliveriesOptions {
  /** The sequence number of each log's newest entry in the store. */
  readonly newest: LogPositions;
  readonly reader: LogReader;
  /** Called when the store has lost its newest entries of a log: their numbers, and those that memory still has. */
  readonly onWentBack: (log: LogName, from: number, to: number, lost: readonly LogEntry[]) => void;
  /** Called with the number of entries that a consumer accepted, and a log no longer has. */
  readonly onLost: (log: LogName, count: number) => void;
  readonly log: Logger;
  /** The steady clock. */
  readonly now: () => number;
  readonly elapsedSinceMs: (timeMs: number) => number;
}

/** Takes stored entries and direct messages to every consumer that must receive them. */
export class Deliveries {
  readonly tails: Readonly<Record<LogName, LogTail>>;
  /** The parts that all consumers share. */
  readonly services: ConsumerServices;
  readonly alarmFigures: AlarmFigures;
  readonly #routes = new Routes();
  readonly #newestAtStart: Record<LogName, number>;
  readonly #options: DeliveriesOptions;
  readonly #consumers = new Set<Consumer>();
  readonly #toPump = new Set<Consumer>();
  readonly #stopping = new AbortController();
  /** Waits for the store: later entries must not overtake those that it was not heard to have taken. */
  readonly #missing: Pick<LogReader, 'read'>;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    const { newest, reader, log, now, elapsedSinceMs } = options;
    this.#missing = retrying(reader, this.#stopping.signal, (err, name) => {
      log.warn({ err, log: name }, 'failed to read missing log entries, retrying');
    });
    this.#newestAtStart = { ...newest };
    this.alarmFigures = new AlarmFigures(now);
    this.tails = { alarms: new LogTail(newest.alarms), messages: new LogTail(newest.messages) };
    this.services = {
      ...{ tails: this.tails, reader, now, elapsedSinceMs },
      routes: this.#routes,
      pumpLater: (consumer) => this.#pumpLater(consumer),
      alarmSent: (alarm) => this.alarmFigures.sent(alarm),
      lost: options.onLost,
    };
  }

  get routes(): Routes {
    return this.#routes;
  }

  /** The sequence number of the newest entry of each log. */
  get newest(): LogPositions {
    return { alarms: this.tails.alarms.last, messages: this.tails.messages.last };
  }

  /** The newest entries of before the start, of those that the store has not lost since. */
  get newestAtStart(): LogPositions {
    return this.#newestAtStart;
  }

  get consumers(): ReadonlySet<Consumer> {
    return this.#consumers;
  }

  /** The lowest ack floor of all consumers: no entry up to here is needed. */
  floor(log: LogName): number {
    let floor = this.tails[log].last;
    for (const { cursors } of this.#consumers) floor = Math.min(floor, cursors[log].ackFloor);
    return floor;
  }

  add(consumer: Consumer): void {
    this.#consumers.add(consumer);
    consumer.open();
  }

  remove(consumer: Consumer): void {
    this.#consumers.delete(consumer);
    this.#toPump.delete(consumer);
    consumer.close();
  }

  /**
   * Announces entries that now stand in their log, in this order.
   *
   * An entry that was announced before changes nothing: its alarm was published again. Before an
   * entry that follows a gap, because the store's answer for others was lost, the missing entries
   * are read from the store.
   * @throws AbortError when stopped before they are: no entry may overtake them
   */
  async announce(entries: readonly Announced[]): Promise<void> {
    for (const { entry, isNew } of entries) {
      const tail = this.tails[entry.log];
      if (tail.holdsAnother(entry, isNew)) this.#wentBack(entry.log, entry.sequence - 1);
      if (entry.sequence <= tail.last) continue;
      if (entry.sequence > tail.last + 1) await this.#announceMissing(entry);
      if (isNew) this.alarmFigures.recorded(entry);
      this.#accept(entry);
    }
  }

  /** Waits for the store no longer. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Sends a message beside the logs to every connected subscriber. */
  publishDirect(message: DirectMessage): void {
    for (const { selection, qos } of this.#routes.match(message.topic)) {
      for (const member of selection.connected) member.offerDirect(message, qos);
    }
  }

  /**
   * Sends a message at QoS 0 to the connected subscribers that do not have it.
   *
   * @param sentTo those who have it; whoever gets it is added
   * @returns whether all have it: a connection may be full for a moment
   */
  publishCopy(message: DirectMessage, sentTo: Set<unknown>): boolean {
    let isComplete = true;
    for (const { selection } of this.#routes.match(message.topic)) {
      if (!selection.rule.mayReceive(message)) continue;
      for (const member of selection.connected) {
        if (sentTo.has(member)) continue;
        if (member.offerCopy(message)) sentTo.add(member);
        else isComplete = false;
      }
    }
    return isComplete;
  }

  /** Whether a subscriber, connected or away, has asked for the topic and may see the message. */
  isWanted(message: Audience): boolean {
    const routes = this.#routes.match(message.topic);
    return routes.some(({ selection }) => selection.rule.mayReceive(message));
  }

  /**
   * The lag, in entries, of the consumer that is least behind of those that acknowledge at once; 0 when none reads.
   *
   * One that is slower than the others must not slow the devices for all of them.
   */
  get lag(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const consumer of this.#consumers) {
      if (!consumer.isPrompt) continue;
      const { alarms, messages } = consumer.cursors;
      least = Math.min(least, alarms.unread + messages.unread);
    }
    return Number.isFinite(least) ? least : 0;
  }

  #accept(entry: LogEntry): void {
    this.tails[entry.log].append(entry);
    for (const { selection, qos } of this.#routes.match(entry.topic)) selection.accept(entry, qos);
  }

  async #announceMissing({ log, sequence }: LogEntry): Promise<void> {
    const { last } = this.tails[log];
    const missing = entriesBetween(this.#missing, log, last, sequence - 1);
    for await (const entry of missing) this.#accept(entry);
  }

  /**
   * Ends the log where the store does, which lost its newest entries.
   *
   * Causes are a failover or a restored backup.
   */
  #wentBack(log: LogName, last: number): void {
    // Changes made before the loss come before it.
    this.#routes.applyChanges();
    const to = this.tails[log].last;
    const lost = this.tails[log].entriesAfter(last);
    this.#options.log.error({ log, last }, 'the store has lost its newest log entries');
    this.tails[log].restart(last);
    this.#newestAtStart[log] = Math.min(this.#newestAtStart[log], last);
    for (const selection of this.#routes.selections()) selection.tallies[log].cutAt(last);
    for (const consumer of this.#consumers) consumer.storeWentBack(log, last);
    this.#options.onWentBack(log, last + 1, to, lost);
  }

  /** Wakes the consumer once for a batch, or for all acknowledgements of one read. */
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

/** Counts durations in buckets, each twice as long as the one before: an increment for each. */
export class Durations {
  /** How many took less than 1, 2, 4 … 65,536 ms, beyond the bucket before; the last took longer. */
  readonly counts: number[] = new Array(18).fill(0);
  sumMs = 0;

  add(durationMs: number): void {
    // The position of the highest bit.
    const bucket = Math.min(32 - Math.clz32(durationMs), this.counts.length - 1);
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sumMs += durationMs;
  }
}

/** Counts the alarms that were accepted since the start, for `/metrics`. */
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

  /** Notes that an alarm is being sent; only the first time counts. */
  sent(alarm: NewAlarm): void {
    if (alarm.isSent) return;
    alarm.isSent = true;
    this.untilSent.add(this.#now() - alarm.receivedAtMs);
  }
}
