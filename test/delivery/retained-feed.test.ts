import { expect, it } from 'vitest';
import type { DirectMessage } from '../../src/delivery/direct-queue.js';
import { RetainedFeed } from '../../src/delivery/retained-feed.js';
import { Connection, numbered, RunningDelivery } from './running-delivery.js';

function message(topic: string, value: string): DirectMessage {
  const payload = Buffer.from(value);
  return { topic, payload, qos: 1, retain: true, locationId: null, groupId: null };
}

/** A feed whose pages arrive when the test says so, and how often one was asked for. */
function feedOf() {
  const asked: ((page: readonly DirectMessage[] | undefined) => void)[] = [];
  const runs: (readonly string[])[] = [];
  const failures: unknown[] = [];
  const subscribed = new Set<string>();
  const feed = new RetainedFeed({
    retained: {
      async *matching(filters) {
        runs.push(filters);
        for (;;) {
          const page = await new Promise<readonly DirectMessage[] | undefined>((resolve) => {
            asked.push(resolve);
          });
          if (page === undefined) return;
          yield page;
        }
      },
    },
    select: (one) => (one.topic.startsWith('hidden') ? undefined : one),
    isSubscribed: (filter) => subscribed.has(filter),
    onPage: () => undefined,
    onFailure: (error) => failures.push(error),
  });
  /** Answers the page that was asked for; without one, the run is over. */
  const answer = async (...page: readonly DirectMessage[]) => {
    await expect.poll(() => asked.length).toBe(1);
    asked.splice(0)[0]?.(page.length === 0 ? undefined : page);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { feed, asked, answer, runs, failures, subscribed };
}

it('reads the next page when the one before is taken, and not earlier', async () => {
  const { feed, asked, answer } = feedOf();
  feed.add(['#']);
  expect(feed.take()).toBeUndefined();
  await answer(message('a', '1'), message('hidden', '1'), message('b', '1'));
  expect(feed.take()?.topic).toBe('a');
  expect(asked).toHaveLength(0);
  expect(feed.take()?.topic).toBe('b');
  expect(asked).toHaveLength(0);
  expect(feed.take()).toBeUndefined();
  await answer();
  expect(feed.isIdle).toBe(true);
});

it('leaves out what is older than a message sent since its page was asked for', async () => {
  const { feed, answer } = feedOf();
  feed.add(['#']);
  feed.take();
  feed.noteSent('a');
  await answer(message('a', 'old'), message('b', 'old'), message('c', 'newest'));
  // In the page already when a newer one is sent.
  feed.noteSent('b');
  expect(feed.take()?.topic).toBe('c');
  expect(feed.take()).toBeUndefined();
  // A later page is read after it was stored, and may hold it again.
  await answer(message('a', 'newest'));
  expect(feed.take()?.payload.toString()).toBe('newest');
});

it('begins with filters that were added meanwhile once it is through', async () => {
  const { feed, answer, runs } = feedOf();
  feed.add(['a/#']);
  feed.take();
  feed.add(['b/#']);
  feed.add(['c/#', 'b/#']);
  await answer();
  feed.take();
  await answer();
  expect(runs).toEqual([['a/#'], ['b/#', 'c/#']]);
  expect(feed.isIdle).toBe(true);
});

it('forgets filters of no subscription when a client goes on subscribing and unsubscribing', async () => {
  const { feed, answer, runs, subscribed } = feedOf();
  feed.add(['first']);
  feed.take();
  subscribed.add('kept');
  feed.add(['kept']);
  for (let n = 0; n < 5_000; n++) feed.add([`gone/${n}`]);
  await answer();
  feed.take();
  await answer();
  expect(runs[1]?.[0]).toBe('kept');
  expect(runs[1]?.length).toBeLessThanOrEqual(1_000);
});

it.each([0, 1] as const)(
  'sends no retained message after a newer one of its topic to a subscription at QoS %i',
  async (qos) => {
    const delivery = await RunningDelivery.begin();
    const consumer = await delivery.subscribed('board');
    await delivery.subscribe('board', [{ filter: 'status', qos }]);
    const connection = new Connection();
    consumer.connect(connection);
    let answer: (page: readonly DirectMessage[]) => void = () => undefined;
    const page = new Promise<readonly DirectMessage[]>((resolve) => {
      answer = resolve;
    });
    consumer.offerRetained(['status'], {
      retained: {
        async *matching() {
          yield await page;
        },
      },
      onFailure: () => undefined,
    });
    const newer = numbered(2, 'status');
    await delivery.append('messages', [newer]);
    answer([message('status', 'old')]);
    await delivery.settled();
    expect(connection.sent.map(({ payload }) => payload)).toEqual([newer.payload]);
  },
);
