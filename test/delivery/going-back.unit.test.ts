import { expect, it } from 'vitest';
import { Connection, numbered, numberIn, RunningDelivery } from './running-delivery.js';

const LIMITS = { maxInFlight: 10, maxQueued: 100, maxQueuedBytes: 1_000_000, maxAgeMs: 1_000 };

it.each(['alarms', 'messages'] as const)(
  'new %s are sent immediately under the numbers of those that the store has lost',
  async (log) => {
    const delivery = await RunningDelivery.begin({ limits: LIMITS });
    const nurse = await delivery.subscribed('nurse', 'a');
    const connection = new Connection();
    nurse.connect(connection);
    await delivery.settled();
    delivery.append(log, [numbered(1, 'a'), numbered(2, 'a'), numbered(3, 'a')]);
    await delivery.settled();
    delivery.goBack(log, 1);
    // One message stays in flight all the time.
    delivery.append(log, [numbered(4, 'a')]);
    await delivery.settled();
    expect(connection.sent.map(numberIn)).toContain(4);
    expect(delivery.wentBack).toEqual(log === 'alarms' ? [[2, 3]] : []);
  },
);

it('lost alarms are noticed even without a new one', async () => {
  const delivery = await RunningDelivery.begin({ limits: LIMITS });
  await delivery.subscribed('nurse', 'a');
  delivery.append('alarms', [numbered(1, 'a'), numbered(2, 'a'), numbered(3, 'a')]);
  await delivery.keep();
  expect(delivery.wentBack).toEqual([]);
  delivery.goBack('alarms', 1);
  await delivery.keep();
  await delivery.keep();
  expect(delivery.wentBack).toEqual([[2, 3]]);
});

it('guarantee 3: what another gateway has queued goes before the new alarm of its device, even during a replay', async () => {
  const delivery = await RunningDelivery.begin({ limits: { ...LIMITS, replayPerSecond: 1 } });
  const nurse = await delivery.subscribed('nurse', '+');
  delivery.append('alarms', [numbered(1, 'a'), numbered(2, 'a'), numbered(3, 'a')]);
  const connection = new Connection();
  nurse.connect(connection);
  await delivery.settled();
  expect(connection.sent.map(numberIn)).toEqual([1]);
  delivery.appendElsewhere(numbered(4, 'b'));
  delivery.append('alarms', [numbered(5, 'b')]);
  await delivery.settled();
  expect(connection.sent.map(numberIn)).toEqual([1, 4, 5]);
  nurse.disconnect(connection);
});
