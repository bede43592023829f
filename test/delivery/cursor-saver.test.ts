import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemorySessions } from './memory-sessions.js';
import { Connection, RunningDelivery } from './running-delivery.js';

const MIB = 1024 * 1024;
const OUTAGE_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('takes no more memory the longer the store does not answer', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const store = new MemorySessions();
  const delivery = await RunningDelivery.begin({ store, now: () => 1 });
  const [one, other] = [
    await delivery.subscribed('one', 'a/#'),
    await delivery.subscribed('other', 'a/#'),
  ];
  const saving = vi.spyOn(store, 'saveCursors').mockReturnValue(new Promise(() => undefined));
  one.connect(new Connection());
  await vi.advanceTimersByTimeAsync(1_000);
  expect(saving).toHaveBeenCalledOnce();
  // This one moves while the cursors of the first are being saved.
  other.connect(new Connection());
  await vi.advanceTimersByTimeAsync(1_000);
  const before = heapBytes();
  await vi.advanceTimersByTimeAsync(OUTAGE_MS);
  expect(heapBytes() - before).toBeLessThan(MIB);
});
