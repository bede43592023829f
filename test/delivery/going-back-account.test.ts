import { expect, it } from 'vitest';
import { alarm, LoneSubscriber, seenOn } from './lone-subscriber.js';
import { numberIn } from './running-delivery.js';

/** A bound of the queue at which marks are set at each entry. */
const MARKED_EACH = 60;

it('the marks of before a start lead only to what the store had then, though it has lost entries since', async () => {
  let lone = await LoneSubscriber.of('a', { maxQueued: 6 });
  await lone.append('a', 2, 'messages');
  await lone.append('b', 1, 'messages');
  await lone.delivery.sessions.stop();
  lone = await lone.started();
  await lone.append('a', 1, 'messages');
  lone.logs.lose('messages', 2);
  // The first of them under a number of before the start.
  await lone.append('a', 5, 'messages');
  await lone.delivery.markBacklogs();
  const { messages } = lone.nurse.cursors;
  expect(messages.dropped).toBe(2);
  const connection = await lone.connected();
  await lone.acknowledgeAll(connection);
  expect(seenOn(connection)).toEqual([5, 6, 7, 8, 9]);
  expect([messages.queued, messages.delivered, messages.lostCount]).toEqual([0, 5, 1]);
});

it('a session counts nothing of before its subscription when the store has lost entries while it was down', async () => {
  let lone = await LoneSubscriber.of('b');
  await lone.append('a', 2);
  await lone.append('b');
  await lone.delivery.subscribe('nurse', [{ filter: 'a', qos: 1 }]);
  await lone.delivery.sessions.stop();
  lone.logs.lose('alarms', 2);
  lone = await lone.started();
  const { alarms } = lone.nurse.cursors;
  // The one that was lost.
  expect([alarms.accepted, alarms.lostCount, alarms.queued]).toEqual([1, 1, 0]);
});

it('a session that finds its backlog shorter after a start has accepted as much as before', async () => {
  let lone = await LoneSubscriber.of('a');
  await lone.append('a', 5);
  await lone.delivery.sessions.stop();
  lone.logs.lose('alarms', 3);
  lone = await lone.started();
  const { alarms } = lone.nurse.cursors;
  expect([alarms.accepted, alarms.lostCount, alarms.queued]).toEqual([5, 2, 3]);
  await lone.append('a');
  expect(seenOn(await lone.connected())).toEqual([1, 2, 3, 6]);
});

it('no young alarm is passed with the old ones when the store loses alarms while marks are set', async () => {
  let lone = await LoneSubscriber.of('a', { maxQueued: MARKED_EACH });
  await lone.append('a', 5);
  await lone.delivery.sessions.stop();
  lone = await lone.started();
  const marking = lone.delivery.markBacklogs();
  lone.logs.lose('alarms', 3);
  lone.nowMs = 500;
  await lone.append('a', 3);
  await marking;
  const { alarms } = lone.nurse.cursors;
  alarms.expireBefore(400);
  expect([alarms.ackFloor, alarms.expired, alarms.queued]).toEqual([3, 5, 3]);
  const connection = await lone.connected();
  expect(seenOn(connection)).toEqual([6, 7, 8]);
});

it('what is expired is counted whole after a loss of alarms that had gone ahead', async () => {
  const limits = { maxInFlight: 2, maxQueued: MARKED_EACH, replayPerSecond: 1e9 };
  const lone = await LoneSubscriber.of('care-homes/l/#', limits);
  await lone.append(alarm('a'), 10);
  const connection = await lone.connected();
  await lone.append(alarm('b'));
  await lone.delivery.settled();
  lone.nurse.acknowledge(connection.sent[0]?.messageId ?? 0);
  await lone.delivery.settled();
  const ahead = connection.sent.at(-1);
  expect(ahead && numberIn(ahead)).toBe(11);
  lone.nurse.acknowledge(ahead?.messageId ?? 0);
  lone.nurse.disconnect(connection);
  lone.logs.lose('alarms', 6);
  lone.nowMs = 500;
  await lone.append(alarm('a'));
  const { alarms } = lone.nurse.cursors;
  alarms.expireBefore(400);
  expect(alarms.expired).toBe(alarms.ackFloor - 1);
  const later = await lone.connected();
  await lone.acknowledgeAll(later);
  expect(seenOn(later).at(-1)).toBe(12);
  expect([alarms.queued, alarms.accepted]).toEqual([0, 12]);
});

