import type { IPublishPacket } from 'mqtt-packet';
import { expect, it } from 'vitest';
import { configured, useParts } from './parts.js';

const world = useParts();

const COMMAND: IPublishPacket = {
  cmd: 'publish',
  qos: 1,
  messageId: 9,
  retain: false,
  dup: false,
  payload: 'open',
  topic: 'devices/6f1b1c1e-1111-4111-8111-111111111111/commands/door',
};

it('a removed bridge closes its connection and accepts no more commands, even with acknowledgements outstanding', async () => {
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

it('a removed bridge counts what is acknowledged as it ends, and then disconnects', async () => {
  const sent: number[] = [];
  const upstream = await world.upstream({
    onPublish: ({ messageId = 0 }) => {
      sent.push(messageId);
      return 'nothing';
    },
  });
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url })]);
  await parts.alarm('bed');
  await parts.alarm('bath');
  await expect.poll(() => sent).toHaveLength(2);
  const removal = parts.bridges.apply([]);
  for (const messageId of sent) upstream.send({ cmd: 'puback', messageId, reasonCode: 0 });
  await removal;
  expect(upstream.packets.map(({ cmd }) => cmd)).toEqual(['disconnect']);
  expect(await parts.status()).toMatchObject({ url: null, queued: 0, delivered: 2 });
});
