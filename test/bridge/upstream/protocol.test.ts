import { expect, it } from 'vitest';
import { configured, useParts } from '../parts.js';

const world = useParts();

const UNSUPPORTED_VERSION = 132;
const UNACCEPTABLE_VERSION = 1;

it('returns to MQTT 5 with an upstream that hung up once', async () => {
  const upstream = await world.upstream({
    onConnect: (connection) => (connection === 1 ? 'hang up' : 0),
  });
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url })]);
  await expect.poll(() => upstream.protocolVersions).toEqual([5, 4]);
  await expect.poll(() => parts.status()).toMatchObject({ connected: true });
  upstream.hangUp();
  await expect.poll(() => upstream.protocolVersions).toEqual([5, 4, 5]);
});

it.each([UNACCEPTABLE_VERSION, UNSUPPORTED_VERSION])(
  'switches immediately and permanently to 3.1.1 when an upstream answers MQTT 5 with %s',
  async (code) => {
    const upstream = await world.upstream({
      onConnect: (_connection, protocolVersion) => (protocolVersion === 5 ? code : 0),
    });
    const parts = world.parts();
    await parts.bridges.apply([configured({ url: upstream.url })]);
    await expect.poll(() => parts.status()).toMatchObject({ connected: true, lastError: null });
    expect(parts.lines.join('')).toContain('retrying with 3.1.1');
    upstream.hangUp();
    await expect.poll(() => upstream.protocolVersions).toEqual([5, 4, 4]);
  },
);

it('retries with a backoff when an upstream accepts no version', async () => {
  const upstream = await world.upstream({ onConnect: () => UNACCEPTABLE_VERSION });
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url })]);
  await expect
    .poll(() => parts.status())
    .toMatchObject({ connected: false, lastError: { kind: 'protocol' } });
  expect(upstream.protocolVersions).toEqual([5, 4]);
});
