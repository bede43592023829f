import { expect, it } from 'vitest';
import type { LogEntry, NewAlarm, Receipt } from '../../src/delivery/log/log-entry.js';
import { deviceContext } from '../../src/domain/messages.js';
import { newId } from '../../src/domain/notation.js';
import { newAlarm } from '../harness/new-alarm.js';
import { ArrayLogs } from './array-logs.js';
import { alarm, LoneSubscriber, seenOn } from './lone-subscriber.js';
import { Connection, numbered, RunningDelivery } from './running-delivery.js';

const STRANGER = 'care-homes/other/devices/x/alarms/fall';

it('an entry under a lost number reaches a subscriber that had the lost one in flight and went away', async () => {
  const lone = await LoneSubscriber.of('a');
  const first = await lone.connected();
  await lone.append('a');
  await lone.append('b', 2);
  // The cursor has read up to the end.
  lone.nurse.wake();
  lone.nurse.disconnect(first);
  lone.logs.lose('alarms', 1);
  await lone.append('a', 2);
  const connection = await lone.connected();
  await lone.acknowledgeAll(connection);
  expect(seenOn(connection)).toEqual([1, 4, 5]);
});

it('entries read before the loss are not sent after it', async () => {
  const lone = await LoneSubscriber.of('a', { maxInFlight: 2 });
  await lone.append('a', 10);
  lone.delivery.forgetTails();
  const connection = await lone.connected();
  lone.logs.lose('alarms', 5);
  await lone.append('a', 2);
  await lone.acknowledgeAll(connection);
  expect(seenOn(connection)).toEqual([1, 2, 3, 4, 5, 11, 12]);
});

it.each(['acknowledged', 'a dead letter'])(
  'a lost entry that is %s does not complete another',
  async (answer) => {
    const lone = await LoneSubscriber.of('a');
    const first = await lone.connected();
    await lone.append('a', 2);
    await lone.delivery.settled();
    const pass = lone.nurse.deadLetter(first.sent[1]?.messageId ?? 0);
    lone.logs.lose('alarms', 1);
    await lone.append('a');
    await lone.delivery.settled();
    expect(seenOn(first)).toEqual([1, 2, 3]);
    lone.nurse.acknowledge(first.sent[0]?.messageId ?? 0);
    if (answer === 'a dead letter') pass();
    else lone.nurse.acknowledge(first.sent[1]?.messageId ?? 0);
    lone.nurse.disconnect(first);
    expect(seenOn(await lone.connected())).toEqual([3]);
  },
);

it('no alarm goes ahead under the number of a lost one', async () => {
  const lone = await LoneSubscriber.of('care-homes/l/#', { maxInFlight: 2, replayPerSecond: 1e9 });
  for (let pair = 0; pair < 5; pair++) {
    await lone.append(alarm('a'));
    await lone.append(alarm('b'));
  }
  const connection = await lone.connected();
  await lone.append(alarm('a'));
  lone.logs.lose('alarms', 5);
  await lone.append(STRANGER);
  await lone.append(alarm('b'));
  await lone.append(alarm('a'));
  await lone.acknowledgeAll(connection);
  expect(connection.sent.map(({ topic }) => topic)).not.toContain(STRANGER);
  expect(
    seenOn(connection)
      .filter((n) => n > 11)
      .toSorted((one, other) => one - other),
  ).toEqual([13, 14]);
});

it('each entry comes once when a gap is filled', async () => {
  const lone = await LoneSubscriber.of('a');
  const entries: LogEntry[] = [];
  for (let n = 1; n <= 3; n++) {
    const item = numbered(n, 'a');
    const [{ sequence } = { sequence: 0 }] = await lone.logs.append('alarms', [item]);
    entries.push({ ...item, log: 'alarms', sequence });
  }
  const [first, second, third] = entries;
  if (first === undefined || second === undefined || third === undefined) throw new Error('none');
  // The store's answers for the first two were lost; recorded again, they are known.
  await lone.delivery.deliveries.announce([{ entry: third, isNew: true }]);
  await lone.delivery.deliveries.announce([
    { entry: first, isNew: false },
    { entry: second, isNew: false },
  ]);
  expect(lone.nurse.cursors.alarms.accepted).toBe(3);
  expect(lone.delivery.deliveries.tails.alarms.last).toBe(3);
  expect(seenOn(await lone.connected())).toEqual([1, 2, 3]);
});

/** A running delivery, and an entry that follows others whose answers were lost, with the reads of the store. */
async function withGap(read: (entries: readonly LogEntry[]) => readonly LogEntry[]) {
  const logs = new ArrayLogs();
  const reader = new ArrayLogs();
  let reads = 0;
  reader.read = async (...asked) => {
    reads++;
    return [...read(await logs.read(...asked))];
  };
  const delivery = await RunningDelivery.begin({ logs, reader });
  await delivery.subscribed('nurse', 'a');
  const items = [1, 2, 3, 4, 5].map((n) => numbered(n, 'a'));
  const appended = await logs.append('messages', items);
  const newest = { ...numbered(5, 'a'), log: 'messages' as const, sequence: appended.length };
  const announced = delivery.deliveries.announce([{ entry: newest, isNew: true }]);
  return { delivery, announced, reads: () => reads };
}

