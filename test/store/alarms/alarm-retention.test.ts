import { expect, it } from 'vitest';
import { newId } from '../../../src/domain/notation.js';
import { AlarmRetention } from '../../../src/store/alarms/alarm-retention.js';
import { Store } from '../../../src/store/store.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { AlarmWorld, type Where } from './alarm-world.js';

const place = useRedis();
const START_MS = Date.UTC(2026, 0, 1);
const MAX_AGE_MS = 100;

function removeOld(
  { redis, keys }: AlarmWorld,
  nowMs: number,
  queuedFrom = Number.POSITIVE_INFINITY,
): Promise<number> {
  const now = () => nowMs;
  const retention = new AlarmRetention({
    store: new Store(redis),
    keys,
    maxAgeMs: MAX_AGE_MS,
    now,
    queuedFrom: () => Promise.resolve(queuedFrom),
  });
  return retention.removeOld(new AbortController().signal);
}

it('removes alarms from the history by age, the oldest first', async () => {
  const world = new AlarmWorld(place);
  for (let at = 1; at <= 450; at++) await world.record({ kind: 'fall' }, START_MS + at);
  expect(await removeOld(world, START_MS + 549)).toBe(448);
  for (const deviceIds of [undefined, [world.deviceId]]) {
    const { alarms } = await world.page({ deviceIds });
    expect(alarms.map(({ receivedAtMs }) => receivedAtMs - START_MS)).toEqual([449, 450]);
  }
  expect(await removeOld(world, START_MS + 549)).toBe(0);
  expect(await removeOld(world, Number.MAX_SAFE_INTEGER)).toBe(2);
  expect(await world.historyKeys()).toEqual([]);
});

it('removes everything of an expired alarm that no other alarm needs', async () => {
  const world = new AlarmWorld(place);
  const [room, group, other] = [newId(), newId(), newId()];
  const wheres: readonly Where[] = [
    {},
    { customData: '{"ref":1}' },
    { roomId: room },
    { roomId: room, groupId: group },
    { roomId: room, groupId: group, customData: '{"ref":1}' },
    { roomId: room, groupId: group, deviceId: other },
  ];
  const kinds = ['fall', 'noise'];
  const ids: string[] = [];
  for (const [round, kind] of [...kinds, ...kinds].entries()) {
    for (const where of wheres) {
      const sent = { kind, id: newId(), detectedAt: new Date(START_MS - round).toISOString() };
      ids.push(sent.id);
      await world.record(sent, START_MS + ids.length, where);
    }
  }
  for (let gone = 0; gone <= ids.length; gone++) {
    if (gone > 0) expect(await removeOld(world, START_MS + MAX_AGE_MS + gone + 1)).toBe(1);
    const { alarms } = await world.page();
    expect(alarms.map(({ id }) => id).sort()).toEqual(ids.slice(gone).sort());
    const ofGroup = await world.page({ groupIds: [group] });
    const expected = ids.filter((_, at) => at >= gone && at % wheres.length >= 3);
    expect(ofGroup.alarms.map(({ id }) => id).sort()).toEqual(expected.sort());
    const isKept = (part: string) => (key: string) => key.startsWith(part);
    const keys = await world.historyKeys();
    expect(await world.keptIds()).toBe(ids.length - gone);
    const devices = new Set(alarms.map(({ device }) => device.id));
    const groups = new Set(alarms.map(({ group: one }) => one?.id ?? ''));
    expect(keys.filter(isKept(`alarms:${world.locationId}:`))).toHaveLength(
      devices.size + new Set(alarms.map((one) => `${one.group?.id} ${one.kind}`)).size,
    );
    const stored = await world.redis.smembers(world.keys.alarmGroups(world.locationId));
    expect(stored.sort()).toEqual([...groups].sort());
  }
  expect(await world.historyKeys()).toEqual([]);
});

it('removes expired alarms even if somebody has overwritten one of their indexes', async () => {
  const world = new AlarmWorld(place);
  await world.record({ kind: 'fall' }, START_MS);
  await world.record({ kind: 'fall' }, START_MS + 1);
  const index = world.keys.deviceAlarms(world.locationId, world.deviceId);
  await world.redis.set(index, 'overwritten');
  expect(await removeOld(world, Number.MAX_SAFE_INTEGER)).toBe(2);
  expect(await world.historyKeys()).toEqual([index.slice(world.keys.sitePrefix.length)]);
});

it('records an alarm again when its record is gone', async () => {
  const world = new AlarmWorld(place);
  const sent = { kind: 'fall', id: newId() };
  await world.record(sent, START_MS);
  await removeOld(world, START_MS + MAX_AGE_MS);
  expect((await world.record(sent, START_MS)).isNew).toBe(false);
  await removeOld(world, START_MS + MAX_AGE_MS + 1);
  expect((await world.record(sent, START_MS)).isNew).toBe(true);
});

it('still recognises the alarm of one device when another device’s alarm with the same id has expired', async () => {
  const world = new AlarmWorld(place);
  const sent = { kind: 'fall', id: newId() };
  const other = { deviceId: newId() };
  await world.record(sent, START_MS);
  await world.record(sent, START_MS + 1, other);
  expect(await removeOld(world, START_MS + MAX_AGE_MS + 1)).toBe(1);
  expect((await world.record(sent, START_MS + 2, other)).isNew).toBe(false);
  expect((await world.record(sent, START_MS + 2)).isNew).toBe(true);
  expect(await removeOld(world, Number.MAX_SAFE_INTEGER)).toBe(2);
  expect(await world.historyKeys()).toEqual([]);
});

it('guarantee 7: keeps an alarm received while the clock was not set as long as those after it', async () => {
  const world = new AlarmWorld(place);
  const unset = 1_000;
  // More than one call reads.
  for (let number = 0; number < 250; number++) await world.record({ kind: 'fall' }, unset + number);
  await world.record({ kind: 'fall' }, START_MS);
  await world.record({ kind: 'fall' }, unset);
  expect(await removeOld(world, START_MS + MAX_AGE_MS)).toBe(0);
  expect(await removeOld(world, START_MS + MAX_AGE_MS + 1)).toBe(251);
  expect((await world.page()).alarms).toHaveLength(1);
});

it('guarantee 7: uses the steady clock when the wall clock was years off', async () => {
  const world = new AlarmWorld(place);
  for (const receivedAtMs of [START_MS - 1e11, START_MS + 1e11, START_MS]) {
    await world.record({ kind: 'fall' }, receivedAtMs);
  }
  await world.stampSteadily((index) => START_MS + index);
  expect(await removeOld(world, START_MS + MAX_AGE_MS)).toBe(0);
  expect(await removeOld(world, START_MS + MAX_AGE_MS + 2)).toBe(2);
  expect((await world.page()).alarms).toHaveLength(1);
});

it('keeps queued alarms, however old', async () => {
  const world = new AlarmWorld(place);
  const sequences: number[] = [];
  for (let at = 0; at < 5; at++) {
    const { sequence } = await world.record({ kind: 'fall' }, START_MS + at);
    sequences.push(sequence);
  }
  const [, , queuedFrom] = sequences;
  expect(await removeOld(world, START_MS + 2 * MAX_AGE_MS, queuedFrom)).toBe(2);
  expect(await removeOld(world, START_MS + 2 * MAX_AGE_MS, queuedFrom)).toBe(0);
  expect(await removeOld(world, START_MS + 2 * MAX_AGE_MS)).toBe(3);
});
