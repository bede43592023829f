import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../src/delivery/log/log-entry.js';
import type { NewMessage } from '../../src/delivery/log/log-item.js';
import { LogTail } from '../../src/delivery/log/log-tail.js';

const TOPIC = 'care-homes/home/devices/bed/alarms/fall';

function entry(sequence: number, payload: Buffer, sentPayload = payload): LogEntry {
  const about = { topic: TOPIC, receivedAtMs: 0, locationId: 'home', groupId: null };
  const source: NewMessage = { ...about, payload: sentPayload };
  return { ...about, log: 'alarms', sequence, item: 0, payload, source };
}

/** A small payload in the middle of a larger chunk. */
function partOf(chunk: Buffer): Buffer {
  return chunk.subarray(100, 400);
}

describe('an entry in the tail', () => {
  it.each([
    ['a chunk from the network', () => partOf(Buffer.alloc(65_536, 'a'))],
    ['the memory that small texts share', () => Buffer.from('a'.repeat(300))],
  ])('does not keep %s', (_, payloadOf) => {
    const tail = new LogTail(0);
    const [payload, sent] = [payloadOf(), payloadOf()];
    tail.append(entry(1, payload));
    tail.append(entry(2, payloadOf(), sent));
    for (const kept of tail.entriesAfter(0)) {
      for (const bytes of [kept.payload, kept.source?.payload]) {
        expect(bytes?.toString()).toBe('a'.repeat(300));
        expect(bytes?.buffer.byteLength).toBe(300);
      }
    }
    const [first] = tail.entriesAfter(0);
    expect(first?.source?.payload).toBe(first?.payload);
  });

  it('is counted with its full memory, so that small ones are limited as well', () => {
    const tail = new LogTail(0);
    for (let sequence = 1; sequence <= 19_000; sequence++) {
      tail.append(entry(sequence, Buffer.from('a'.repeat(600))));
    }
    const kept = tail.entriesAfter(0).length;
    expect(kept * (600 + 1_024)).toBeLessThan(24 * 1024 * 1024);
    expect(kept).toBeGreaterThan(5_000);
  });
});

it('keeps what is left in a store that has lost its newest entries, because it may lose more', () => {
  const tail = new LogTail(0);
  for (const sequence of [1, 2, 3]) tail.append(entry(sequence, Buffer.from('x')));
  tail.cutAfter(2);
  expect(tail.last).toBe(2);
  tail.append(entry(3, Buffer.from('y')));
  const kept = tail.entriesAfter(0).map(({ sequence, payload }) => [sequence, payload.toString()]);
  expect(kept).toEqual([
    [1, 'x'],
    [2, 'x'],
    [3, 'y'],
  ]);
});
