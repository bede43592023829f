import { expect, it, onTestFinished } from 'vitest';
import { useRedis } from '../harness/shared-redis.js';
import { AuditWorld, entries, query } from './audit-world.js';

const place = useRedis();

/** A world that counts how many records are parsed in each turn of the event loop. */
async function counting(count: number) {
  const world = new AuditWorld(place.socketPath, { segmentBytes: 10_000_000 });
  for (let at = 0; at < count; at += 1_000) await world.trail.record(entries(1_000, at));
  await world.move();
  const { parse } = JSON;
  onTestFinished(() => {
    JSON.parse = parse;
  });
  const parsedInTurns = [0];
  JSON.parse = (text: string) => {
    if (parsedInTurns[0] === 0) setImmediate(() => parsedInTurns.unshift(0));
    parsedInTurns[0] = (parsedInTurns[0] ?? 0) + 1;
    return parse(text);
  };
  return { world, parsedInTurns };
}

it('parses the records of a page and no others, wherever it is in a file', async () => {
  const { world, parsedInTurns } = await counting(5_000);
  for (const order of ['asc', 'desc'] as const) {
    for (const atMs of [0, 2_500, 4_999]) {
      parsedInTurns.splice(0, parsedInTurns.length, 0);
      const position = { atMs, sequence: atMs + 1 };
      await world.trail.page(query({ order, limit: 10, upToSequence: 5_000, position }));
      expect(parsedInTurns.reduce((one, other) => one + other)).toBeLessThanOrEqual(11);
    }
  }
});

it('yields the event loop while a filter leaves out thousands of records of a file', async () => {
  const { world, parsedInTurns } = await counting(5_000);
  const { records } = await world.trail.page(query({ actions: ['room.moved'] }));
  expect(records).toEqual([]);
  expect(parsedInTurns.reduce((one, other) => one + other)).toBe(5_000);
  expect(Math.max(...parsedInTurns)).toBeLessThan(500);
});
