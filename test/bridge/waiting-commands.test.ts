import type { IPublishPacket } from 'mqtt-packet';
import { expect, it } from 'vitest';
import type { BridgeOptions } from '../../src/domain/bridge-schema.js';
import { configured, useParts } from './parts.js';

const world = useParts();

function command(rest: string, messageId: number): IPublishPacket {
  const topic = `devices/6f1b1c1e-1111-4111-8111-111111111111/commands/${rest}`;
  return { cmd: 'publish', topic, payload: 'open', qos: 1, messageId, retain: false, dup: false };
}

async function commanded(keys: Partial<BridgeOptions> = {}) {
  const upstream = await world.upstream();
  const accepted: string[] = [];
  let store: () => void = () => undefined;
  const stored = new Promise<void>((resolve) => {
    store = resolve;
  });
  const parts = world.parts({
    accept: ({ rest }) => {
      accepted.push(rest);
      return stored;
    },
  });
  await parts.bridges.apply([configured({ url: upstream.url, commands: ['#'], ...keys })]);
  await expect
    .poll(() => upstream.packets.filter(({ cmd }) => cmd === 'subscribe'))
    .toHaveLength(1);
  const acknowledged = () =>
    upstream.packets.flatMap((packet) => (packet.cmd === 'puback' ? [packet.messageId] : []));
  return { upstream, parts, accepted, store, acknowledged };
}

it('processes acknowledgements while a command waits for the store', async () => {
  const { upstream, parts, accepted, store, acknowledged } = await commanded();
  upstream.send(command('first', 1));
  upstream.send(command('second', 2));
  await expect.poll(() => accepted).toEqual(['first', 'second']);
  await parts.alarm('bed');
  await expect.poll(() => parts.status()).toMatchObject({ delivered: 1, connected: true });
  expect(acknowledged()).toEqual([]);
  store();
  await expect.poll(acknowledged).toEqual([1, 2]);
});

it('ignores a message that no configured filter matches', async () => {
  const { upstream, accepted, acknowledged, store } = await commanded({
    commands: ['$share/site/+/+/commands/a/#'],
  });
  store();
  upstream.send(command('b', 1));
  upstream.send(command('a/1', 2));
  await expect.poll(acknowledged).toEqual([1, 2]);
  expect(accepted).toEqual(['a/1']);
});

// With MQTT 5 the limit is in CONNECT, so the upstream does not send such a command.
it('drops a command that exceeds the packet limit with 3.1.1', async () => {
  const { upstream, accepted, acknowledged, store, parts } = await commanded({
    protocol: '3.1.1',
  });
  store();
  upstream.send({ ...command('large', 1), payload: 'x'.repeat(10_000) });
  upstream.send(command('small', 2));
  await expect.poll(acknowledged).toEqual([1, 2]);
  expect(accepted).toEqual(['small']);
  expect(parts.lines.join('')).toContain('too large');
});
