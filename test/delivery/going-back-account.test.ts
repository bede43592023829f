import { expect, it } from 'vitest';
import { alarm, Home, seenOn } from './home.js';
import { numberIn } from './world.js';

/** A bound of the queue at which marks are set at each entry. */
const MARKED_EACH = 60;

it('the marks of before a start lead only to what the store had then, though it has lost entries since', async () => {
  let home = await Home.of('a', { maxQueued: 6 });
  await home.append('a', 2, 'messages');
  await home.append('b', 1, 'messages');
  await home.world.sessions.stop();
  home = await home.started();
  await home.append('a', 1, 'messages');
  home.logs.lose('messages', 2);
  // The first of them under a number of before the start.
  await home.append('a', 5, 'messages');
  await home.world.markBacklogs();
  const { messages } = home.nurse.cursors;
  expect(messages.dropped).toBe(2);
  const connection = await home.connected();
  await home.acknowledgeAll(connection);
  expect(seenOn(connection)).toEqual([5, 6, 7, 8, 9]);
  expect([messages.queued, messages.delivered, messages.expired]).toEqual([0, 5, 1]);
});

it('a session counts nothing of before its subscription when the store has lost entries while it was down', async () => {
  let home = await Home.of('b');
  await home.append('a', 2);
  await home.append('b');
  await home.world.subscribe('nurse', [{ filter: 'a', qos: 1 }]);
  await home.world.sessions.stop();
  home.logs.lose('alarms', 2);
  home = await home.started();
  const { alarms } = home.nurse.cursors;
  // The one that was lost.
  expect([alarms.accepted, alarms.expired, alarms.queued]).toEqual([1, 1, 0]);
});

it('a session that finds its backlog shorter after a start has accepted as much as before', async () => {
  let home = await Home.of('a');
  await home.append('a', 5);
  await home.world.sessions.stop();
  home.logs.lose('alarms', 3);
  home = await home.started();
  const { alarms } = home.nurse.cursors;
  expect([alarms.accepted, alarms.expired, alarms.queued]).toEqual([5, 2, 3]);
  await home.append('a');
  expect(seenOn(await home.connected())).toEqual([1, 2, 3, 6]);
});

it('no young alarm is passed with the old ones when the store loses alarms while marks are set', async () => {
  let home = await Home.of('a', { maxQueued: MARKED_EACH });
  await home.append('a', 5);
  await home.world.sessions.stop();
  home = await home.started();
  const marking = home.world.markBacklogs();
  home.logs.lose('alarms', 3);
  home.nowMs = 500;
  await home.append('a', 3);
  await marking;
  const { alarms } = home.nurse.cursors;
  alarms.expireBefore(400);
  expect([alarms.ackFloor, alarms.expired, alarms.queued]).toEqual([3, 5, 3]);
  const connection = await home.connected();
  expect(seenOn(connection)).toEqual([6, 7, 8]);
});

it('what is expired is counted whole after a loss of alarms that had gone ahead', async () => {
  const limits = { maxInFlight: 2, maxQueued: MARKED_EACH, replayPerSecond: 1e9 };
  const home = await Home.of('care-homes/l/#', limits);
  await home.append(alarm('a'), 10);
  const connection = await home.connected();
  await home.append(alarm('b'));
  await home.world.settled();
  home.nurse.acknowledge(connection.sent[0]?.messageId ?? 0);
  await home.world.settled();
  const ahead = connection.sent.at(-1);
  expect(ahead && numberIn(ahead)).toBe(11);
  home.nurse.acknowledge(ahead?.messageId ?? 0);
  home.nurse.disconnect(connection);
  home.logs.lose('alarms', 6);
  home.nowMs = 500;
  await home.append(alarm('a'));
  const { alarms } = home.nurse.cursors;
  alarms.expireBefore(400);
  expect(alarms.expired).toBe(alarms.ackFloor - 1);
  const later = await home.connected();
  await home.acknowledgeAll(later);
  expect(seenOn(later).at(-1)).toBe(12);
  expect([alarms.queued, alarms.accepted]).toEqual([0, 12]);
});

it('what is expired is counted whole after a loss of alarms that were acknowledged before older ones', async () => {
  const home = await Home.of('a', { maxQueued: MARKED_EACH });
  const connection = await home.connected();
  await home.append('a', 10);
  await home.world.settled();
  for (const { messageId } of connection.sent.slice(7)) home.nurse.acknowledge(messageId);
  home.nurse.disconnect(connection);
  home.logs.lose('alarms', 5);
  home.nowMs = 500;
  await home.append('a');
  const { alarms } = home.nurse.cursors;
  alarms.expireBefore(400);
  expect(alarms.expired).toBe(alarms.ackFloor);
  const later = await home.connected();
  await home.acknowledgeAll(later);
  expect(seenOn(later).at(-1)).toBe(11);
  expect([alarms.queued, alarms.accepted]).toEqual([0, 11]);
});

it('what is expired is counted whole where another session had accepted more of what was lost', async () => {
  const home = await Home.of('a', { maxQueued: MARKED_EACH });
  await home.world.subscribed('other', 'a', 'b');
  await home.append('a', 2);
  await home.append('b');
  // From here on both select the same.
  await home.world.subscribe('nurse', [{ filter: 'b', qos: 1 }]);
  home.logs.lose('alarms', 2);
  home.nowMs = 500;
  await home.append('a');
  const { alarms } = home.nurse.cursors;
  alarms.expireBefore(400);
  expect(alarms.expired).toBe(alarms.ackFloor);
});

it('a backlog is bounded at once after a start that finds the end of the log before a subscription', async () => {
  let home = await Home.of('b', { maxQueued: 3 });
  await home.append('c', 10, 'messages');
  await home.world.subscribe('nurse', [{ filter: 'a', qos: 1 }]);
  await home.world.sessions.stop();
  home.logs.lose('messages', 5);
  home = await home.started();
  await home.append('a', 4, 'messages');
  const { messages } = home.nurse.cursors;
  expect([messages.queued, messages.dropped]).toEqual([3, 1]);
});

/** A session with two messages in flight, and what happens while its cursors are being saved. */
async function keptWhile(happens: (home: Home, acknowledgeNext: () => void) => Promise<void>) {
  const home = await Home.of('a');
  const connection = await home.connected();
  await home.append('a', 2, 'messages');
  await home.world.settled();
  const acknowledgeNext = () => {
    home.nurse.acknowledge(connection.unacknowledged.shift()?.messageId ?? 0);
  };
  acknowledgeNext();
  const save = home.store.saveCursors.bind(home.store);
  home.store.saveCursors = async (sessions) => {
    home.store.saveCursors = save;
    await save(sessions);
    await happens(home, acknowledgeNext);
  };
  await home.world.keep();
  return { home, left: (await home.logs.read('messages', 0, 10)).map(numberIn) };
}

it('a message acknowledged while cursors are being saved stays for a start from what was saved', async () => {
  const { home, left } = await keptWhile(async (_home, acknowledgeNext) => acknowledgeNext());
  expect(left).toEqual([2]);
  const { messages } = (await home.started()).nurse.cursors;
  expect([messages.queued, messages.delivered, messages.expired]).toEqual([1, 1, 0]);
});

it('an entry that gets a trimmed number while cursors are being saved is not trimmed', async () => {
  const { left } = await keptWhile(async (home) => {
    home.logs.lose('messages', 0);
    await home.append('a', 1, 'messages');
  });
  expect(left).toEqual([3]);
});
