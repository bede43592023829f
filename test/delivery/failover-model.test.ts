import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Consumer } from '../../src/delivery/consumer.js';
import type { Appended, NewEntry, Numbers } from '../../src/delivery/new-entry.js';
import type { QueuePage, Settlement } from '../../src/delivery/queue.js';
import { Router } from '../../src/delivery/router.js';
import { PERSISTENT, sessionKey } from '../../src/delivery/sessions/session.js';
import { Sessions } from '../../src/delivery/sessions/sessions.js';
import { Writer } from '../../src/delivery/writer.js';
import { Random } from '../../tools/chaos/random.js';
import {
  Connection,
  numbered,
  numberIn,
  nurseOwner,
  type Stored,
  StoreInMemory,
  silent,
} from './in-memory.js';

const STEPS = 250;
const RUNS = Number(process.env['MODEL_RUNS'] ?? 150);
const TOPICS = ['a', 'b', 'c', 'd'] as const;
const CONNECTION_CLOSED = 'Connection is closed.';

/** A primary whose replica lags: a failover ends all pending calls, and goes back to what the replica had. */
class LaggingStore extends StoreInMemory {
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

  override append(
    entries: readonly NewEntry[],
    destinations: readonly (readonly string[])[],
    numbers: Numbers,
  ): Promise<Appended> {
    return this.#call(() => super.append(entries, destinations, numbers));
  }

  // Waits for a store that is away, as the readers' connection does.
  override async page(key: string, after: number, count: number): Promise<QueuePage> {
    for (;;) {
      const page = await this.#call(() => super.page(key, after, Math.min(count, 3))).catch(
        (error: Error) => {
          if (error.message !== CONNECTION_CLOSED) throw error;
        },
      );
      if (page !== undefined) return page;
      await pause(100);
    }
  }

  override settle(settlements: readonly Settlement[]): Promise<number[]> {
    return this.#call(() => super.settle(settlements));
  }

  async #call<T>(work: () => Promise<T>): Promise<T> {
    const primary = this.#primary;
    const isCut = () => primary !== this.#primary;
    await pause(this.#random.between(0, 10));
    if (isCut()) throw new Error(CONNECTION_CLOSED);
    const reply = await work();
    await pause(this.#random.between(0, 10));
    if (isCut()) throw new Error(CONNECTION_CLOSED);
    return reply;
  }
}

/** Devices that send, a nurse call that comes and goes, and a store that fails over, all at random. */
class Run {
  readonly violations: string[] = [];
  readonly #random: Random;
  readonly #store: LaggingStore;
  readonly #writer: Writer;
  readonly #sessions: Sessions;
  readonly #topics: string[] = [];
  readonly #received = new Set<number>();
  /** For each alarm that has not come, the newer alarm of its device that came before it. */
  readonly #overtaken = new Map<number, number>();
  #stored = 0;
  #connection: Connection | undefined;

  constructor(seed: number) {
    const random = new Random(seed);
    const store = new LaggingStore(random);
    const router = new Router({
      newestEntry: 0,
      queues: store,
      mend: () => Promise.resolve(true),
      onLost: () => undefined,
      onWentBack: () => undefined,
      log: silent,
      now: Date.now,
      elapsedSinceMs: () => 0,
    });
    this.#writer = new Writer({
      store,
      router,
      onOutage: () => undefined,
      onRefused: () => undefined,
      sendLive: () => undefined,
      log: silent,
    });
    this.#sessions = new Sessions({
      store,
      router,
      ownerOf: nurseOwner,
      limits: { maxInFlight: 3, maxQueued: 100, maxQueuedBytes: 1e9, maxAgeMs: 1e12 },
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
        consumer.noteBacklog(this.#store.stored.queues.get('nurse/nurse')?.length ?? 0);
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

it('guarantees 2 and 3: keeps every alarm and each device’s order over failovers that lose alarms', async () => {
  for (let seed = 1; seed <= RUNS; seed++) {
    const run = new Run(seed);
    await run.all();
    expect(run.violations, `seed ${seed}`).toEqual([]);
    vi.clearAllTimers();
  }
});
