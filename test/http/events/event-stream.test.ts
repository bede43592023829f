import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { EventStream } from '../../../src/http/event-stream.js';

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

it('buffers a bounded number of bytes while nobody reads, and accepts more once they are read', async () => {
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
  let text = '';
  const read = async () => {
    text += Buffer.from((await reader.read()).value ?? []).toString();
    return text.match(/^event: message$/gm)?.length ?? 0;
  };
  let events = await read();
  // Delivering an event does not acknowledge it: asking for more does.
  expect(acknowledged).toEqual([]);
  while (events < sent || !text.endsWith('\n\n')) events = await read();
  expect(events).toBe(sent);
  expect([stream.isWritable, wakes]).toEqual([true, 1]);
  expect(acknowledged.length).toBeLessThan(sent);
  void reader.read();
  await expect.poll(() => acknowledged).toHaveLength(sent);
});

it('stays open while its client reads the backlog, however slowly', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const stream = openStream();
  let unread = 0;
  stream.attach({
    taken: () => undefined,
    wake: () => undefined,
    unread: () => unread++,
    close: () => undefined,
  });
  const BYTES_PER_SECOND = 10_000;
  while (stream.isWritable) stream.send(message(30_000));
  const reader = stream.body.getReader();
  for (let bytes = 0; bytes < MAX_WAITING_BYTES; ) {
    const { value } = await reader.read();
    bytes += value?.length ?? Number.POSITIVE_INFINITY;
    vi.advanceTimersByTime(((value?.length ?? 0) / BYTES_PER_SECOND) * 1_000);
  }
  expect([stream.isWritable, unread]).toEqual([true, 0]);
  vi.advanceTimersByTime(10_000);
  expect([stream.isWritable, unread]).toEqual([false, 1]);
});

it('sends a heartbeat at least every five seconds when nothing happens', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const reader = openStream().body.getReader();
  const heartbeat = async () => {
    const reading = reader.read();
    vi.advanceTimersByTime(5_000);
    const text = Buffer.from((await reading).value ?? []).toString();
    return /^event: heartbeat\ndata: {"at":"(.+)"}\n\n$/.exec(text)?.[1] ?? '';
  };
  const [at, next] = [await heartbeat(), await heartbeat()].map((time) => Date.parse(time));
  expect((next ?? 0) - (at ?? 0)).toBeGreaterThan(0);
  expect((next ?? 0) - (at ?? 0)).toBeLessThanOrEqual(5_000);
});

it('discards the backlog when it ends, and closes once', async () => {
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
