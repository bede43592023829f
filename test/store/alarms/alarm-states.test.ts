import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { NewStateChange, StateOutcome } from '../../../src/delivery/log/log-item.js';
import { GIVEN_STATES, type GivenState } from '../../../src/domain/alarm-states.js';
import { newId } from '../../../src/domain/notation.js';
import { AlarmFinderRedis } from '../../../src/store/alarms/alarm-finder-redis.js';
import { AlarmRetention } from '../../../src/store/alarms/alarm-retention.js';
import { Store } from '../../../src/store/store.js';
import { useRedis } from '../../harness/servers/shared-redis.js';
import { AlarmWorld, type Where } from './alarm-world.js';

const place = useRedis();
const START_MS = Date.UTC(2026, 0, 1);
const NURSE = { id: newId(), name: 'Night "nurse" / Öst' };

interface Asked {
  readonly deviceId?: string;
  readonly locationId?: string;
  readonly atMs?: number;
  readonly note?: string;
  readonly groupIds?: readonly string[];
}

class StateWorld extends AlarmWorld {
  outcome: StateOutcome | undefined;

  change(alarmId: string, state: GivenState, asked: Asked = {}): NewStateChange {
    const { locationId = this.locationId, deviceId = this.deviceId, atMs = START_MS } = asked;
    const actor = { type: 'access-token', id: NURSE.id, address: null, requestId: null } as const;
    const { note, groupIds } = asked;
    return {
      topic: '',
      payload: Buffer.alloc(0),
      receivedAtMs: atMs,
      locationId,
      groupId: null,
      stateChange: {
        locationId,
        deviceId,
        alarmId,
        state,
        note,
        by: NURSE,
        atMs,
        groupIds,
        actor,
      },
      onOutcome: (outcome) => {
        this.outcome = outcome;
      },
    };
  }

  /** The outcome as one word; `changed` if an entry was appended. */
  async give(alarmId: string, state: GivenState, asked: Asked = {}): Promise<string> {
    const [appended] = await this.logs.append([this.change(alarmId, state, asked)]);
    if (this.outcome !== undefined && 'refused' in this.outcome) return this.outcome.refused;
    return appended?.isNew === true ? 'changed' : 'unchanged';
  }

  async raise(atMs: number, where: Where = {}): Promise<string> {
    const id = newId();
    await this.record({ kind: 'fall', id }, atMs, where);
    return id;
  }

  async auditCount(): Promise<number> {
    return this.redis.xlen(this.keys.auditChanges);
  }

  expire(nowMs: number, queuedFrom = Number.POSITIVE_INFINITY): Promise<number> {
    const { redis, keys } = this;
    const options = { store: new Store(redis), keys, maxAgeMs: 100, now: () => nowMs };
    const retention = new AlarmRetention({
      ...options,
      queuedFrom: () => Promise.resolve(queuedFrom),
    });
    return retention.removeOld(new AbortController().signal);
  }

  async counter(): Promise<number> {
    return Number(await this.redis.get(this.keys.logSequence('alarms')));
  }

  /** The keys left over from history and states. */
  async leftKeys(): Promise<string[]> {
    return (await this.historyKeys()).filter((key) => key !== 'audit:changes');
  }
}

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
  const finder = new AlarmFinderRedis(new Store(world.redis), world.keys);
  const ofOne = await world.raise(START_MS, { deviceId: one });
  const ofTwo = await world.raise(START_MS, { deviceId: two });
  expect(await finder.deviceOf(world.locationId, ofOne)).toBe(one);
  expect(await finder.deviceOf(world.locationId, ofTwo)).toBe(two);
  expect(await finder.deviceOf(newId(), ofOne)).toBeUndefined();
  expect(await finder.deviceOf(world.locationId, newId())).toBeUndefined();
});

it('finds the newest alarm when devices use the same id, and changes only that of the given device', async () => {
  const world = new StateWorld(place);
  const [one, two] = [newId(), newId()];
  const finder = new AlarmFinderRedis(new Store(world.redis), world.keys);
  const id = newId();
  await world.record({ kind: 'fall', id }, START_MS, { deviceId: two });
  await world.record({ kind: 'fall', id }, START_MS, { deviceId: one });
  expect(await finder.deviceOf(world.locationId, id)).toBe(one);
  expect(await world.give(id, 'resolved', { deviceId: one })).toBe('changed');
  expect(await world.give(id, 'acknowledged', { deviceId: two })).toBe('changed');
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
