import pino from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { DirectMessage } from '../../src/delivery/direct-queue.js';
import { NewestRetained } from '../../src/delivery/newest-retained.js';

const PENDING_MS = 20;

function messageOf(topic: string): DirectMessage {
  return { topic, payload: Buffer.from('1'), qos: 1, retain: true, locationId: 'l', groupId: null };
}

it('takes an answer of the store for one, and no message beyond a quota', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const retained = new NewestRetained(
    {
      store: ({ topic }) =>
        topic === 'stored' ? new Promise<boolean>(() => undefined) : Promise.resolve(false),
      async *matching() {
        yield [];
      },
    },
    pino({ enabled: false }),
  );
  retained.store(messageOf('stored'));
  vi.advanceTimersByTime(PENDING_MS);
  await retained.store(messageOf('beyond'));
  expect(retained.unansweredMs).toBe(PENDING_MS);
  retained.answered();
  expect(retained.unansweredMs).toBe(0);
  retained.stop();
});
