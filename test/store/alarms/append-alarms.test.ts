import { expect, it } from 'vitest';
import type { NewAlarm } from '../../../src/delivery/log/log-item.js';
import { lastLeft } from '../../../src/delivery/log/reply-code.js';
import { newId } from '../../../src/domain/notation.js';
import { kindNumber } from '../../../src/store/alarms/alarm-records.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { newIdentity } from '../../former/stored/stored-logs.js';
import { AlarmWorld } from './alarm-world.js';

const place = useRedis();
const START_MS = Date.UTC(2026, 0, 1);
const FALL = kindNumber('fall');

function fall() {
  return { kind: 'fall', id: newId() };
}

function sequencesOf(appended: readonly { readonly sequence: number; readonly isNew: boolean }[]) {
  return appended.map(({ sequence, isNew }) => (isNew ? sequence : -sequence));
}

/** An alarm without an id, published under a packet identifier. */
function withReceipt(
  world: AlarmWorld,
  packetIdentifier: number,
  payloadDigest: string,
  isSentAgain: boolean,
  deviceId = world.deviceId,
): NewAlarm {
  const alarm = world.alarm(fall(), START_MS, { deviceId });
  return { ...alarm, receipt: { packetIdentifier, payloadDigest, isSentAgain } };
}

/** The payload as text: Vitest is very slow at comparing buffers. */
function textOf({ payload }: { readonly payload: Buffer }): string {
  return payload.toString();
}

it('appends 500 alarms in one batch, in order, without gaps', async () => {
  const world = new AlarmWorld(place);
  const groups = [null, newId(), newId()];
  const rooms = groups.map(() => newId());
  const batches = [0, 500].map((from) =>
    Array.from({ length: 500 }, (_, number) => {
      const at = from + number;
      const where = { roomId: rooms[at % 3] ?? null, groupId: groups[at % 3] ?? null };
      return world.alarm(fall(), START_MS + at, where);
    }),
  );
  for (const [round, batch] of batches.entries()) {
    const numbers = Array.from({ length: 500 }, (_, at) => round * 500 + at + 1);
    expect(sequencesOf(await world.logs.append(batch))).toEqual(numbers);
  }
  const entries = await world.logs.read(0, 2_000);
  expect(entries.map(textOf)).toEqual(batches.flat().map(textOf));
  const { alarms } = await world.page({ limit: 1_000 });
  expect(alarms.map(({ id }) => id)).toEqual(batches.flat().map(({ alarm }) => alarm.id));
  expect(await world.keptIds()).toBe(1_000);
  const [ofGroup] = await Promise.all(
    groups.slice(1, 2).map((id) => world.page({ groupIds: [id ?? ''], limit: 1_000 })),
  );
  expect(ofGroup?.alarms).toHaveLength(333);
});

it('records each alarm at its own place when they arrive in one batch', async () => {
  const world = new AlarmWorld(place);
  const other = newId();
  const [here, there] = [
    world.alarm(fall(), START_MS),
    world.alarm(fall(), START_MS, { deviceId: other }),
  ];
  const again = [here, there, here].map(({ context }) => ({
    ...world.alarm(fall(), START_MS),
    context,
  }));
  const batch = [here, there, ...again];
  await world.logs.append(batch);
  for (const deviceId of [world.deviceId, other]) {
    const ids = batch
      .filter((one) => one.context.device.id === deviceId)
      .map(({ alarm }) => alarm.id);
    const { alarms } = await world.page({ deviceIds: [deviceId] });
    expect(alarms.map(({ id, device }) => [id, device.id])).toEqual(
      ids.map((id) => [id, deviceId]),
    );
  }
});

