import { expect, it } from 'vitest';
import type { DirectMessage } from '../../src/delivery/direct-queue.js';
import { RetainedFeed } from '../../src/delivery/retained/retained-feed.js';
import { Connection, numbered, RunningDelivery } from './running-delivery.js';

function message(topic: string, value: string): DirectMessage {
  const payload = Buffer.from(value);
  return { topic, payload, qos: 1, retain: true, locationId: null, groupId: null };
}

it('forgets filters without a subscription when a client keeps subscribing and unsubscribing', () => {
  const runs: (readonly string[])[] = [];
  const feed = new RetainedFeed({
    retained: {
      later: (resume) => void setImmediate(resume),
      *matching(filters) {
        runs.push(filters);
        yield undefined;
      },
    },
    select: (one) => one,
    isSubscribed: (filter) => filter === 'kept',
    onMore: () => undefined,
  });
  feed.add(['kept']);
  for (let n = 0; n < 5_000; n++) feed.add([`gone/${n}`]);
  expect(feed.take()).toBeUndefined();
  expect(runs[0]?.[0]).toBe('kept');
  expect(runs[0]?.length).toBeLessThanOrEqual(1_000);
  feed.close();
});

it.each([0, 1] as const)(
  'does not repeat a retained message that was meanwhile sent live to a subscription at QoS %i',
  async (qos) => {
    const delivery = await RunningDelivery.begin();
    const consumer = await delivery.subscribed('board');
    await delivery.subscribe('board', [{ filter: 'status', qos }]);
    const connection = new Connection();
    consumer.connect(connection);
    const live = numbered(2, 'status');
    consumer.offerRetained(['status'], {
      later: (resume) => void setImmediate(resume),
      *matching() {
        yield undefined;
        yield message('status', live.payload.toString());
      },
    });
    await delivery.append('messages', [live]);
    await delivery.settled();
    expect(connection.sent.map(({ payload }) => payload)).toEqual([live.payload]);
  },
);
