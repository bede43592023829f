import { describe, expect, it } from 'vitest';
import type { LogName } from '../../src/delivery/log/log-entry.js';
import { QueuesInMemory } from '../former/stored/queues-in-memory.js';
import { Connection, LIMITS, numbered, RunningDelivery } from './running-delivery.js';

const PAGE_ENTRIES = 500;
const STEPS = 30;
/** The first steps, which fill the backlog and do not count. */
const WARM_UP_STEPS = 10;

interface Fed {
  readonly log: LogName;
  /** Entries that the reader acknowledges in each step. */
  readonly reads: number;
  /** Entries that arrive in each step. */
  readonly arrive: number;
  readonly maxQueued: number;
  /** Steps that the store takes to answer a read. */
  readonly answersAfter: number;
}

/** Queues that return pages some steps later. */
class SlowQueues extends QueuesInMemory {
  readonly #answersAfter: number;
  #waiting: { left: number; readonly answer: () => void }[] = [];

  constructor(answersAfter: number) {
    super();
    this.#answersAfter = answersAfter;
  }

  override async page(log: LogName, key: string, after: number, count: number) {
    const left = this.#answersAfter;
    if (left > 0) {
      await new Promise<void>((resolve) => this.#waiting.push({ left, answer: resolve }));
    }
    return super.page(log, key, after, count);
  }

  step(): void {
    for (const one of this.#waiting) one.left--;
    for (const { left, answer } of this.#waiting) if (left <= 0) answer();
    this.#waiting = this.#waiting.filter(({ left }) => left > 0);
  }
}

/** Feeds a log. Returns how many entries the reader got and how many pages were read. */
async function feed({ log, reads, arrive, maxQueued, answersAfter }: Fed) {
  const queues = new SlowQueues(answersAfter);
  const limits = { ...LIMITS, maxInFlight: 2 * reads, maxQueued, maxQueuedBytes: 1e9 };
  const delivery = await RunningDelivery.begin({ queues, limits });
  const consumer = await delivery.subscribed('reader', 'a');
  const connection = new Connection();
  consumer.connect(connection);
  let [n, got, readsBefore] = [0, 0, 0];
  for (let step = 0; step < STEPS; step++) {
    if (step === WARM_UP_STEPS) [got, readsBefore] = [0, queues.reads];
    delivery.append(
      log,
      Array.from({ length: arrive }, () => numbered(++n, 'a')),
    );
    queues.step();
    await delivery.settled();
    for (const { messageId } of connection.unacknowledged.splice(0, reads)) {
      consumer.acknowledge(messageId);
      got++;
    }
    await delivery.settled();
  }
  await delivery.accounts.read();
  expect(consumer.accounts.alarms.dropped).toBe(0);
  const { accepted, queued } = consumer.accounts[log];
  expect(accepted).toBe(n);
  if (log === 'messages') expect(queued).toBeLessThanOrEqual(maxQueued + 2 * arrive);
  const steps = STEPS - WARM_UP_STEPS;
  return {
    perStep: got / steps,
    pages: queues.reads - readsBefore,
    wanted: (steps * reads) / PAGE_ENTRIES,
  };
}

describe('guarantee 6: a subscriber that reads is served at its rate, however fast the log is fed', () => {
  it.each<Fed>([
    { log: 'messages', reads: 50, arrive: 1_000, maxQueued: 1_000, answersAfter: 0 },
    // When each answer comes, the oldest entry of its page is far beyond the bound.
    { log: 'messages', reads: 50, arrive: 1_000, maxQueued: 10_000, answersAfter: 3 },
    { log: 'alarms', reads: 50, arrive: 1_000, maxQueued: 10_000, answersAfter: 3 },
  ])('%o', async (fed) => {
    const { perStep, pages, wanted } = await feed(fed);
    expect(perStep).toBeGreaterThanOrEqual(0.9 * fed.reads);
    // The number of reads does not depend on how much arrives: every page read is sent.
    expect(pages).toBeLessThanOrEqual(1.5 * wanted + 5);
  });
});
