import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Consumer } from '../../src/delivery/consumer.js';
import { Deliveries, type DurableConsumer } from '../../src/delivery/deliveries.js';
import type { BatchStore } from '../../src/delivery/log/batch.js';
import {
  itemOf,
  type LogEntry,
  type LogName,
  sequenceOf,
  type Tail,
} from '../../src/delivery/log/log-entry.js';
import type { NewMessage } from '../../src/delivery/log/log-item.js';
import { LogWriter } from '../../src/delivery/log/log-writer.js';
import type { Backlog, QueuePage, Settlement } from '../../src/delivery/queues/queue-store.js';
import { PERSISTENT, sessionKey } from '../../src/delivery/sessions/session.js';
import { Sessions } from '../../src/delivery/sessions/sessions.js';
import { Random } from '../../tools/chaos/random.js';
import { QueuesInMemory } from './queues-in-memory.js';
import { Connection, numbered, numberIn, nurseOwner, silent } from './running-delivery.js';

const STEPS = 250;
const RUNS = 150;
const TOPICS = ['a', 'b', 'c', 'd'] as const;
const CONNECTION_CLOSED = 'Connection is closed.';

/** What a primary has: alarms by number, and the items of one queue. */
interface Stored {
  readonly history: readonly NewMessage[];
  readonly queue: readonly number[];
}

/** A primary whose replica lags: a failover ends all pending calls, and goes back to what the replica had. */
class LaggingStore extends QueuesInMemory implements BatchStore<NewMessage> {
  stored: Stored = { history: [], queue: [] };
  #replica: Stored = this.stored;
  #primary = 0;
  readonly #random: Random;

  constructor(random: Random) {
    super();
    this.#random = random;
  }

  replicate(): void {
    this.#replica = this.stored;
  }

  failOver(): void {
    this.#primary++;
    this.stored = this.#replica;
  }

  freeze: BatchStore<NewMessage>['freeze'] = async (items, destinationsOf, { tag, after }) => {
    const destinations = items.map(destinationsOf);
    const write = () =>
      this.#call(() => {
        this.#requireNewest(after);
        const appended = items.map((item) => this.#append(item, tag));
        return { appended, backlogs: new Map() };
      });
    return { destinations, write };
  };

  // Waits for a store that is away, as the readers' connection does.
  override async page(
    log: LogName,
    _destination: string,
    after: number,
    count: number,
    tail?: Tail,
  ): Promise<QueuePage> {
    if (log === 'messages') return { entries: [], missing: [], isEnd: true };
    return this.#patiently(() => {
      this.#requireNewest(tail?.last ?? 0);
      const left = this.stored.queue.filter((item) => item > after);
      const items = left.slice(0, Math.min(count, 3));
      const entries = items.flatMap((item) => this.#entry(item, tail) ?? []);
      const missing = items.filter((item) => this.#entry(item, tail) === undefined);
      return { entries, missing, isEnd: items.length === left.length };
    });
  }

  override pickAlarms(items: readonly number[]): Promise<LogEntry[]> {
    return this.#patiently(() => items.flatMap((item) => this.#entry(item) ?? []));
  }

  override settle(settlements: readonly Settlement[]): Promise<Backlog[]> {
    return this.#call(() => {
      const settled = new Set(settlements.flatMap(({ items }) => items.map(({ item }) => item)));
      const queue = this.stored.queue.filter((item) => !settled.has(item));
      this.stored = { ...this.stored, queue };
      return settlements.map(() => ({ alarms: queue.length, messages: 0, messageBytes: 0 }));
    });
  }

  #append(message: NewMessage, tag: number) {
    const { history, queue } = this.stored;
    const before = history.findIndex((one) => numberIn(one) === numberIn(message));
    if (before >= 0) return { sequence: before + 1, isNew: false };
    const sequence = history.length + 1;
    this.stored = { history: [...history, message], queue: [...queue, itemOf(sequence, tag)] };
    return { sequence, isNew: true };
  }

  #entry(item: number, tail?: Tail): LogEntry | undefined {
    const sequence = sequenceOf(item);
    const inMemory = tail?.entryAfter(sequence - 1);
    if (inMemory?.item === item) return inMemory;
    const message = this.stored.history[sequence - 1];
    return message && { ...message, log: 'alarms', sequence, item };
  }

  #requireNewest(after: number): void {
    const { length } = this.stored.history;
    if (length < after) throw new Error(`WENTBACK ${length}`);
  }

  async #call<T>(work: () => T): Promise<T> {
    const primary = this.#primary;
    const isCut = () => primary !== this.#primary;
    await pause(this.#random.between(0, 10));
    if (isCut()) throw new Error(CONNECTION_CLOSED);
    const reply = work();
    await pause(this.#random.between(0, 10));
    if (isCut()) throw new Error(CONNECTION_CLOSED);
    return reply;
  }

  async #patiently<T>(work: () => T): Promise<T> {
    for (;;) {
      const reply = await this.#call(work).catch((error: Error) => {
        if (error.message !== CONNECTION_CLOSED) throw error;
      });
      if (reply !== undefined) return reply;
      await pause(100);
    }
  }
}

