import { expect, it } from 'vitest';
import { MessageCompaction } from '../../src/delivery/log/message-compaction.js';
import { ArrayLogs } from './array-logs.js';
import { MemorySessions } from './memory-sessions.js';
import { Connection, LIMITS, numbered, numberIn, RunningDelivery } from './running-delivery.js';

const QUIET = 3;
const BUSY = 36_000;
const BATCH = 500;
const limits = { ...LIMITS, maxQueued: 10_000 };

it('keeps the few messages queued for a quiet home, and hardly any of a busy one', async () => {
  const [logs, store] = [new ArrayLogs(), new MemorySessions()];
  let delivery = await RunningDelivery.begin({ logs, store, limits });
  await delivery.subscribed('quiet', 'quiet/#');
  const reader = await delivery.subscribed('busy', 'busy/#');
  const connection = new Connection();
  reader.connect(connection);
  let kept = 0;
  for (let n = 0; n < BUSY; n += BATCH) {
    const isQuiet = n % (BUSY / QUIET) === 0;
    if (isQuiet) await delivery.append('messages', [numbered(n, 'quiet/x')]);
    const items = Array.from({ length: BATCH }, (_, at) => numbered(n + at, 'busy/x'));
    await delivery.append('messages', items);
    for (let isAll = false; !isAll; ) {
      await logs.idle();
      const lot = connection.unacknowledged.splice(0);
      for (const { messageId } of lot) reader.acknowledge(messageId);
      isAll = lot.length === 0;
    }
    if (n % 10_000 === 0) await delivery.keep();
    kept = Math.max(kept, await logs.messageCount());
  }
  expect(kept).toBeLessThan(25_000);
  await delivery.keep();
  expect(await logs.messageCount()).toBeLessThan(11_000);

  await delivery.sessions.stop();
  delivery = await RunningDelivery.begin({ logs, store, limits });
  const away = new Connection();
  delivery.consumer('quiet').connect(away);
  await delivery.settled();
  expect(away.sent.map(numberIn)).toEqual([0, BUSY / 3, (2 * BUSY) / 3]);
});

it('removes messages that no selection needs, and keeps those of ended filters', async () => {
  const logs = new ArrayLogs();
  const delivery = await RunningDelivery.begin({ logs, limits });
  const nurse = await delivery.subscribed('nurse', 'a', 'b');
  await delivery.append('messages', [numbered(1, 'a'), numbered(2, 'b'), numbered(3, 'c')]);
  await delivery.unsubscribe('nurse', ['b']);
  await delivery.append('messages', [numbered(4, 'b'), numbered(5, 'a'), numbered(6, 'c')]);
  const compaction = new MessageCompaction(logs, delivery.deliveries);
  expect(await compaction.compact()).toBe(3);
  delivery.forgetTails();
  const connection = new Connection();
  nurse.connect(connection);
  await delivery.settled();
  expect(connection.sent.map(numberIn)).toEqual([1, 2, 5]);
});
