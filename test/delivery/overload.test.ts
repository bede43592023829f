import { describe, expect, it } from 'vitest';
import type { LogName } from '../../src/delivery/log-entry.js';
import { ArrayLogs } from './array-logs.js';
import { Connection, LIMITS, numbered, World } from './world.js';

const PAGE_ENTRIES = 500;
const STEPS = 200;
/** As many as fill the backlog at the beginning, before any is counted. */
const WARM_UP_STEPS = 10;

interface Fed {
  readonly log: LogName;
  /** How many the reader acknowledges in a step. */
  readonly reads: number;
  /** How many arrive in a step. */
  readonly arrive: number;
  readonly maxQueued: number;
  /** How many steps the store takes to answer a read. */
  readonly answersAfter: number;
}

/** Reads that are answered so many steps later. */
class SlowLogs extends ArrayLogs {
  readonly #answersAfter: number;
  #waiting: { left: number; readonly answer: () => void }[] = [];

  constructor(answersAfter: number) {
    super();
    this.#answersAfter = answersAfter;
  }

  override async read(log: LogName, afterSequence: number, count: number) {
    const left = this.#answersAfter;
    if (left > 0) {
      await new Promise<void>((resolve) => this.#waiting.push({ left, answer: resolve }));
    }
    return super.read(log, afterSequence, count);
  }

  step(): void {
    for (const one of this.#waiting) one.left--;
    for (const { left, answer } of this.#waiting) if (left <= 0) answer();
    this.#waiting = this.#waiting.filter(({ left }) => left > 0);
  }
}

/** How many the reader got and how many pages were read, of the steps after the first ones. */
async function feed({ log, reads, arrive, maxQueued, answersAfter }: Fed) {
  const logs = new SlowLogs(answersAfter);
  const limits = { ...LIMITS, maxInFlight: 2 * reads, maxQueued, maxQueuedBytes: 1e9 };
  const world = await World.begin({ logs, limits });
  const consumer = await world.subscribed('reader', 'a');
  const connection = new Connection();
  consumer.connect(connection);
  let [n, got, readsBefore] = [0, 0, 0];
  for (let step = 0; step < STEPS; step++) {
    if (step === WARM_UP_STEPS) [got, readsBefore] = [0, logs.reads];
    await world.append(
      log,
      Array.from({ length: arrive }, () => numbered(++n, 'a')),
    );
    logs.step();
    await logs.idle();
    for (const { messageId } of connection.unacknowledged.splice(0, reads)) {
      consumer.acknowledge(messageId);
      got++;
    }
    await logs.idle();
    expect(consumer.cursors.alarms.dropped).toBe(0);
  }
  const { accepted, queued } = consumer.cursors[log];
  expect(accepted).toBe(n);
  if (log === 'messages') expect(queued).toBeLessThanOrEqual(maxQueued + 2 * arrive);
  const steps = STEPS - WARM_UP_STEPS;
  return {
    perStep: got / steps,
    pages: logs.reads - readsBefore,
    wanted: (steps * reads) / PAGE_ENTRIES,
  };
}

describe('guarantee 6: a subscriber that reads is served at its rate, however fast the log is fed', () => {
  it.each<Fed>([
    { log: 'messages', reads: 50, arrive: 1_000, maxQueued: 10_000, answersAfter: 0 },
    { log: 'messages', reads: 50, arrive: 5_000, maxQueued: 10_000, answersAfter: 0 },
    { log: 'messages', reads: 50, arrive: 1_000, maxQueued: 1_000, answersAfter: 0 },
    // Each answer comes when the oldest of its page would be beyond the bound by far.
    { log: 'messages', reads: 50, arrive: 1_000, maxQueued: 10_000, answersAfter: 3 },
    { log: 'alarms', reads: 50, arrive: 1_000, maxQueued: 10_000, answersAfter: 3 },
  ])('%o', async (fed) => {
    const { perStep, pages, wanted } = await feed(fed);
    expect(perStep).toBeGreaterThanOrEqual(0.9 * fed.reads);
    // Independent of how much arrives: what is read is what is sent.
    expect(pages).toBeLessThanOrEqual(1.5 * wanted + 5);
  });
});