/** Devices that send, a nurse call that comes and goes, and a store that fails over, all at random. */
class Run {
  readonly violations: string[] = [];
  readonly #random: Random;
  readonly #store: LaggingStore;
  readonly #writer: LogWriter<NewMessage, DurableConsumer>;
  readonly #sessions: Sessions;
  readonly #topics: string[] = [];
  readonly #received = new Set<number>();
  /** For each alarm that has not come, the newer alarm of its device that came before it. */
  readonly #overtaken = new Map<number, number>();
  #stored = 0;
  #connection: Connection | undefined;

  constructor(seed: number, replayPerSecond: number | undefined) {
    const random = new Random(seed);
    const store = new LaggingStore(random);
    const limits = { maxInFlight: 3, maxQueued: 100, maxQueuedBytes: 1e9, maxAgeMs: 1e12 };
    const deliveries = new Deliveries({
      newestAlarm: 0,
      queues: store,
      mend: () => Promise.resolve(true),
      onLost: () => undefined,
      onBehind: () => this.#writer.check(),
      onWentBack: () => undefined,
      log: silent,
      now: Date.now,
      elapsedSinceMs: () => 0,
    });
    this.#writer = new LogWriter<NewMessage, DurableConsumer>({
      log: 'alarms',
      store,
      deliveries,
      onWentBack: (last) => deliveries.wentBack(last).flatMap(({ source }) => source ?? []),
      onOutage: () => undefined,
      onHeldBack: () => undefined,
      logger: silent,
    });
    this.#sessions = new Sessions({
      store,
      deliveries,
      ownerOf: nurseOwner,
      limits: { ...limits, replayPerSecond },
      forgetAfterMs: 1e12,
      log: silent,
      now: Date.now,
    });
    this.#random = random;
    this.#store = store;
  }

  async all(): Promise<void> {
    await this.#sessions.start();
    const { consumer } = this.#sessions.open('nurse', nurseOwner('nurse'), PERSISTENT);
    const filters = [{ filter: '+', qos: 1 }] as const;
    await this.#sessions.subscribe(sessionKey('nurse', 'nurse'), filters);
    for (let step = 0; step < STEPS; step++) {
      this.#step(consumer);
      await vi.advanceTimersByTimeAsync(this.#random.between(0, 25));
    }
    await this.#calm(consumer);
    const missing = this.#topics.flatMap((_, number) => (this.#received.has(number) ? [] : number));
    if (missing.length > 0) this.violations.push(`never received: ${missing}`);
    if (this.#stored < this.#topics.length) this.violations.push('not acknowledged');
  }

  #step(consumer: Consumer): void {
    const random = this.#random;
    const chosen = random.next();
    if (chosen < 0.4) this.#send();
    else if (chosen < 0.7) this.#acknowledge(consumer, 2);
    else if (chosen < 0.8) this.#reconnect(consumer);
    else if (chosen < 0.85) consumer.restart();
    else if (chosen < 0.93) this.#store.replicate();
    else if (chosen < 0.96) this.#store.failOver();
    if (this.#connection !== undefined && random.chance(0.1))
      this.#connection.isWritable = !this.#connection.isWritable;
  }

  #send(): void {
    const number = this.#topics.length;
    const topic = this.#random.pick(TOPICS);
    this.#topics.push(topic);
    this.#writer.append(numbered(number, topic), (isStored) => {
      if (isStored) this.#stored++;
    });
  }

  #acknowledge(consumer: Consumer, count: number): void {
    this.#look();
    const publishes = this.#connection?.unacknowledged.splice(0, count) ?? [];
    for (const { messageId } of publishes) consumer.acknowledge(messageId);
  }

  #reconnect(consumer: Consumer): void {
    this.#look();
    if (this.#connection !== undefined) consumer.disconnect(this.#connection);
    this.#connection = new Connection();
    consumer.connect(this.#connection);
  }

  /** Notes what came: an alarm must not come for the first time after a newer one of its device. */
  #look(): void {
    for (const publish of this.#connection?.sent.splice(0) ?? []) {
      const number = numberIn(publish);
      if (this.#received.has(number)) continue;
      this.#received.add(number);
      const newer = this.#overtaken.get(number);
      if (newer !== undefined) this.violations.push(`${newer} came before ${number}`);
      this.#topics.slice(0, number).forEach((topic, older) => {
        const isOlder = topic === this.#topics[number] && !this.#received.has(older);
        if (isOlder) this.#overtaken.set(older, number);
      });
    }
  }

  /** Has the consumer receive everything. */
  async #calm(consumer: Consumer): Promise<void> {
    this.#reconnect(consumer);
    for (let round = 0; round < 300; round++) {
      this.#acknowledge(consumer, 100);
      if (round % 20 === 19) {
        this.#writer.check();
        consumer.noteBacklog({ alarms: this.#store.stored.queue.length });
        consumer.readForgotten();
      }
      consumer.wake();
      await vi.advanceTimersByTimeAsync(200);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

it.each([undefined, 5, 40])(
  'guarantees 2 and 3: keeps every alarm and each device’s order over failovers that lose alarms, at a replay rate of %s a second',
  async (replayPerSecond) => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const run = new Run(seed, replayPerSecond);
      await run.all();
      expect(run.violations, `seed ${seed}`).toEqual([]);
      vi.clearAllTimers();
    }
  },
);
