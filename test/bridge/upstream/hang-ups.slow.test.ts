import { it } from 'vitest';
import { faultTexts } from '../../harness/described/fault-texts.js';
import { configured, type Parts, useParts } from '../parts.js';

// The tests run concurrently, because they mostly wait for backoffs.
const world = useParts();

/** Limits reached within seconds; the backoff between attempts is unchanged. */
const SOON = { minHangUps: 3, minDurationMs: 500, maxHoldMs: 200 };
const OLDER = { protocol: '3.1.1' } as const;

const isPoison = (topic: string) => topic.includes('/poison');

/** Collects each fault that was shown. */
function faultsOf(parts: Parts): Set<string> {
  const faults = new Set<string>();
  parts.health.on('changed', () => {
    for (const fault of faultTexts(parts.health.faults())) faults.add(fault);
  });
  return faults;
}

it.for(['3.1.1', 5] as const)(
  'makes a dead letter of a message at which the upstream hangs up (MQTT %s), and delivers the rest',
  { concurrent: true },
  async (protocol, { expect }) => {
    const upstream = await world.upstream({
      onPublish: ({ topic }) => (isPoison(topic) ? 'hang up' : 0),
    });
    const parts = world.parts({ hangUpLimits: SOON });
    const faults = faultsOf(parts);
    await parts.bridges.apply([configured({ url: upstream.url, protocol })]);
    await parts.alarm('bed-0');
    await parts.alarm('poison', '{"id":"the-alarm"}');
    for (let bed = 1; bed < 30; bed++) await parts.alarm(`bed-${bed}`);
    await expect
      .poll(() => parts.status())
      .toMatchObject({ queued: 0, delivered: 30, dropped: { refused: 1 }, connected: true });
    expect(parts.deadLetters).toMatchObject([
      {
        topic: 'care-homes/home/devices/poison/alarms/fall',
        reason: 'Connection closed each time',
      },
    ]);
    expect(upstream.topics.filter(isPoison).length).toBeGreaterThan(SOON.minHangUps);
    expect([...faults]).toContain(
      'A bridge cannot deliver a message: the upstream refuses it, or closes the connection at it: bridge region',
    );
    expect(faultTexts(parts.health.faults())).toEqual([]);
    const told = parts.lines.filter((line) => line.includes('at a message'));
    expect(told.map((line) => JSON.parse(line))).toMatchObject([
      { topic: 'care-homes/home/devices/poison/alarms/fall', alarm: 'the-alarm' },
    ]);
  },
);

it.concurrent('makes dead letters of several messages in a row, and of no others', async ({
  expect,
}) => {
  const upstream = await world.upstream({
    onPublish: ({ topic }) => (isPoison(topic) ? 'hang up' : 0),
  });
  const parts = world.parts({ hangUpLimits: SOON });
  await parts.bridges.apply([configured({ url: upstream.url, ...OLDER })]);
  for (const device of ['poison-1', 'poison-2', 'bed-1', 'bed-2', 'bed-3']) {
    await parts.alarm(device);
  }
  await expect
    .poll(() => parts.status())
    .toMatchObject({ queued: 0, delivered: 3, dropped: { refused: 2 } });
  expect(parts.deadLetters.map(({ topic }) => topic)).toEqual([
    expect.stringContaining('poison-1'),
    expect.stringContaining('poison-2'),
  ]);
});

it.concurrent('makes no dead letter when the upstream hangs up at every message, and later delivers in order', async ({
  expect,
}) => {
  let isBroken = true;
  const taken: string[] = [];
  const upstream = await world.upstream({
    onPublish: ({ topic }, connection) => {
      const [, , , device = ''] = topic.split('/');
      if (!isBroken) taken.push(device);
      else {
        // From the second connection on, messages come one at a time: others instead of the first.
        if (connection > 1 && device === 'bed-2') isBroken = false;
        return 'hang up';
      }
      return 0;
    },
  });
  const parts = world.parts({ hangUpLimits: SOON });
  await parts.bridges.apply([configured({ url: upstream.url, ...OLDER })]);
  const beds = Array.from({ length: 20 }, (_, bed) => `bed-${bed}`);
  for (const bed of beds) await parts.alarm(bed);
  await expect.poll(() => parts.status()).toMatchObject({ queued: 0, delivered: 20 });
  expect(taken).toEqual(beds);
  expect(parts.deadLetters).toEqual([]);
  expect((await parts.status()).dropped).toEqual({ refused: 0, tooMany: 0, tooOld: 0, lost: 0 });
  expect(faultTexts(parts.health.faults())).toEqual([]);
  expect(upstream.protocolVersions.length).toBeGreaterThan(SOON.minHangUps + 3);
});

it.concurrent('does not hold up new messages for a suspect at the end of the queue', async ({
  expect,
}) => {
  const upstream = await world.upstream({
    onPublish: ({ topic }) => (isPoison(topic) ? 'hang up' : 0),
  });
  const parts = world.parts({ hangUpLimits: SOON });
  await parts.bridges.apply([configured({ url: upstream.url, ...OLDER })]);
  await parts.alarm('poison');
  await expect.poll(() => upstream.topics.length).toBeGreaterThan(SOON.minHangUps + 1);
  expect(await parts.status()).toMatchObject({ queued: 1, dropped: { refused: 0 } });
  await parts.alarm('bed');
  await expect
    .poll(() => parts.status())
    .toMatchObject({ queued: 0, delivered: 1, dropped: { refused: 1 } });
});

it.concurrent('keeps the message queued until the dead letter is stored', async ({ expect }) => {
  let isAway = true;
  let attempts = 0;
  const upstream = await world.upstream({
    onPublish: ({ topic }) => (isPoison(topic) ? 'hang up' : 0),
  });
  const parts = world.parts({
    hangUpLimits: SOON,
    deadLetters: {
      add: () => {
        attempts++;
        return isAway ? Promise.reject(new Error('the store is away')) : Promise.resolve();
      },
    },
  });
  await parts.bridges.apply([configured({ url: upstream.url, ...OLDER })]);
  await parts.alarm('poison');
  await parts.alarm('bed');
  await expect.poll(() => attempts).toBeGreaterThan(1);
  expect(await parts.status()).toMatchObject({ dropped: { refused: 0 } });
  expect((await parts.status()).queued).toBeGreaterThan(0);
  isAway = false;
  await expect
    .poll(() => parts.status())
    .toMatchObject({ queued: 0, delivered: 1, dropped: { refused: 1 } });
});

it.concurrent('delivers a message that the upstream accepts after many hang-ups', async ({
  expect,
}) => {
  let hangUps = 0;
  const upstream = await world.upstream({
    onPublish: ({ topic }) => (isPoison(topic) && hangUps++ < 4 ? 'hang up' : 0),
  });
  const parts = world.parts({ hangUpLimits: { ...SOON, minHangUps: 100 } });
  await parts.bridges.apply([configured({ url: upstream.url, ...OLDER })]);
  await parts.alarm('poison');
  for (let bed = 0; bed < 5; bed++) await parts.alarm(`bed-${bed}`);
  await expect
    .poll(() => parts.status())
    .toMatchObject({ queued: 0, delivered: 6, dropped: { refused: 0 } });
  expect(faultTexts(parts.health.faults())).toEqual([]);
});
