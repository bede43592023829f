import { expect, it } from 'vitest';
import { openQueue } from '../../src/bridge/bridge-queue.js';
import { configured, useParts } from './parts.js';

const world = useParts();

it('queues an alarm that arrives while the selection changes, even if the store fails at first', async () => {
  let store: () => Promise<void> = () => Promise.resolve();
  const parts = world.parts({ store: { save: () => store() } });
  const { signal } = new AbortController();
  const queue = await openQueue(parts.services, configured(), signal);
  // An alarm arrives before each attempt to store the change, successful or not.
  let alarms = 0;
  store = async () => {
    alarms++;
    await parts.alarm('bed');
    if (alarms <= 2) throw new Error('the store is away');
  };
  await openQueue(parts.services, configured({ send: 'alarms' }), signal);
  await expect.poll(() => alarms).toBe(3);
  await parts.accounts.read();
  expect(queue.accounts.alarms.accepted).toBe(alarms);
  expect(queue.subscriptions.list()).toHaveLength(1);
});
