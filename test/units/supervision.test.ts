/** What supervision makes of times that differ by less than a packet's: promises/supervision.test.ts has the rest. */
import { expect, test } from 'vitest';
import type { NewEntry } from '../../src/delivery/new-entry.js';
import type { Done } from '../../src/delivery/writer.js';
import { deviceContext } from '../../src/domain/messages.js';
import type { Device } from '../../src/domain/site.js';
import { Supervision } from '../../src/watch/supervision.js';

const home = { id: 'location', name: 'Haus am See', order: 1 };
const at = { locationId: home.id, roomId: null };
const about = { createdAtMs: 0, secretHash: '', customData: '{}' };
const device: Device = { ...at, ...about, id: 'device', name: 'Bett 1', order: 1 };

test('only a packet makes a silent device heard: no longer time, and no drift of the clock', async () => {
  const context = deviceContext(device, home, null, null);
  let seen = { silentMs: 60_000, lastSeenAtMs: 1_000_000 };
  const states: string[] = [];
  const supervision = new Supervision({
    model: { devices: () => [device], device: () => device, context: () => context },
    hearing: {
      silentMs: () => seen.silentMs,
      of: () => seen,
      fellSilent: () => undefined,
    },
    writer: {
      append: ({ payload }: NewEntry, done: Done) => {
        states.push(String(JSON.parse(payload.toString()).state));
        done(true, states.length);
      },
    },
    store: { silent: async () => [] },
    health: { replace: () => undefined },
    silentAfterSeconds: 60,
    now: () => 1_060_000,
    steadyNow: () => 0,
  });
  await supervision.load();
  supervision.check();
  expect(states).toEqual(['silent']);
  for (const [silentMs, lastSeenAtMs] of [
    [50_000, 1_000_999],
    [50_000, 999_001],
  ] as const) {
    seen = { silentMs, lastSeenAtMs };
    supervision.check();
    expect(states).toEqual(['silent']);
  }
  seen = { silentMs: 50_000, lastSeenAtMs: 1_010_000 };
  supervision.check();
  expect(states).toEqual(['silent', 'heard']);
});