it('records a repeated alarm once, in the same batch and in a later one', async () => {
  const world = new AlarmWorld(place);
  const [first, second, third] = [fall(), fall(), fall()];
  const roomId = newId();
  const batch = [
    world.alarm(first, START_MS, { roomId }),
    world.alarm(second, START_MS + 1),
    world.alarm(first, START_MS + 2, { roomId: newId(), customData: '{"a":1}' }),
    world.alarm(first, START_MS + 3, { deviceId: newId() }),
  ];
  expect(sequencesOf(await world.logs.append(batch))).toEqual([1, 2, -1, 3]);
  const again = [
    world.alarm(second, START_MS + 4, { roomId: newId() }),
    world.alarm(third, START_MS + 5),
    world.alarm(third, START_MS + 6),
    world.alarm(first, START_MS + 7),
  ];
  expect(sequencesOf(await world.logs.append(again))).toEqual([-2, 4, -4, -1]);

  const { alarms } = await world.page({ deviceIds: [world.deviceId] });
  expect(alarms.map(({ id, receivedAtMs }) => [id, receivedAtMs - START_MS])).toEqual([
    [first.id, 0],
    [second.id, 1],
    [third.id, 5],
  ]);
  expect(alarms.map(({ room }) => room?.id)).toEqual([roomId, undefined, undefined]);
  expect(await world.logs.read(0, 10)).toHaveLength(4);
  expect(await world.logs.lastSequence()).toBe(4);
});

it('records an alarm again when another alarm has its number', async () => {
  const world = new AlarmWorld(place);
  const [lost, other] = [fall(), fall()];
  await world.record(lost, START_MS);
  const { history } = world.keys;
  await world.redis.del(history, world.keys.logSequence('alarms'));
  expect((await world.record(other, START_MS)).sequence).toBe(1);
  expect((await world.record(lost, START_MS)).isNew).toBe(true);
  expect((await world.record(lost, START_MS)).isNew).toBe(false);
});

it('writes nothing when the store has lost what the gateway knows about, and returns the last number', async () => {
  const world = new AlarmWorld(place);
  await world.record(fall(), START_MS);
  const identity = { ...newIdentity(), after: 2 };
  const batch = await world.logs.alarms.freeze([world.alarm(fall(), START_MS)], () => [], identity);
  const error = await batch.write().catch((thrown: unknown) => thrown);
  expect(lastLeft(error)).toBe(1);
  expect(await world.logs.lastSequence()).toBe(1);
});

it('detects a retransmission by its receipt, in the same batch and in a later one', async () => {
  const world = new AlarmWorld(place);
  const other = newId();
  const batch = [
    withReceipt(world, 7, 'a', false),
    withReceipt(world, 7, 'a', true),
    // Another payload, another device, or no DUP.
    withReceipt(world, 7, 'b', true),
    withReceipt(world, 7, 'a', true, other),
    withReceipt(world, 8, 'a', false),
    withReceipt(world, 8, 'a', false),
  ];
  expect(sequencesOf(await world.logs.append(batch))).toEqual([1, -1, 2, 3, 4, 5]);
  const again = [
    withReceipt(world, 7, 'b', true),
    withReceipt(world, 8, 'a', true),
    withReceipt(world, 7, 'a', true, other),
    withReceipt(world, 7, 'a', true),
    withReceipt(world, 9, 'a', true),
  ];
  expect(sequencesOf(await world.logs.append(again))).toEqual([-2, -5, -3, 6, 7]);
  expect(await world.redis.ttl(world.keys.receipts(world.deviceId))).toBeGreaterThan(0);
});

it('takes a packet with DUP for a new alarm five minutes after the last one with its packet identifier', async () => {
  const world = new AlarmWorld(place);
  const after = (minutes: number) => {
    const alarm = withReceipt(world, 7, 'a', minutes > 0);
    return { ...alarm, receivedAtMs: alarm.receivedAtMs + minutes * 60_000 };
  };
  expect(sequencesOf(await world.logs.append([after(0)]))).toEqual([1]);
  expect(sequencesOf(await world.logs.append([after(4)]))).toEqual([-1]);
  expect(sequencesOf(await world.logs.append([after(6)]))).toEqual([2]);
});

it('stores the packet identifiers of QoS 2 publishes with the batch', async () => {
  const world = new AlarmWorld(place);
  const sent = fall();
  const received = (packetIdentifier: number) => ({ session: 'bed', packetIdentifier });
  await world.logs.append([
    { ...world.alarm(sent, START_MS), received: received(1) },
    // A repeated alarm, too.
    { ...world.alarm(sent, START_MS), received: received(65_535) },
    world.alarm(fall(), START_MS),
  ]);
  await world.logs.appendMessages([
    { ...world.alarm(fall(), START_MS), received: { ...received(2), session: 'door' } },
  ]);
  expect((await world.redis.hkeys(world.keys.received('bed'))).sort()).toEqual(['1', '65535']);
  expect(await world.redis.hkeys(world.keys.received('door'))).toEqual(['2']);
});

