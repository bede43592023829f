import type { IPublishPacket } from 'mqtt-packet';
import { expect, it } from 'vitest';
import { configured, useParts } from './parts.js';

const world = useParts();

const IDENTIFIERS = 65_535;

it('sends unacknowledged messages again with DUP under their packet identifiers', async () => {
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
  await expect.poll(() => parts.status(), { timeout: 5_000 }).toMatchObject({ delivered: 3 });
  const [, first = [], second = []] = publishes;
  const told = (sent: IPublishPacket[]) => sent.map(({ topic, messageId }) => [topic, messageId]);
  expect(told(second)).toEqual(told(first));
  expect(first.map(({ dup }) => dup)).toEqual([false, false, false]);
  expect(second.map(({ dup }) => dup)).toEqual([true, true, true]);
});

it('gives no message the packet identifier of the SUBSCRIBE, which the upstream may not have answered', async () => {
  // [MQTT-2.3.1-2]
  const given = new Set<number>();
  const upstream = await world.upstream({
    onPublish: ({ messageId = 0 }) => {
      given.add(messageId);
      return 0;
    },
  });
  const parts = world.parts();
  await parts.bridges.apply([
    configured({ url: upstream.url, commands: ['#'], maxInFlight: 1_000 }),
  ]);
  await expect.poll(() => parts.status()).toMatchObject({ connected: true });
  for (let number = 0; number < IDENTIFIERS; number++) await parts.alarm('bed', '{}');
  await expect
    .poll(() => parts.status(), { timeout: 20_000 })
    .toMatchObject({ delivered: IDENTIFIERS });
  const [subscribe] = upstream.packets.filter(({ cmd }) => cmd === 'subscribe');
  expect(given).not.toContain(subscribe?.messageId);
  expect(given.size).toBe(IDENTIFIERS - 1);
}, 30_000);
