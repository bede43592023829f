import { expect, it } from 'vitest';
import { newId } from '../../../src/domain/notation.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { AlarmWorld } from './alarm-world.js';

const place = useRedis();
const START_MS = Date.UTC(2026, 0, 1);

function fall(atMs: number) {
  return { kind: 'fall', id: newId(), detectedAt: new Date(START_MS + atMs).toISOString() };
}

it('keeps room, group and custom data as they were when the alarm was received', async () => {
  const world = new AlarmWorld(place);
  const { deviceId, locationId } = world;
  const video = `devices/${deviceId}/a/1.mp4`;
  const audio = `${deviceId}/devices/1.ogg`;
  const [roomId, groupId] = [newId(), newId()];
  const sent = { ...fall(0), footage: { video, audio }, zone: 'Bad ü' };
  await world.record(sent, START_MS + 5, { roomId, groupId, customData: '{"ref":1.10}' });
  await world.record(fall(1), START_MS + 6, { customData: '{"ref":2}' });
  const { alarms } = await world.page();
  expect(alarms).toMatchObject([
    {
      id: sent.id,
      kind: 'fall',
      detectedAtMs: START_MS,
      receivedAtMs: START_MS + 5,
      device: { id: deviceId, name: 'Bett 1' },
      location: { id: locationId, name: 'Haus' },
      room: { id: roomId, name: 'x' },
      group: { id: groupId, name: 'x' },
      customData: '{"ref":1.10}',
      data: '{"zone":"Bad ü"}',
      footage: { video, audio },
    },
    { room: null, group: null, customData: '{"ref":2}', footage: {}, data: undefined },
  ]);
});

it('records an alarm id once per device while its record is kept', async () => {
  const world = new AlarmWorld(place);
  const sent = fall(0);
  expect((await world.record(sent, START_MS)).isNew).toBe(true);
  // Sent again much later from another room.
  expect((await world.record(sent, START_MS + 1e9, { roomId: newId() })).isNew).toBe(false);
  const changed = { ...sent, id: sent.id.toUpperCase(), kind: 'noise' };
  expect((await world.record(changed, START_MS + 2)).isNew).toBe(false);
  expect((await world.record(sent, START_MS, { deviceId: newId() })).isNew).toBe(true);
  expect((await world.page()).alarms).toHaveLength(2);
});

it('reads the records of a page with one script, however many groups and kinds it merges', async () => {
  const world = new AlarmWorld(place);
  for (let number = 0; number < 60; number++) {
    const groupId = newId();
    await world.record(fall(number), START_MS + number, { roomId: newId(), groupId });
  }
  const reading = async () => {
    const { alarms, next } = await world.page({ limit: 59 });
    expect(alarms.map(({ detectedAtMs }) => detectedAtMs - START_MS)).toEqual([
      ...Array(59).keys(),
    ]);
    expect(next).toEqual({ detectedAtMs: START_MS + 58, sequence: 59 });
  };
  expect(await world.scriptsDuring(reading)).toBe(1);
});

it('keeps pages full and scripts short when thousands of alarms arrived after the first page', async () => {
  const world = new AlarmWorld(place);
  for (const atMs of [0, 1, 10_000, 10_001]) await world.record(fall(atMs), START_MS + atMs);
  const first = await world.page({ limit: 1 });
  const late = Array.from({ length: 2_500 }, (_, number) => fall(2 + number));
  await Promise.all(late.map((sent, number) => world.record(sent, START_MS + number)));

  const { next: position, upToSequence } = first;
  const rest = async () => {
    const { alarms, next } = await world.page({ limit: 2, position, upToSequence });
    expect(alarms.map(({ detectedAtMs }) => detectedAtMs - START_MS)).toEqual([1, 10_000]);
    const last = await world.page({ limit: 2, position: next, upToSequence });
    expect(last.alarms.map(({ detectedAtMs }) => detectedAtMs - START_MS)).toEqual([10_001]);
    expect(last.next).toBeUndefined();
  };
  // A thousand per script, without reading later alarms; the last script reads the page's own.
  expect(await world.scriptsDuring(rest)).toBe(3);

  const full = await world.page({ limit: 2, order: 'desc', upToSequence });
  const { next, alarms } = await world.page({
    ...full,
    limit: 2,
    order: 'desc',
    position: full.next,
  });
  expect(alarms.map(({ detectedAtMs }) => detectedAtMs - START_MS)).toEqual([1, 0]);
  expect(next).toBeUndefined();
});

it('scans past alarms for one page at a time, and stops when nobody waits for the page', async () => {
  const world = new AlarmWorld(place);
  const { redis } = world;
  const sent = Array.from({ length: 2_500 }, (_, at) => world.alarm(fall(at), START_MS + at));
  await world.logs.append(sent);
  const send = redis.sendCommand.bind(redis);
  let [underWay, most, left] = [0, 0, 20];
  redis.sendCommand = (command, stream) => {
    most = Math.max(most, ++underWay);
    const ended = () => underWay--;
    command.promise.then(ended, ended);
    return send(command, stream);
  };
  // All have had their first thousand by the time the last page asks.
  const isAwaited = () => {
    if (--left === 0) most = underWay;
    return true;
  };
  const pages = Array.from({ length: left }, () => world.page({ states: ['resolved'], isAwaited }));
  for (const { alarms, next } of await Promise.all(pages))
    expect([alarms, next]).toEqual([[], undefined]);
  expect(most).toBe(1);
  const unwanted = () => world.page({ states: ['resolved'], isAwaited: () => false });
  expect(await world.scriptsDuring(unwanted)).toBe(1);
});
