import { expect, it } from 'vitest';
import { configured, useParts } from '../parts.js';
import type { Answer } from './scripted-upstream.js';

const world = useParts();

const ALARMS = 30;
const isPoison = (topic: string) => topic.includes('/poison/');

it.each<[string, Answer, number]>([
  ['answers with an unspecified error', 128, 1],
  ['answers with a reason that is not meant for a message', 151, 1],
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
