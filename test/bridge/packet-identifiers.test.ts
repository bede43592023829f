import type { IPublishPacket } from 'mqtt-packet';
import { expect, it, vi } from 'vitest';
import { configured, useParts } from './parts.js';

const world = useParts();

const MESSAGES = 30;

it('resends unacknowledged messages with DUP under their packet identifiers', async () => {
  // [MQTT-4.4.0-1], [MQTT-3.3.1-1]
  const publishes: IPublishPacket[][] = [];
  const upstream = await world.upstream({
    onPublish: (publish, connection) => {
      publishes[connection] = [...(publishes[connection] ?? []), publish];
      return connection === 1 ? 'nothing' : 0;
    },
  });
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url })]);
  for (const device of ['bed', 'bath', 'door']) await parts.alarm(device);
  await expect.poll(() => upstream.topics).toHaveLength(3);
  upstream.hangUp();
  await expect.poll(() => parts.status()).toMatchObject({ delivered: 3 });
  const [, first = [], second = []] = publishes;
  const told = (sent: IPublishPacket[]) => sent.map(({ topic, messageId }) => [topic, messageId]);
  expect(told(second)).toEqual(told(first));
  expect(first.map(({ dup }) => dup)).toEqual([false, false, false]);
  expect(second.map(({ dup }) => dup)).toEqual([true, true, true]);
});

it('gives no message the packet identifier of the SUBSCRIBE, which the upstream may not have answered yet', async () => {
  // [MQTT-2.3.1-2]
  const given = new Set<number>();
  const upstream = await world.upstream({
    onPublish: ({ messageId = 0 }) => {
      given.add(messageId);
      return 0;
    },
  });
  const parts = world.parts();
  // Sets where the identifiers of messages begin; those of mqtt.js begin a little higher.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5).mockReturnValueOnce(0.4999);
  await parts.bridges.apply([configured({ url: upstream.url, commands: ['#'] })]);
  await expect.poll(() => parts.status()).toMatchObject({ connected: true });
  random.mockRestore();
  for (let number = 0; number < MESSAGES; number++) await parts.alarm('bed', '{}');
  await expect.poll(() => parts.status()).toMatchObject({ delivered: MESSAGES });
  const [subscribe] = upstream.packets.filter(({ cmd }) => cmd === 'subscribe');
  expect(subscribe?.messageId).toBeGreaterThan(Math.min(...given));
  expect(subscribe?.messageId).toBeLessThan(Math.max(...given));
  expect(given).not.toContain(subscribe?.messageId);
});
