import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BackPressure, memoryOf } from '../../../src/broker/budgets/unstored-publishes.js';

const MIB = 1024 * 1024;
const KIB = 1024;
/** Unstored bytes of all principals from which on clients are not read. */
const TOTAL = 2 * MIB;
/** Each principal's reserve, even when all together have too much. */
const RESERVED = 16 * KIB;
/** A store that does not answer for this long is slow. */
const SLOW_MS = 251;

let unansweredMs: number;
let backPressure: BackPressure;

beforeEach(() => {
  unansweredMs = 0;
  backPressure = new BackPressure(() => unansweredMs);
});

afterEach(() => backPressure.stop());

/** Resolves when a client of the principal may be read again. */
function room(owner: string): Promise<void> {
  const share = backPressure.shareOf(owner);
  expect(share.mayRead).toBe(false);
  return new Promise((resolve) => backPressure.whenThereIsRoom(() => share.mayRead, resolve));
}

describe('while the store answers in time', () => {
  it('reads a principal up to the bound only, however many connections it has', () => {
    backPressure.shareOf('device:1').take(TOTAL - 1);
    expect(backPressure.shareOf('device:1').mayRead).toBe(true);
    backPressure.shareOf('device:1').take(1);
    expect(backPressure.shareOf('device:1').mayRead).toBe(false);
    expect(backPressure.shareOf('device:2').mayRead).toBe(true);
  });

  it('forgets a principal that has disconnected, but not what it has on its way', () => {
    const share = backPressure.shareOf('device:1');
    share.take(TOTAL);
    backPressure.forget('device:1');
    expect([backPressure.shareOf('device:1').mayRead, backPressure.unstoredBytes]).toEqual([
      true,
      TOTAL,
    ]);
    share.release(TOTAL);
    expect(backPressure.unstoredBytes).toBe(0);
  });

  it('allows a principal hundreds of unstored publishes', () => {
    const share = backPressure.shareOf('device:1');
    for (let count = 0; count < 500; count++) share.take(memoryOf(400));
    expect(share.mayRead).toBe(true);
  });

  it('reads every principal within its reserve when all together have too much', () => {
    for (const owner of ['device:1', 'device:2', 'device:3']) {
      backPressure.shareOf(owner).take(TOTAL / 2 - 1);
    }
    const late = backPressure.shareOf('device:4');
    late.take(RESERVED - 1);
    expect(late.mayRead).toBe(true);
    late.take(1);
    expect(late.mayRead).toBe(false);
  });
});

describe('while the store is slow', () => {
  it('keeps reading, so that an alarm behind other messages is seen in time', () => {
    const share = backPressure.shareOf('device:1');
    share.take(TOTAL);
    expect(share.mayRead).toBe(false);
    unansweredMs = SLOW_MS;
    expect(share.mayRead).toBe(true);
  });

  it('keeps a bounded amount of each principal, and separate room for alarms', () => {
    unansweredMs = SLOW_MS;
    const share = backPressure.shareOf('device:1');
    const state = () => [share.keeps(false), share.keeps(true)];
    expect([...state(), share.mayRead]).toEqual([true, true, true]);
    share.take(12 * MIB);
    expect([...state(), share.mayRead]).toEqual([false, true, true]);
    share.take(24 * MIB);
    expect([...state(), share.mayRead]).toEqual([false, false, false]);
    const other = backPressure.shareOf('device:2');
    expect([other.keeps(false), other.keeps(true), other.mayRead]).toEqual([true, true, true]);
  });

  it('keeps a bounded amount in total, in addition to each principal’s reserve', () => {
    unansweredMs = SLOW_MS;
    for (let number = 0; number < 20; number++) {
      backPressure.shareOf(`device:${number}`).take(10 * MIB);
    }
    const full = backPressure.shareOf('device:1');
    expect([full.keeps(false), full.keeps(true), full.mayRead]).toEqual([false, false, false]);
    const late = backPressure.shareOf('device:99');
    expect([late.keeps(false), late.keeps(true), late.mayRead]).toEqual([true, true, true]);
    late.take(RESERVED);
    expect([late.keeps(false), late.keeps(true), late.mayRead]).toEqual([false, true, true]);
    late.take(2 * RESERVED);
    expect([late.keeps(true), late.mayRead]).toEqual([false, false]);
  });
});

describe('a held client', () => {
  it('resumes when there is room', async () => {
    const share = backPressure.shareOf('device:1');
    share.take(TOTAL);
    const resumed = room('device:1');
    share.release(1);
    await resumed;
  });

  it('resumes when others have made room', async () => {
    const other = backPressure.shareOf('device:1');
    other.take(TOTAL);
    backPressure.shareOf('device:2').take(RESERVED);
    const resumed = room('device:2');
    other.release(RESERVED + 1);
    await resumed;
  });

  it('resumes when the store turns slow, even if nothing is released', async () => {
    backPressure.shareOf('device:1').take(TOTAL);
    const resumed = room('device:1');
    unansweredMs = SLOW_MS;
    await resumed;
  });

  it('waits while there is no room, and forever when the wait is cancelled', async () => {
    const share = backPressure.shareOf('device:1');
    share.take(TOTAL + 2);
    const resumed: string[] = [];
    const isRoom = () => share.mayRead;
    const first = new Promise<void>((resolve) => {
      backPressure.whenThereIsRoom(isRoom, () => resolve(void resumed.push('first')));
    });
    backPressure.whenThereIsRoom(isRoom, () => resumed.push('called off'))();
    share.release(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(resumed).toEqual([]);
    share.release(2);
    await first;
    expect(resumed).toEqual(['first']);
  });
});

describe('an unstored publish', () => {
  it('counts towards its principal’s share until the store has answered, or failed', async () => {
    const share = backPressure.shareOf('device:1');
    const stored = Promise.resolve();
    const failed = Promise.reject(new Error('no answer'));
    share.takeUntil(stored, 10);
    share.takeUntil(failed, 20);
    expect(backPressure.unstoredBytes).toBe(30);
    await Promise.allSettled([stored, failed]);
    expect(backPressure.unstoredBytes).toBe(0);
  });
});