it('writes nothing of a batch when a key has the wrong type', async () => {
  const world = new AlarmWorld(place);
  await world.redis.set(world.keys.received('bed'), 'text');
  const received = { session: 'bed', packetIdentifier: 1 };
  const batch = [world.alarm(fall(), START_MS), { ...world.alarm(fall(), START_MS), received }];
  await expect(world.logs.append(batch)).rejects.toThrow('WRONGTYPE');
  await expect(world.logs.appendMessages(batch)).rejects.toThrow('WRONGTYPE');
  expect(await world.historyKeys()).toEqual(['broker:incoming:bed']);
  expect(await world.logs.lastSequence()).toBe(0);
  expect(await world.redis.exists(world.keys.logSequence('messages'))).toBe(0);
});

it.each([
  [
    "the device's index",
    ({ keys, locationId, deviceId }) => keys.deviceAlarms(locationId, deviceId),
  ],
  ["the location's index", ({ keys, locationId }) => `${keys.alarmIndexesOf(locationId)}:${FALL}`],
  [
    'the index of open alarms',
    ({ keys, locationId }) => `${keys.openAlarmIndexesOf(locationId)}:${FALL}`,
  ],
  ['the set of groups', ({ keys, locationId }) => keys.alarmGroups(locationId)],
  ['the hash of receipts', ({ keys, deviceId }) => keys.receipts(deviceId)],
] satisfies [string, (world: AlarmWorld) => string][])(
  'writes nothing of an alarm when %s has another type',
  async (_, keyOf) => {
    const world = new AlarmWorld(place);
    const key = keyOf(world);
    await world.redis.set(key, 'text');
    const alarm = withReceipt(world, 7, 'a', false);
    await expect(world.logs.append([alarm])).rejects.toThrow('WRONGTYPE');
    expect(await world.historyKeys()).toEqual([key.slice(world.keys.sitePrefix.length)]);
    expect(await world.logs.lastSequence()).toBe(0);
  },
);

it.each([
  ['lost', (world: AlarmWorld, key: string) => world.redis.del(key)],
  ['behind', (world: AlarmWorld, key: string) => world.redis.set(key, 3)],
  ['no number', (world: AlarmWorld, key: string) => world.redis.set(key, 'x')],
  [
    'no text',
    async (world: AlarmWorld, key: string) => {
      await world.redis.del(key);
      await world.redis.rpush(key, 'x');
    },
  ],
])('continues after the newest entry when the counter is %s', async (_, damage) => {
  const world = new AlarmWorld(place);
  const append = (count: number) =>
    world.logs.append(
      Array.from({ length: count }, (_one, at) => world.alarm(fall(), START_MS + at)),
    );
  const nurse = 'token:1/nurse';
  await world.redis.hset(world.keys.session(nurse), 'owner', 'token:1');
  const appendMessages = () => world.logs.appendMessages([world.alarm(fall(), START_MS)], nurse);
  await append(5);
  for (let count = 0; count < 5; count++) await appendMessages();
  // Everything has been delivered, but the stream knows its last number.
  await world.redis.xtrim(world.keys.values(nurse), 'MAXLEN', 0);
  await damage(world, world.keys.logSequence('alarms'));
  await damage(world, world.keys.logSequence('messages'));
  expect((await world.page()).alarms).toHaveLength(5);
  expect(sequencesOf(await append(2))).toEqual([6, 7]);
  expect(sequencesOf(await appendMessages())).toEqual([6]);
  expect(await world.logs.lastSequence()).toBe(7);
  expect((await world.page()).alarms).toHaveLength(7);
});

it("continues from the counter when the log's last number is lower", async () => {
  const world = new AlarmWorld(place);
  await world.redis.set(world.keys.logSequence('alarms'), 1_000_000);
  expect(await world.record(fall(), START_MS)).toEqual({ sequence: 1_000_001, isNew: true });
  expect(await world.logs.read(0, 10)).toMatchObject([{ sequence: 1_000_001 }]);
});
