import type { IPublishPacket } from 'mqtt-packet';
import { expect, it } from 'vitest';
import { configured, useParts } from './parts.js';

const world = useParts();

const COMMAND: IPublishPacket = {
  ...{ cmd: 'publish', qos: 1, messageId: 9, retain: false, dup: false, payload: 'open' },
  topic: 'devices/6f1b1c1e-1111-4111-8111-111111111111/commands/door',
};

it('a removed bridge closes its connection and takes no more commands, also while acknowledgements are missing', async () => {
  const upstream = await world.upstream({ onPublish: () => 'nothing' });
  const commands: string[] = [];
  const parts = world.parts({
    accept: ({ rest }) => {
      commands.push(rest);
      return Promise.resolve();
    },
  });
  await parts.bridges.apply([configured({ url: upstream.url, commands: ['#'] })]);
  await expect.poll(() => upstream.packets.map(({ cmd }) => cmd)).toContain('subscribe');
  await parts.alarm('bed');
  await expect.poll(() => upstream.topics).toHaveLength(1);
  upstream.send(COMMAND);
  await expect.poll(() => commands).toEqual(['door']);
  const removal = parts.bridges.apply([]);
  upstream.send({ ...COMMAND, messageId: 10 });
  await removal;
  await expect.poll(() => upstream.connections).toBe(0);
  expect(commands).toEqual(['door']);
  expect(upstream.packets.filter(({ cmd }) => cmd === 'puback')).toHaveLength(1);
});
