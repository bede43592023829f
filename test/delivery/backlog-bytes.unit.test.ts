import { describe, expect, it } from 'vitest';
import type { Consumer } from '../../src/delivery/consumer.js';
import { LOG_NAMES, type LogName } from '../../src/delivery/log/log-entry.js';
import { Connection, LIMITS, numbered, numberIn, RunningDelivery } from './running-delivery.js';

const BYTES = 10_000;
const WAIT = { ...LIMITS, maxAgeMs: 1e12, maxInFlight: 1_000 };

async function append(
  delivery: RunningDelivery,
  log: LogName,
  topic: string,
  count: number,
): Promise<void> {
  for (let n = 0; n < count; n++) delivery.append(log, [numbered(n, topic, 0, BYTES)]);
}

/** The numbers that the consumer gets once it connects. */
async function numbersFor(delivery: RunningDelivery, consumer: Consumer): Promise<number[]> {
  const connection = new Connection();
  consumer.connect(connection);
  for (let sent = -1; sent < connection.sent.length; ) {
    sent = connection.sent.length;
    await delivery.settled();
  }
  return connection.sent.map(numberIn);
}

describe('the backlogs of one principal', () => {
  it('are trimmed at the longest when together they exceed its bytes, without affecting others', async () => {
    const delivery = await RunningDelivery.begin({
      limits: WAIT,
      ownerOf: (name) => ({ key: name.slice(0, 3), mayReceive: () => true }),
      bounds: { maxBytesOf: (owner) => (owner === 'one' ? 400_000 : undefined) },
    });
    const long = await delivery.subscribed('one-long', 'a');
    const short = await delivery.subscribed('one-short', 'b');
    const other = await delivery.subscribed('two', 'a');
    await append(delivery, 'messages', 'a', 50);
    await append(delivery, 'messages', 'b', 5);
    await delivery.bound();

    expect(short.backlogBytes).toBe(5 * BYTES);
    expect(other.backlogBytes).toBe(50 * BYTES);
    expect(long.backlogBytes).toBe(350_000);
    await delivery.accounts.read();
    const { accepted, queued, dropped } = long.accounts.messages;
    expect({ accepted, sum: queued + dropped }).toEqual({ accepted: 50, sum: 50 });
    // The oldest are gone.
    const numbers = await numbersFor(delivery, long);
    expect(numbers).toEqual(Array.from({ length: queued }, (_, n) => n + dropped));
  });

  it('keep every alarm', async () => {
    const delivery = await RunningDelivery.begin({
      limits: WAIT,
      bounds: { maxBytesOf: () => 50_000 },
    });
    const nurse = await delivery.subscribed('nurse', '#');
    for (const log of LOG_NAMES) await append(delivery, log, 'a', 40);
    await delivery.bound();
    expect(nurse.queued.alarms).toBe(40);
    expect(nurse.backlogBytes).toBe(50_000);
  });
});

describe('all backlogs together', () => {
  it('are trimmed to their bytes at the expense of the longest', async () => {
    const bounds = { maxBytes: 300_000 };
    const delivery = await RunningDelivery.begin({ limits: WAIT, bounds });
    const quiet = await delivery.subscribed('quiet', 'b');
    const loud = await delivery.subscribed('loud', 'a');
    await append(delivery, 'messages', 'b', 2);
    await append(delivery, 'messages', 'a', 60);
    await delivery.bound();
    expect(quiet.backlogBytes + loud.backlogBytes).toBeLessThanOrEqual(300_000);
    await delivery.accounts.read();
    expect(quiet.accounts.messages).toMatchObject({ queued: 2, dropped: 0 });
    expect(loud.queued.messages).toBeGreaterThan(15);
    expect(await numbersFor(delivery, quiet)).toEqual([0, 1]);
    expect((await numbersFor(delivery, loud)).at(-1)).toBe(59);
  });

  it('are trimmed when the store holds too much, even within their own bytes', async () => {
    const bounds = { leftInStore: () => -200_000 };
    const delivery = await RunningDelivery.begin({ limits: WAIT, bounds });
    const nurse = await delivery.subscribed('nurse', '#');
    await append(delivery, 'messages', 'a', 60);
    await delivery.bound();
    expect(nurse.backlogBytes).toBeLessThanOrEqual(60 * BYTES - 200_000);
  });

  it('are untouched within their bytes', async () => {
    const bounds = { maxBytes: 1_000_000 };
    const delivery = await RunningDelivery.begin({ limits: WAIT, bounds });
    const nurse = await delivery.subscribed('nurse', '#');
    await append(delivery, 'messages', 'a', 60);
    await delivery.bound();
    expect(nurse.queued.messages).toBe(60);
  });
});
