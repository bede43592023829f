import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LiveCopies } from '../../src/delivery/live-copies.js';
import type { NewAlarm } from '../../src/delivery/log-entry.js';
import { newId } from '../../src/domain/identifiers.js';
import { deviceContext } from '../../src/domain/messages.js';
import { Connection, numbered, numberIn, World } from './world.js';

const location = { id: 'home', name: 'Haus am See', order: 1 };
const device = {
  ...{ id: 'bed', name: 'Bett 1', locationId: location.id, roomId: null },
  ...{ customData: '{}', order: 1, createdAtMs: 0, secretHash: '' },
};

let connection: Connection;
let liveCopies: LiveCopies;

beforeEach(async () => {
  vi.useFakeTimers();
  const world = await World.begin();
  liveCopies = new LiveCopies(world.deliveries);
  const consumer = await world.subscribed('nurse', 'a');
  connection = new Connection();
  consumer.connect(connection);
});

afterEach(() => {
  liveCopies.stop();
  vi.useRealTimers();
});

function alarm(n: number): NewAlarm {
  return {
    ...numbered(n, 'a'),
    alarm: {
      ...{ id: newId(), kind: 'fall', detectedAtMs: 0, reportedAt: undefined },
      ...{ footage: {}, data: undefined, idIsStable: true },
    },
    ...{ context: deviceContext(device, location, null, null), wallReceivedAtMs: 0 },
    receipt: undefined,
  };
}

it('sends alarms that are not stored in time ahead of their record, at QoS 0 and in their order', () => {
  const stored = [1, 2, 3].map((n) => liveCopies.watch(alarm(n)));
  vi.advanceTimersByTime(200);
  stored[1]?.();
  expect(connection.sent).toEqual([]);
  vi.advanceTimersByTime(300);
  expect(connection.sent.map(numberIn)).toEqual([1, 3]);
  expect(connection.sent.map(({ qos }) => qos)).toEqual([0, 0]);
  vi.advanceTimersByTime(1_000);
  expect(connection.sent).toHaveLength(2);
});

it('sends each when its own time is over, and none after the end', () => {
  liveCopies.watch(alarm(1));
  vi.advanceTimersByTime(300);
  liveCopies.watch(alarm(2));
  vi.advanceTimersByTime(150);
  expect(connection.sent.map(numberIn)).toEqual([1]);
  liveCopies.stop();
  vi.advanceTimersByTime(1_000);
  expect(connection.sent.map(numberIn)).toEqual([1]);
  expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
});
