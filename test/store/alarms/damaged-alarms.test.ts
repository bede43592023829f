import { expect, it } from 'vitest';
import { newId } from '../../../src/domain/notation.js';
import { AlarmRetention } from '../../../src/store/alarms/alarm-retention.js';
import { Store } from '../../../src/store/store.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { AlarmWorld } from './alarm-world.js';

const place = useRedis();
const START_MS = Date.UTC(2026, 0, 1);

/** Six alarms; the second, third and fifth happened in a different room from the others. */
async function world() {
  const made = new AlarmWorld(place);
  const rooms = [newId(), newId()];
  const alarms = [0, 1, 1, 0, 1, 0].map((room, at) => {
    const sent = { kind: 'fall', id: newId(), detectedAt: new Date(START_MS + at).toISOString() };
    return made.alarm(sent, START_MS + at, { roomId: rooms[room] ?? null });
  });
  await made.logs.append(alarms);
  return { made, ids: alarms.map(({ alarm }) => alarm.id) };
}

/** Replaces the fields of one record. */
async function rewrite(
  { redis, keys }: AlarmWorld,
  sequence: number,
  instead: readonly (string | number)[],
): Promise<void> {
  const rows = await redis.xrangeBuffer(keys.history, '-', '+');
  await redis.del(keys.history);
  for (const [id, fields] of rows) {
    const isMeant = id.toString() === `${sequence}-0`;
    await redis.xadd(keys.history, id, ...(isMeant ? instead : fields));
  }
}

/** Replaces the value of one field of a record. */
async function rewriteField(made: AlarmWorld, sequence: number, name: string, value: string) {
  const { redis, keys } = made;
  const [row] = await redis.xrange(keys.history, `${sequence}-0`, `${sequence}-0`);
  const fields = [...(row?.[1] ?? [])];
  fields[fields.indexOf(name) + 1] = value;
  await rewrite(made, sequence, fields);
}

/** All except the third. */
const OTHERS = [1, 2, 4, 5, 6];

const DAMAGES: readonly [string, (made: AlarmWorld) => Promise<unknown>, readonly number[]][] = [
  ['a place is missing', (made) => rewriteField(made, 3, 'c', ''), OTHERS],
  ['a place is not JSON', (made) => rewriteField(made, 3, 'c', '{'), OTHERS],
  ['a record has other fields', (made) => rewrite(made, 3, ['r', START_MS, 'c', '']), OTHERS],
  ['a record has no id', (made) => rewriteField(made, 3, 'i', ''), OTHERS],
  ['a record is missing', ({ redis, keys }) => redis.xdel(keys.history, '4-0'), [1, 2, 3, 5, 6]],
];

it.each(DAMAGES)('shows and reads all others when %s', async (_, damage, left) => {
  const { made, ids } = await world();
  await damage(made);
  const expected = left.map((sequence) => ids[sequence - 1]);
  for (const order of ['asc', 'desc'] as const) {
    const found: string[] = [];
    for (let position = undefined, upToSequence = undefined, more = true; more; ) {
      const page = await made.page({ order, limit: 2, position, upToSequence });
      found.push(...page.alarms.map(({ id }) => id));
      ({ next: position, upToSequence } = page);
      more = page.next !== undefined;
    }
    expect(found).toEqual(order === 'asc' ? expected : expected.toReversed());
  }
  const sequencesOf = async (after: number, count: number) =>
    (await made.logs.read(after, count)).map(({ sequence }) => sequence);
  expect(await sequencesOf(0, 100)).toEqual(left);
  // A page is full unless it is the last.
  expect(await sequencesOf(0, 3)).toEqual(left.slice(0, 3));
  expect(await made.logs.pick([1, 2, 3, 4, 5, 6])).toHaveLength(left.length);
});

it.each(DAMAGES)('removes expired alarms when %s', async (_, damage) => {
  const { made } = await world();
  await damage(made);
  const { redis, keys } = made;
  const now = () => START_MS + 10;
  const retention = new AlarmRetention({
    store: new Store(redis),
    keys,
    maxAgeMs: 0,
    now,
    queuedFrom: () => Promise.resolve(Number.POSITIVE_INFINITY),
  });
  await retention.removeOld(new AbortController().signal);
  expect(await redis.xlen(keys.history)).toBe(0);
  expect((await made.page()).alarms).toEqual([]);
  await made.record({ kind: 'fall' }, START_MS + 20);
  expect((await made.page()).alarms).toHaveLength(1);
});