it('what is expired is counted whole after a loss of alarms that were acknowledged before older ones', async () => {
  const lone = await LoneSubscriber.of('a', { maxQueued: MARKED_EACH });
  const connection = await lone.connected();
  await lone.append('a', 10);
  await lone.delivery.settled();
  for (const { messageId } of connection.sent.slice(7)) lone.nurse.acknowledge(messageId);
  lone.nurse.disconnect(connection);
  lone.logs.lose('alarms', 5);
  lone.nowMs = 500;
  await lone.append('a');
  const { alarms } = lone.nurse.cursors;
  alarms.expireBefore(400);
  expect(alarms.expired).toBe(alarms.ackFloor);
  const later = await lone.connected();
  await lone.acknowledgeAll(later);
  expect(seenOn(later).at(-1)).toBe(11);
  expect([alarms.queued, alarms.accepted]).toEqual([0, 11]);
});

it('what is expired is counted whole where another session had accepted more of what was lost', async () => {
  const lone = await LoneSubscriber.of('a', { maxQueued: MARKED_EACH });
  await lone.delivery.subscribed('other', 'a', 'b');
  await lone.append('a', 2);
  await lone.append('b');
  // From here on both select the same.
  await lone.delivery.subscribe('nurse', [{ filter: 'b', qos: 1 }]);
  lone.logs.lose('alarms', 2);
  lone.nowMs = 500;
  await lone.append('a');
  const { alarms } = lone.nurse.cursors;
  alarms.expireBefore(400);
  expect(alarms.expired).toBe(alarms.ackFloor);
});

it('a backlog is bounded at once after a start that finds the end of the log before a subscription', async () => {
  let lone = await LoneSubscriber.of('b', { maxQueued: 3 });
  await lone.append('c', 10, 'messages');
  await lone.delivery.subscribe('nurse', [{ filter: 'a', qos: 1 }]);
  await lone.delivery.sessions.stop();
  lone.logs.lose('messages', 5);
  lone = await lone.started();
  await lone.append('a', 4, 'messages');
  const { messages } = lone.nurse.cursors;
  expect([messages.queued, messages.dropped]).toEqual([3, 1]);
});

/** A session with two messages in flight, and what happens while its cursors are being saved. */
async function keptWhile(
  happens: (lone: LoneSubscriber, acknowledgeNext: () => void) => Promise<void>,
) {
  const lone = await LoneSubscriber.of('a');
  const connection = await lone.connected();
  await lone.append('a', 2, 'messages');
  await lone.delivery.settled();
  const acknowledgeNext = () => {
    lone.nurse.acknowledge(connection.unacknowledged.shift()?.messageId ?? 0);
  };
  acknowledgeNext();
  const save = lone.store.saveCursors.bind(lone.store);
  lone.store.saveCursors = async (sessions) => {
    lone.store.saveCursors = save;
    await save(sessions);
    await happens(lone, acknowledgeNext);
  };
  await lone.delivery.keep();
  return { lone, left: (await lone.logs.read('messages', 0, 10)).map(numberIn) };
}

it('a message acknowledged while cursors are being saved stays for a start from what was saved', async () => {
  const { lone, left } = await keptWhile(async (_lone, acknowledgeNext) => acknowledgeNext());
  expect(left).toEqual([2]);
  const { messages } = (await lone.started()).nurse.cursors;
  expect([messages.queued, messages.delivered, messages.expired]).toEqual([1, 1, 0]);
});

it('an entry that gets a trimmed number while cursors are being saved is not trimmed', async () => {
  const { left } = await keptWhile(async (lone) => {
    lone.logs.lose('messages', 0);
    await lone.append('a', 1, 'messages');
  });
  expect(left).toEqual([3]);
});