it('each entry comes when a gap takes several pages of large entries', async () => {
  const { delivery, announced } = await withGap((entries) => entries.slice(0, 2));
  await announced;
  const connection = new Connection();
  delivery.consumer('nurse').connect(connection);
  await delivery.settled();
  expect(seenOn(connection)).toEqual([1, 2, 3, 4, 5]);
});

it('no entry overtakes the missing ones when the gateway stops before the store gives them', async () => {
  const { delivery, announced, reads } = await withGap(() => {
    throw new Error('the store is away');
  });
  await expect.poll(reads).toBeGreaterThan(0);
  delivery.deliveries.stop();
  await expect(announced).rejects.toThrow('aborted');
  expect(delivery.deliveries.tails.messages.last).toBe(0);
});

const location = { id: 'l', name: 'Haus', order: 1 };

/** A fall of a device, with its number. */
function fall(n: number, deviceId = 'bed', id = newId(), receipt?: Receipt): NewAlarm {
  const placed = { id: deviceId, name: 'Bett', locationId: 'l', roomId: null, customData: '{}' };
  const device = { ...placed, order: 1, createdAtMs: 0, secretHash: '', limits: {} };
  const sent = { kind: 'fall', detectedAtMs: 0, reportedAt: undefined, footage: {} } as const;
  const data = `{"n":${n}}`;
  const made = { ...sent, id, data, idIsStable: receipt === undefined };
  return { ...newAlarm(made, deviceContext(device, location, null, null), 0), receipt };
}

function entryOf(source: NewAlarm, sequence: number): LogEntry {
  return { ...source, log: 'alarms', sequence, source };
}

it('each alarm of a batch comes that got the numbers of lost ones when the answer for it was lost as well', async () => {
  const lone = await LoneSubscriber.of('#');
  const connection = await lone.connected();
  await lone.delivery.deliveries.announce(
    [1, 2, 3].map((n) => ({ entry: entryOf(fall(n), n), isNew: true })),
  );
  // The store loses the last two. Sent again after the lost answer, the batch is known to the store.
  await lone.delivery.deliveries.announce(
    [4, 5, 6, 7].map((n) => ({ entry: entryOf(fall(n), n - 2), isNew: false })),
  );
  await lone.acknowledgeAll(connection);
  expect(seenOn(connection)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(lone.delivery.deliveries.tails.alarms.last).toBe(5);
});

it('the log does not go back when an alarm is published again, whatever tells that it is the same', async () => {
  const lone = await LoneSubscriber.of('#');
  const connection = await lone.connected();
  const receipt = { packetIdentifier: 7, payloadDigest: 'digest', isSentAgain: false };
  const first = fall(1);
  const second = fall(2, 'bed', newId(), receipt);
  const announce = (entries: readonly LogEntry[], isNew: boolean) =>
    lone.delivery.deliveries.announce(entries.map((entry) => ({ entry, isNew })));
  await announce([entryOf(first, 1), entryOf(second, 2), entryOf(fall(3), 3)], true);
  const sameId = fall(4, 'bed', first.alarm.id);
  const sameReceipt = fall(5, 'bed', newId(), { ...receipt, isSentAgain: true });
  await announce([entryOf(sameId, 1), entryOf(sameReceipt, 2)], false);
  await lone.acknowledgeAll(connection);
  expect(seenOn(connection)).toEqual([1, 2, 3]);
  expect(lone.delivery.deliveries.tails.alarms.last).toBe(3);
});

it.each(['while it runs', 'while it is down'])(
  'a subscription from before a loss covers all later entries when the store loses entries %s and the gateway is killed later',
  async (when) => {
    let lone = await LoneSubscriber.of('b');
    await lone.append('a', 5);
    // The subscription was made when there were five entries.
    await lone.delivery.subscribe('nurse', [{ filter: 'a', qos: 1 }]);
    await lone.delivery.sessions.saveAll();
    lone.logs.lose('alarms', 2);
    if (when === 'while it is down') lone = await lone.started();
    await lone.append('a', 3);
    await lone.delivery.upkeep.checkpoint();
    lone = await lone.started();
    await lone.append('a');
    expect(seenOn(await lone.connected())).toEqual([6, 7, 8, 9]);
  },
);

it('a session does not count lost entries as accepted after a kill', async () => {
  let lone = await LoneSubscriber.of('a');
  await lone.append('a', 5);
  await lone.delivery.sessions.saveAll();
  lone.logs.lose('alarms', 2);
  await lone.append('b');
  await lone.delivery.upkeep.checkpoint();
  // The new entries get numbers up to which the session was counted before the loss.
  await lone.append('a', 2);
  lone = await lone.started();
  expect(seenOn(await lone.connected())).toEqual([1, 2, 7, 8]);
});
