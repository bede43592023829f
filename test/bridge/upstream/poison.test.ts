import { describe, expect, it } from 'vitest';
import { faultTexts } from '../../harness/described/fault-texts.js';
import { configured, type Parts, useParts } from '../parts.js';
import type { Answer } from './scripted-upstream.js';

const world = useParts();

const ALARMS = 30;
const isPoison = (topic: string) => topic.includes('/poison/');

it.each<[string, Answer, number]>([
  ['does not authorise', 135, 1],
  ['answers with an invalid topic', 144, 1],
  ['answers with an invalid payload', 153, 1],
  ['ends the connection for', { disconnect: 149 }, 3],
])(
  'one message that the upstream %s becomes a dead letter, and the rest is delivered',
  async (_way, answer, connections) => {
    let isAnswered = false;
    const upstream = await world.upstream({
      onPublish: ({ topic }) => {
        if (!isPoison(topic)) return isAnswered ? 'nothing' : 0;
        isAnswered = typeof answer === 'object';
        return answer;
      },
      onConnect: () => {
        isAnswered = false;
        return 0;
      },
    });
    const parts = world.parts();
    await parts.bridges.apply([configured({ url: upstream.url })]);
    await parts.alarm('bed-0');
    await parts.alarm('poison');
    for (let bed = 1; bed < ALARMS; bed++) await parts.alarm(`bed-${bed}`);
    await expect
      .poll(() => parts.status())
      .toMatchObject({
        queued: 0,
        delivered: ALARMS,
        connected: true,
        dropped: { refused: 1, tooMany: 0, tooOld: 0, lost: 0 },
      });
    expect(parts.deadLetters.map(({ topic }) => isPoison(topic))).toEqual([true]);
    expect(upstream.topics.filter(isPoison).length).toBeLessThanOrEqual(connections);
    expect(upstream.protocolVersions).toHaveLength(connections);
  },
);

it('an upstream that ends each connection for another reason eventually gets everything', async () => {
  const upstream = await world.upstream({
    onPublish: (_publish, connection) => (connection <= 4 ? { disconnect: 139 } : 0),
  });
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url })]);
  for (let bed = 0; bed < ALARMS; bed++) await parts.alarm(`bed-${bed}`);
  await expect
    .poll(() => parts.status())
    .toMatchObject({ delivered: ALARMS, dropped: { refused: 0 } });
});

describe('a passing refusal', () => {
  const refusing = async (parts: Parts) => {
    const { state, lastError } = (await parts.status()) ?? {};
    return { state, lastError, faults: faultTexts(parts.health.faults()) };
  };
  const REFUSES = 'The upstream of a bridge refuses alarms: bridge region';

  it.each([
    [128, 'Unspecified error'],
    [131, 'Implementation specific error'],
    [151, 'Quota exceeded'],
  ])(
    'with reason code %i is retried in order, is a fault meanwhile, and loses nothing',
    async (code, detail) => {
      let left = 3;
      const upstream = await world.upstream({ onPublish: () => (left > 0 ? code : 0) });
      const parts = world.parts();
      await parts.bridges.apply([configured({ url: upstream.url })]);
      const beds = ['bed-1', 'bed-2', 'bed-3'];
      for (const bed of beds) await parts.alarm(bed);
      await expect
        .poll(() => refusing(parts))
        .toMatchObject({
          state: 'refusing',
          lastError: { kind: 'refused', detail },
          faults: expect.arrayContaining([REFUSES]),
        });
      left = 0;
      await expect.poll(() => parts.status()).toMatchObject({ delivered: 3, state: 'delivering' });
      expect(parts.deadLetters).toEqual([]);
      expect(faultTexts(parts.health.faults())).toEqual([]);
      expect(upstream.topics.slice(-3).map((topic) => topic.split('/')[3])).toEqual(beds);
    },
  );

  it('of one message alone does not stop the others for ever', async () => {
    const upstream = await world.upstream({
      onPublish: ({ topic }) => (isPoison(topic) ? 128 : 0),
    });
    const parts = world.parts({ hangUpLimits: { minHangUps: 3, minDurationMs: 0, maxHoldMs: 50 } });
    await parts.bridges.apply([configured({ url: upstream.url })]);
    await parts.alarm('poison');
    await parts.alarm('bed-1');
    await parts.alarm('bed-2');
    await expect.poll(() => parts.status()).toMatchObject({ queued: 0, delivered: 2 });
    expect(parts.deadLetters.map(({ topic }) => isPoison(topic))).toEqual([true]);
  });
});

it('a refusal for good is a fault until the upstream takes an alarm', async () => {
  let code = 135;
  const upstream = await world.upstream({ onPublish: () => code });
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url })]);
  await parts.alarm('bed');
  await expect
    .poll(() => parts.status())
    .toMatchObject({ state: 'refusing', connected: true, lastError: { detail: 'Not authorized' } });
  expect(parts.health.faults().map((one) => one.code)).toEqual(['bridge-refused']);
  expect(parts.deadLetters).toHaveLength(1);
  code = 0;
  await parts.alarm('bed');
  await expect.poll(() => parts.status()).toMatchObject({ state: 'delivering', delivered: 1 });
  expect(parts.health.faults()).toEqual([]);
});
