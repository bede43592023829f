import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { EventStream } from '../../src/http/event-stream.js';

const MAX_WAITING_BYTES = 256 * 1024;

function openStream(): EventStream {
  const outgoing = new PassThrough();
  const stream = new EventStream({ outgoing, now: Date.now, elapsed: () => performance.now() });
  onTestFinished(() => stream.end());
  return stream;
}

function message(length: number) {
  const payload = Buffer.from(JSON.stringify('x'.repeat(length)));
  return { topic: 'care-homes/a/x', payload, retained: false, position: undefined, messageId: 7 };
}

it('holds a bounded number of bytes while nobody reads, and takes more once they are read', async () => {
  const stream = openStream();
  const acknowledged: number[] = [];
  let wakes = 0;
  stream.attach({
    taken: (messages) => acknowledged.push(...messages.map(({ messageId }) => messageId)),
    wake: () => wakes++,
    unread: () => undefined,
    close: () => undefined,
  });
  const LENGTH = 1_000;
  let sent = 0;
  for (; stream.isWritable; sent++) stream.send(message(LENGTH));
  expect(sent * LENGTH).toBeLessThan(MAX_WAITING_BYTES);
  expect((sent + 1) * (LENGTH + 100)).toBeGreaterThan(MAX_WAITING_BYTES);
  const reader = stream.body.getReader();
  const { value } = await reader.read();
  expect(
    Buffer.from(value ?? [])
      .toString()
      .match(/^event: message$/gm),
  ).toHaveLength(sent);
  expect([stream.isWritable, wakes]).toEqual([true, 1]);
  // Handed over is not taken: that shows when more is asked for.
  expect(acknowledged).toEqual([]);
  void reader.read();
  await expect.poll(() => acknowledged).toHaveLength(sent);
});

it('ends without what waits, and is closed once', async () => {
  const stream = openStream();
  let closed = 0;
  stream.attach({
    taken: () => undefined,
    wake: () => undefined,
    unread: () => undefined,
    close: () => closed++,
  });
  stream.send(message(1));
  stream.end();
  stream.end();
  expect(closed).toBe(1);
  expect(stream.isWritable).toBe(false);
  expect(await stream.body.getReader().read()).toEqual({ done: true, value: undefined });
});
