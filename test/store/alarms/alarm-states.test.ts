import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { GIVEN_STATES } from '../../../src/domain/alarm-states.js';
import { newId } from '../../../src/domain/notation.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { NURSE, START_MS, StateWorld } from './state-world.js';

const place = useRedis();

it('records who set which state of an alarm and when, with the newest note', async () => {
  const world = new StateWorld(place);
  const id = await world.raise(START_MS);
  const [atMs, later] = [START_MS + 5, START_MS + 9];
  expect(await world.give(id, 'acknowledged', { atMs, note: 'on my way 🚶' })).toBe('changed');
  expect(await world.give(id, 'resolved', { atMs: later })).toBe('changed');
  const { alarms } = await world.page();
  expect(alarms.map(({ states }) => states)).toEqual([
    {
      state: 'resolved',
      acknowledged: { by: NURSE, atMs },
      resolved: { by: NURSE, atMs: later },
      note: 'on my way 🚶',
    },
  ]);
});

it('changes and appends nothing when a state is set again', async () => {
  const world = new StateWorld(place);
  const id = await world.raise(START_MS);
  await world.give(id, 'acknowledged', { note: 'first' });
  const before = [await world.counter(), await world.auditCount()];
  expect(await world.give(id, 'acknowledged', { atMs: START_MS + 1, note: 'second' })).toBe(
    'unchanged',
  );
  const { alarms } = await world.page();
  expect(alarms[0]?.states).toMatchObject({ note: 'first', acknowledged: { atMs: START_MS } });
  expect([await world.counter(), await world.auditCount()]).toEqual(before);
});

it('numbers its audit record after all others, even when their counter was lost', async () => {
  const world = new StateWorld(place);
  const { redis, keys } = world;
  await redis.xadd(keys.auditDenials, '7-0', 'at', 0, 'steady', 0, 'record', '{}');
  expect(await world.give(await world.raise(START_MS), 'acknowledged')).toBe('changed');
  const [record] = await redis.xrange(keys.auditChanges, '-', '+');
  expect(record?.[0]).toBe('8-0');
  expect(await redis.get(keys.auditSequence)).toBe('8');
});

it('accepts a change again under its old number when its answer was lost', async () => {
  const world = new StateWorld(place);
  const change = world.change(await world.raise(START_MS), 'resolved');
  const [first] = await world.logs.append([change]);
  const [second] = await world.logs.append([change]);
  expect(second).toEqual({ ...first, isNew: false });
  expect(second?.entry?.payload.toString()).toContain('"state":"resolved"');
});

it('refuses to acknowledge a resolved alarm, and to change the alarms of others', async () => {
  const world = new StateWorld(place);
  const [room, group] = [newId(), newId()];
  const id = await world.raise(START_MS, { roomId: room, groupId: group });
  for (const asked of [
    { deviceId: newId() },
    { locationId: newId() },
    { groupIds: [] },
    { groupIds: [newId()] },
  ]) {
    expect(await world.give(id, 'resolved', asked)).toBe('unknown-alarm');
  }
  expect(await world.give(newId(), 'resolved')).toBe('unknown-alarm');
  expect(await world.auditCount()).toBe(0);
  expect(await world.give(id, 'resolved', { groupIds: [newId(), group] })).toBe('changed');
  expect(await world.give(id, 'acknowledged')).toBe('alarm-resolved');
  expect(await world.auditCount()).toBe(1);
});

it('sets the state of an alarm in the same batch, and forwards the state after it', async () => {
  const world = new StateWorld(place);
  const id = newId();
  const alarm = world.alarm({ kind: 'noise', id }, START_MS);
  const other = world.alarm({ kind: 'fall' }, START_MS);
  const appended = await world.logs.append([alarm, world.change(id, 'resolved'), other]);
  expect(appended.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  const entries = await world.logs.read(0, 10);
  expect(entries.map(({ topic }) => topic.split('/').slice(4).join('/'))).toEqual([
    'alarms/noise',
    'alarm-states/noise',
    'alarms/fall',
  ]);
  expect(appended[1]?.entry).toEqual(entries[1]);
  expect((await world.page()).alarms).toHaveLength(2);
});

it('renders a change as it was made, with the place of the alarm', async () => {
  const world = new StateWorld(place);
  const where = { roomId: newId(), groupId: newId(), customData: '{"bed":2,"late":false}' };
  const id = await world.raise(START_MS, where);
  await world.give(id, 'acknowledged', { atMs: START_MS + 7, note: 'a "note"' });
  const [, entry] = await world.logs.read(0, 10);
  expect(entry).toMatchObject({ groupId: where.groupId, locationId: world.locationId });
  expect(JSON.parse(String(entry?.payload))).toEqual({
    id,
    kind: 'fall',
    state: 'acknowledged',
    by: NURSE,
    note: 'a "note"',
    at: '2026-01-01T00:00:00.007Z',
    device: { id: world.deviceId, name: 'Bett 1' },
    location: { id: world.locationId, name: 'Haus' },
    room: { id: where.roomId, name: 'x' },
    group: { id: where.groupId, name: 'x' },
    customData: { bed: 2, late: false },
  });
});

it('agrees with a small model of the states, whatever the schedule', async () => {
  const step = fc.record({
    alarm: fc.integer({ min: 0, max: 4 }),
    state: fc.constantFrom(...GIVEN_STATES),
    note: fc.option(fc.constantFrom('one', 'two'), { nil: undefined }),
    isBatched: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const world = new StateWorld(place);
      const ids: string[] = [];
      for (let at = 0; at < 4; at++) ids.push(await world.raise(START_MS + at));
      const model = new Map<string, { state: string; note: string | undefined }>();
      let changes = 0;
      for (const [at, { alarm, state, note, isBatched }] of steps.entries()) {
        // The fifth alarm does not exist.
        const id = ids[alarm] ?? newId();
        const before = model.get(id)?.state ?? 'raised';
        const asked = { atMs: START_MS + 10 + at, ...(note === undefined ? {} : { note }) };
        let outcome: string;
        if (isBatched) {
          const item = world.change(id, state, asked);
          const [first] = await world.logs.append([item, item]);
          const { outcome: known } = world;
          outcome = first?.isNew === true ? 'changed' : 'unchanged';
          if (known !== undefined && 'refused' in known) outcome = known.refused;
        } else outcome = await world.give(id, state, asked);
        const isBackwards = before === 'resolved' && state === 'acknowledged';
        if (ids[alarm] === undefined) expect(outcome).toBe('unknown-alarm');
        else if (isBackwards) expect(outcome).toBe('alarm-resolved');
        else if (before === state) expect(outcome).toBe('unchanged');
        else {
          expect(outcome).toBe('changed');
          model.set(id, { state, note: note ?? model.get(id)?.note });
          changes++;
        }
      }
      const { alarms } = await world.page();
      const found = alarms.map(({ id, states: { state, note } }) => ({ id, state, note }));
      const none = { state: 'raised', note: undefined };
      expect(found).toEqual(ids.map((id) => ({ id, ...(model.get(id) ?? none) })));
      expect(await world.auditCount()).toBe(changes);
      expect(await world.logs.read(0, 100)).toHaveLength(ids.length + changes);
      await world.expire(START_MS + 10_000);
      expect(await world.leftKeys()).toEqual([]);
    }),
    { numRuns: 30 },
  );
});
