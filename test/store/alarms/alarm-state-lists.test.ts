import { expect, it } from 'vitest';
import type { NewStateChange } from '../../../src/delivery/log/log-item.js';
import { newId } from '../../../src/domain/notation.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { START_MS, StateWorld } from './state-world.js';

const place = useRedis();

it('lists only the requested states, whatever the pages, among 2,000 alarms', async () => {
  const world = new StateWorld(place);
  const alarms = Array.from({ length: 2_000 }, (_, at) => {
    return world.alarm({ kind: 'fall', id: newId() }, START_MS + at);
  });
  for (let from = 0; from < alarms.length; from += 250) {
    await world.logs.append(alarms.slice(from, from + 250));
  }
  const expected = new Map<string, string[]>([
    ['raised', []],
    ['acknowledged', []],
    ['resolved', []],
  ]);
  const changes: NewStateChange[] = [];
  for (const [at, { alarm }] of alarms.entries()) {
    // Only a few are open, as in a home.
    const state = at % 200 === 3 ? 'raised' : at % 300 === 5 ? 'acknowledged' : 'resolved';
    expected.get(state)?.push(alarm.id);
    if (state !== 'raised') changes.push(world.change(alarm.id, state));
  }
  for (let from = 0; from < changes.length; from += 250) {
    await world.logs.append(changes.slice(from, from + 250));
  }
  for (const states of [['raised'], ['acknowledged'], ['raised', 'acknowledged']] as const) {
    const ids: string[] = [];
    let page = await world.page({ states, limit: 4 });
    for (;;) {
      expect(page.alarms.length === 4 || page.next === undefined).toBe(true);
      ids.push(...page.alarms.map(({ id }) => id));
      if (page.next === undefined) break;
      const { next: position, upToSequence } = page;
      page = await world.page({ states, limit: 4, position, upToSequence });
    }
    const wanted = new Set(states.flatMap((state) => expected.get(state) ?? []));
    expect(ids).toEqual(alarms.map(({ alarm }) => alarm.id).filter((id) => wanted.has(id)));
  }
});

it('does not pass a state on to another alarm with the same number', async () => {
  const world = new StateWorld(place);
  await world.give(await world.raise(START_MS), 'resolved');
  await world.redis.del(world.keys.history, world.keys.logSequence('alarms'));
  await world.raise(START_MS + 1);
  for (const states of [undefined, ['raised'] as const]) {
    const { alarms } = await world.page({ states });
    expect(alarms.map(({ states: { state } }) => state)).toEqual(['raised']);
  }
  expect((await world.page({ states: ['resolved'] })).alarms).toEqual([]);
});

it('removes an expired alarm with its states and their entries', async () => {
  const world = new StateWorld(place);
  const id = await world.raise(START_MS);
  const kept = await world.raise(START_MS + 50);
  await world.give(id, 'acknowledged', { atMs: START_MS + 60 });
  await world.give(id, 'resolved', { atMs: START_MS + 70 });
  await world.give(kept, 'acknowledged', { atMs: START_MS + 80 });
  expect(await world.expire(START_MS + 101)).toBe(1);
  const entries = await world.logs.read(0, 10);
  expect(entries.map(({ sequence }) => sequence)).toEqual([2, 5]);
  expect((await world.page()).alarms.map(({ states: { state } }) => state)).toEqual([
    'acknowledged',
  ]);
  await world.expire(START_MS + 1_000);
  expect(await world.leftKeys()).toEqual([]);
});

it('keeps the entry of a state that somebody has yet to receive, with its place', async () => {
  const world = new StateWorld(place);
  const id = await world.raise(START_MS);
  await world.give(id, 'acknowledged', { atMs: START_MS + 60 });
  await world.expire(START_MS + 101, 2);
  expect((await world.page()).alarms).toEqual([]);
  const entries = await world.logs.read(0, 10);
  expect(entries.map(({ topic }) => topic)).toEqual([
    `care-homes/${world.locationId}/devices/${world.deviceId}/alarm-states/fall`,
  ]);
  await world.expire(START_MS + 1_000);
  expect(await world.leftKeys()).toEqual([]);
});

it('finds the device of an alarm of a location', async () => {
  const world = new StateWorld(place);
  const [one, two] = [newId(), newId()];
  const ofOne = await world.raise(START_MS, { deviceId: one });
  const ofTwo = await world.raise(START_MS, { deviceId: two });
  const deviceOf = async (locationId: string, alarmId: string) =>
    (await world.history.find({ locationId, alarmId }))?.device.id;
  expect(await deviceOf(world.locationId, ofOne)).toBe(one);
  expect(await deviceOf(world.locationId, ofTwo)).toBe(two);
  expect(await deviceOf(newId(), ofOne)).toBeUndefined();
  expect(await deviceOf(world.locationId, newId())).toBeUndefined();
});

it('finds the newest alarm when devices use the same id, and changes only that of the given device', async () => {
  const world = new StateWorld(place);
  const [one, two] = [newId(), newId()];
  const id = newId();
  await world.record({ kind: 'fall', id }, START_MS, { deviceId: two });
  await world.record({ kind: 'fall', id }, START_MS, { deviceId: one });
  const found = await world.history.find({ locationId: world.locationId, alarmId: id });
  expect(found?.device.id).toBe(one);
  expect(await world.give(id, 'resolved', { deviceId: one })).toBe('changed');
  expect(await world.give(id, 'acknowledged', { deviceId: two })).toBe('changed');
});

it('lists open alarms without scanning resolved ones', async () => {
  const world = new StateWorld(place);
  const open = [await world.raise(START_MS - 2), await world.raise(START_MS - 1)];
  const resolved = Array.from({ length: 1_500 }, () => newId());
  await world.logs.append(
    resolved.map((id, index) => world.alarm({ kind: 'noise', id }, START_MS + index)),
  );
  await world.logs.append(resolved.map((id) => world.change(id, 'resolved')));
  await world.give(open[1] ?? '', 'acknowledged');
  const listed = async () => {
    const { alarms } = await world.page({ states: ['raised', 'acknowledged'], order: 'desc' });
    return alarms.map(({ id }) => id);
  };
  expect(await world.scriptsDuring(listed)).toBe(1);
  expect(await listed()).toEqual([...open].reverse());

  await world.expire(Number.MAX_SAFE_INTEGER);
  const kept = (await world.historyKeys()).filter((key) => key.startsWith('open-alarms'));
  expect(kept).toEqual([]);
});
