import { expect, it } from 'vitest';
import { Bridges } from '../../src/bridge/bridges.js';
import { PERSISTENT } from '../../src/delivery/sessions/session.js';
import { GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { configured, useParts } from './parts.js';

const world = useParts();

it('bridges only queue until they are allowed to connect, and lose nothing', async () => {
  const upstream = await world.upstream();
  const parts = world.parts();
  const bridges = new Bridges(parts.services);
  await bridges.apply([configured({ url: upstream.url })]);
  await parts.alarm('bed');
  // A bridge that connected immediately would have done so before this later one.
  await parts.bridges.apply([configured({ name: 'other', url: upstream.url })]);
  await expect.poll(() => parts.status()).toMatchObject({ connected: true });
  expect(upstream.protocolVersions).toHaveLength(1);
  bridges.connect();
  await expect.poll(() => bridges.statuses()).toMatchObject([{ delivered: 1 }]);
  await bridges.stop();
});

it('a failed change does not prevent the next', async () => {
  let isBroken = true;
  const parts = world.parts({
    store: {
      save: () => {
        if (isBroken) throw new Error('broken');
        return Promise.resolve();
      },
    },
  });
  await expect(parts.bridges.apply([configured()])).rejects.toThrow('broken');
  isBroken = false;
  await parts.bridges.apply([configured({ name: 'next' })]);
  expect(parts.bridges.has('next')).toBe(true);
});

it('the queue is independent of a client’s session with its id', async () => {
  const parts = world.parts();
  const owner = { key: 'token:other', mayReceive: () => false, audienceKey: '' };
  const session = parts.sessions.open('bridge/region', owner, PERSISTENT);
  await parts.bridges.apply([configured()]);
  await parts.alarm('bed');
  expect(await parts.status()).toMatchObject({ queued: 1 });
  expect(parts.sessions.get(session.key)).toBe(session);
});

it('logs bridges that are added, changed, missing and deleted, with the number of discarded messages', async () => {
  const parts = world.parts();
  await parts.bridges.apply([configured()]);
  await parts.bridges.apply([configured({ qos: 2 })]);
  for (let bed = 0; bed < 3; bed++) await parts.alarm(`bed-${bed}`);
  await parts.bridges.apply([]);
  expect(await parts.status()).toMatchObject({ url: null, queued: 3 });
  await parts.bridges.delete(GATEWAY_ACTOR, 'region');
  const lines = parts.lines.map((line) => JSON.parse(line));
  expect(lines).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({ bridge: 'region', msg: 'bridge added' }),
      expect.objectContaining({ bridge: 'region', msg: 'bridge changed' }),
      expect.objectContaining({ msg: 'bridge missing from the configuration, queue kept' }),
      expect.objectContaining({ bridge: 'region', discarded: 3 }),
    ]),
  );
});
