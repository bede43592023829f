import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { DirectMessage } from '../../src/delivery/direct-queue.js';
import { RetainedMessages } from '../../src/delivery/retained/retained-messages.js';
import { RetainedWriter } from '../../src/delivery/retained/retained-writer.js';
import { Health } from '../../src/site/health/health.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';

const QUOTAS = { retainedTopics: 5_000, retainedBytes: 1_000_000 };

function message(topic: string, value: string): DirectMessage {
  const payload = Buffer.from(value);
  return { topic, payload, qos: 1, retain: true, locationId: 'l', groupId: null };
}

/** Retained messages on a store in memory, and that store. */
function retained() {
  const store = new Map<string, string>();
  const port = {
    topics: async () => [...store.keys()],
    async *load(topics: readonly string[]): AsyncGenerator<DirectMessage> {
      for (const topic of topics) yield message(topic, store.get(topic) ?? '');
    },
    put: async ({ topic, payload }: DirectMessage) => void store.set(topic, payload.toString()),
    remove: async (topic: string) => void store.delete(topic),
  };
  const headroom = new StoreHeadroom();
  const messages = new RetainedMessages({
    writer: new RetainedWriter(port, headroom, pino({ enabled: false })),
    quotasOfDevice: () => QUOTAS,
    quotasOfLocation: QUOTAS,
    maxBytes: 10_000_000,
    watch: { exceeded: () => undefined },
    health: new Health(),
  });
  return { messages, store, port, headroom };
}

const topicOf = (number: number) => `care-homes/l/devices/d/x${number}`;

it('shows each message once to a reader even if all are replaced during its pauses', async () => {
  const { messages } = retained();
  for (let n = 0; n < 4_000; n++) await messages.set(message(topicOf(n), 'old'));
  const seen: string[] = [];
  for (const one of messages.matching(['#'])) {
    if (one !== undefined) seen.push(one.topic);
    else for (let n = 0; n < 4_000; n++) void messages.set(message(topicOf(n), 'new'));
  }
  expect(seen).toHaveLength(4_000);
  expect(new Set(seen).size).toBe(4_000);
});

it('stores the newest of the values of one turn, and removes empty ones', async () => {
  const { messages, store } = retained();
  await Promise.all(['1', '2', '3'].map((value) => messages.set(message(topicOf(1), value))));
  expect([...store.values()]).toEqual(['3']);
  await messages.set(message(topicOf(1), ''));
  expect(store.size).toBe(0);
});

it('keeps what the store has no room for in memory, acknowledges it, and stores it later', async () => {
  const { messages, store, headroom } = retained();
  await messages.set(message(topicOf(1), 'old'));
  headroom.set('memory', 'short');
  await messages.set({ ...message(topicOf(1), '1'), isExpendable: true });
  // After a restart, no message is better than an old one.
  expect(store.size).toBe(0);
  expect(messages.get(topicOf(1))?.payload.toString()).toBe('1');
  // Others do not wait for it.
  await messages.set(message(topicOf(2), '2'));
  headroom.set('memory', 'ample');
  await expect.poll(() => store.get(topicOf(1))).toBe('1');
});

it('reads what an earlier run has stored, and removes what a deleted device left behind', async () => {
  const { messages, store, port } = retained();
  store.set('care-homes/l/devices/gone/x', '1');
  store.set('care-homes/l/devices/d/x', '2');
  await messages.load(port.load(await port.topics()));
  messages.removeStray((deviceId) => deviceId === 'gone');
  await expect.poll(() => [...store]).toEqual([['care-homes/l/devices/d/x', '2']]);
  expect([...messages.matching(['#'])].map((one) => one?.topic)).toEqual([
    'care-homes/l/devices/d/x',
  ]);
});

it('keeps what an earlier run has stored beyond a quota that is now lower', async () => {
  const { messages, store, port } = retained();
  for (let n = 0; n < QUOTAS.retainedTopics + 10; n++) store.set(topicOf(n), '1');
  await messages.load(port.load(await port.topics()));
  await messages.set(message(topicOf(QUOTAS.retainedTopics + 20), '1'));
  const seen = [...messages.matching(['#'])].filter((one) => one !== undefined);
  expect(seen).toHaveLength(QUOTAS.retainedTopics + 10);
  expect(store.size).toBe(QUOTAS.retainedTopics + 10);
});

it('removes from a store that went back what has been removed since', async () => {
  const { messages, store, port } = retained();
  await messages.set(message(topicOf(1), '1'));
  store.clear();
  store.set(topicOf(2), 'removed since');
  messages.storeAll(await port.topics());
  await expect.poll(() => [...store]).toEqual([[topicOf(1), '1']]);
});

it('resumes paused readers one per turn', async () => {
  const { messages } = retained();
  let turn = 0;
  const turns: number[] = [];
  const count = () => {
    turn++;
    if (turns.length < 3) setImmediate(count);
  };
  setImmediate(count);
  for (let n = 0; n < 3; n++) messages.later(() => turns.push(turn));
  await expect.poll(() => turns.length).toBe(3);
  expect(new Set(turns).size).toBe(3);
});

it('removes expired messages, which makes room for others', async () => {
  const { messages, store } = retained();
  const properties = { fields: Buffer.alloc(0), expiresAtMs: 1_000, isRetained: true };
  const expiring = { ...message(topicOf(0), 'x'.repeat(999_000)), properties };
  await messages.set(expiring);
  const next = message(topicOf(1), 'y'.repeat(2_000));
  await messages.set(next);
  messages.removeExpired(999);
  expect([...store.keys()]).toEqual([topicOf(0)]);
  messages.removeExpired(1_000);
  await messages.set(next);
  expect([...store.keys()]).toEqual([topicOf(1)]);
});
