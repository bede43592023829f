import { expect, it } from 'vitest';
import { backlogFaults } from '../../src/delivery/backlog/backlog-fault.js';
import { Health } from '../../src/site/health/health.js';
import { faultTexts } from '../harness/described/fault-texts.js';
import { Connection, LIMITS, numbered, RunningDelivery } from './running-delivery.js';

const MAX_QUEUED = 10;
const NAMES = ['one', 'two', 'three', 'four', 'five'];

it('names the consumers while their backlogs are more than half full', async () => {
  const limits = { ...LIMITS, maxInFlight: MAX_QUEUED, maxQueued: MAX_QUEUED };
  const delivery = await RunningDelivery.begin({ limits });
  for (const name of NAMES) {
    await delivery.subscribed(name, ...(name === 'one' ? ['a', 'b'] : ['b']));
  }
  const append = async (topic: string, count: number): Promise<void> => {
    const items = Array.from({ length: count }, (_, n) => numbered(n, topic));
    delivery.append('alarms', items);
  };
  const health = new Health();
  const faults = () => {
    health.reportAll('backlogs', backlogFaults(delivery.deliveries.consumers));
    return faultTexts(health.faults());
  };

  await append('a', MAX_QUEUED / 2);
  expect(faults()).toEqual([]);
  await append('a', 1);
  expect(faults()).toEqual(['A queue is more than half full: session one']);

  await append('b', MAX_QUEUED);
  expect(faults()).toEqual([
    'A queue is more than half full: session one',
    'A queue is more than half full: session two',
    'A queue is more than half full: session three',
    'A queue is more than half full (2 more).',
  ]);
  for (const name of NAMES) {
    const connection = new Connection();
    delivery.consumer(name).connect(connection);
    await delivery.settled();
    for (const { messageId } of connection.sent) {
      delivery.consumer(name).acknowledge(messageId);
      await delivery.settled();
    }
  }
  await delivery.accounts.read();
  expect(faults()).toEqual([]);
});
