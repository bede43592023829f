import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestToken } from '../harness/api.js';
import { allAuditOf } from '../harness/audit.js';
import { eventually } from '../harness/eventually.js';
import { accountOf } from '../harness/metrics.js';
import { Subscriber } from '../harness/mqtt-clients.js';
import { publishPacket, RawClient } from '../harness/raw-client.js';
import { UpstreamSubscriber } from '../harness/upstream-subscriber.js';
import { ENDS, type Message } from '../version-1/data.js';
import { delivered, VersionOneWorld, withKeys } from '../version-1/world.js';

/** The kinds that each session gets of a fall and a noise in the first location, outside the southern group. */
const NEW_KINDS: Readonly<Record<string, readonly string[]>> = {
  'alarms-away': ['fall', 'noise'],
  'south-away': [],
  'mixed-away': ['fall', 'noise'],
  bounded: ['noise'],
  'caught-up': ['fall', 'noise'],
  'live-only': ['fall', 'noise'],
  'without-filters': [],
  gap: ['fall', 'noise'],
  changed: ['noise'],
};

describe.each(ENDS)('the data of version 1, whose gateway was %s', (end) => {
  let world: VersionOneWorld;

  beforeAll(async () => {
    world = await VersionOneWorld.unpack(end);
  });

  afterAll(() => world.remove());

  // What one start has carried over, the next one finds: the same for either end.
  const starts = ['when it starts on them', ...(end === 'killed' ? ['when it starts again'] : [])];
  describe.each(starts)('%s', () => {
    beforeAll(() => world.restart());

    it('shows locations, rooms, groups, devices, tokens and invalid publishes', async () => {
      for (const [pathThen, text] of Object.entries(world.expected.answers)) {
        const path = pathThen.replace('/set-aside', '/dead-letters');
        const found = await (await world.admin.request('GET', path)).text();
        if (path.endsWith('/custom-data')) expect([path, found]).toEqual([path, text]);
        else expect([path, JSON.parse(found)]).toMatchObject([path, JSON.parse(text)]);
      }
    });

    it('shows every alarm in its history, in its place', async () => {
      for (const { path, as, events } of world.expected.histories) {
        const idsOf = async (query: string) =>
          (await world.historyOf(path, as, query)).map(({ id }) => id);
        const ascending = await world.historyOf(path, as, 'order=asc');
        expect([path, ascending.map(withKeys)]).toMatchObject([path, events]);
        const falls = events.filter(({ kind }) => kind === 'fall').map(({ id }) => id);
        expect(await idsOf('order=asc&kinds=fall')).toEqual(falls);
      }
    });

    it('shows every audit record', async () => {
      const { audit } = world.expected;
      const found = await allAuditOf(world.admin, 'order=asc&limit=100');
      expect(found.slice(0, audit.length)).toMatchObject(audit);
      // The oldest of these are in files.
      const actions = 'custom-data.changed';
      const changes = audit.filter(({ action }) => action === actions);
      const query = `order=asc&limit=100&actions=${actions}`;
      expect(await allAuditOf(world.admin, query)).toMatchObject(changes);
    });

    it('serves recordings', async () => {
      const { recordings, histories } = world.expected;
      const [{ path, events } = { path: '', events: [] }] = histories;
      const found = await world.historyOf(path, undefined, 'order=asc');
      const urls = found.flatMap(({ footage: { video, audio } }) => [video, audio]);
      const keys = events.flatMap(({ footage: { video, audio } }) => [video, audio]);
      expect(keys.filter((key) => key !== null)).toHaveLength(3);
      for (const [at, key] of keys.entries()) {
        if (key === null) continue;
        const response = await fetch(urls[at] ?? 'no URL');
        const contentType = response.headers.get('content-type');
        const bytes = Buffer.from(await response.arrayBuffer());
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        expect(Object.values(recordings)).toContainEqual({ key, contentType, sha256 });
      }
    });

    it('sends retained messages', async () => {
      const { retained, tokens } = world.expected;
      const subscriber = await Subscriber.connect(world.gateway, tokens.everywhere);
      await subscriber.subscribe(...world.filters('#'));
      await subscriber.untilCount(retained.length);
      expect(subscriber.received.every(({ retain }) => retain)).toBe(true);
      const messages = subscriber.received.map(({ topic, text }) => ({ topic, text }));
      expect(messages.toSorted(byTopic)).toEqual(retained);
      await subscriber.end();
    });

    it('has the account of every session and bridge', async () => {
      for (const [name, { accounts }] of Object.entries(world.expected.consumers)) {
        await world.expectAccounts(name, accounts);
      }
    });

    it('knows which access tokens and secrets are valid', async () => {
      const { tokens, devices } = world.expected;
      const { ended, ...valid } = tokens;
      for (const token of Object.values(valid)) await expectAdmitted(token);
      const { door, gone } = devices;
      const former = { id: door.id, token: door.formerSecret ?? '' };
      for (const invalid of [ended, former, tokenOf(gone)]) {
        await expect(expectAdmitted(invalid)).rejects.toThrow('CONNACK with 4');
      }
    });
  });

  describe('when absent clients reconnect', () => {
    it('sends each session its backlog, once and in order, and nothing else', async () => {
      for (const session of world.sessions) {
        const { clientId, token, owed, accounts } = session;
        await expectPresent(clientId, token);
        const subscriber = await resumed(clientId, token);
        await subscriber.untilCount(owed.length);
        await world.expectAccounts(clientId, delivered(accounts));
        world.expectBacklog(clientId, subscriber.received, session);
        await subscriber.end();
      }
    });

    it('admits every device', async () => {
      const { gone: _gone, ...devices } = world.expected.devices;
      for (const device of Object.values(devices)) await expectAdmitted(tokenOf(device));
    });

    it('sends a device its commands', async () => {
      const { devices, commands } = world.expected;
      const subscriber = await resumed('door-session', tokenOf(devices.door));
      await subscriber.untilCount(commands.length);
      const found = subscriber.received.map(({ topic, text }) => ({ topic, text }));
      expect(found).toEqual(commands);
      await subscriber.end();
    });

    it('sends each bridge its backlog, once and in order', async () => {
      for (const [name, upstream] of world.upstreams) {
        const bridge = world.expected.consumers[`bridge/${name}`];
        if (bridge === undefined) throw new Error(`nothing is expected of ${name}`);
        await upstream.start();
        const subscriber = await UpstreamSubscriber.connect(upstream.url);
        await world.expectAccounts(`bridge/${name}`, delivered(bridge.accounts));
        await subscriber.caughtUp();
        world.expectBacklog(name, subscriber.arrivals, bridge);
        await subscriber.end();
      }
    });

    it('recognises a publish that was received before', async () => {
      const { devices, tokens, repeats } = world.expected;
      const { bed, sensor } = devices;
      const watcher = await Subscriber.connect(world.gateway, tokens.everywhere);
      await watcher.subscribe(...world.filters('devices/+/alarms/#', 'devices/+/readings/x'));
      const repeating = await RawClient.connect(world.gateway, tokenOf(bed));
      for (const [at, payload] of repeats.entries()) {
        await repeating.publish(`devices/${bed.id}/alarms`, payload, 1, at + 1);
      }
      repeating.vanish();

      const session = { clientId: 'sensor-session', clean: false };
      const client = await RawClient.connect(world.gateway, tokenOf(sensor), session);
      const alarm = publishPacket(`devices/${sensor.id}/alarms`, '{"kind":"helpCall"}');
      const reading = publishPacket(`devices/${sensor.id}/readings/x`, '"qos 2"');
      client.send({ ...alarm, qos: 2, messageId: 7, dup: true });
      client.send({ ...reading, qos: 2, messageId: 8, dup: true });
      for (const messageId of [7, 8]) {
        expect((await client.next('pubrec')).messageId).toBe(messageId);
        client.send({ cmd: 'pubrel', messageId });
        expect((await client.next('pubcomp')).messageId).toBe(messageId);
      }
      // The packet identifiers are free for others.
      await client.publish(alarm.topic, '{"kind":"helpCall","new":true}', 2, 7);
      await client.publish(reading.topic, '"new"', 2, 8);
      client.vanish();
      await watcher.untilCount(2);
      const found = watcher.messages().map(({ data }) => data);
      expect(found).toHaveLength(2);
      expect(new Set(found)).toEqual(new Set([{ new: true }, 'new']));
      await watcher.end();
    });

    it('repeats nothing after a restart, and sends new messages by the old filters', async () => {
      for (const { clientId, token } of world.sessions) await drain(clientId, token);
      await world.restart();
      const { bed } = world.expected.devices;
      const subscribers = new Map<string, Subscriber>();
      for (const { clientId, token } of world.sessions) {
        subscribers.set(clientId, await resumed(clientId, token));
      }
      const device = await RawClient.connect(world.gateway, tokenOf(bed));
      await device.publish(`devices/${bed.id}/alarms`, '{"kind":"fall"}', 1, 1);
      await device.publish(`devices/${bed.id}/alarms`, '{"kind":"noise"}', 1, 2);
      device.vanish();
      for (const [clientId, subscriber] of subscribers) {
        const kinds = NEW_KINDS[clientId];
        await subscriber.untilCount(kinds?.length ?? 0);
        const found = subscriber.messages().map(({ kind }) => kind);
        expect([clientId, found]).toEqual([clientId, kinds]);
        await subscriber.end();
      }
      for (const upstream of world.upstreams.values()) {
        const subscriber = await UpstreamSubscriber.connect(upstream.url);
        const isOf = (kind: string) => (one: Message) => one.topic.endsWith(`/alarms/${kind}`);
        await subscriber.arrival(isOf('noise'));
        // The first one arrived before the restart.
        const kinds = ['helpCall', 'fall', 'noise'];
        const found = subscriber.arrivals.filter(({ topic }) => topic.includes('/alarms/'));
        expect(found.map(({ topic }) => topic.split('/').at(-1))).toEqual(kinds);
        await subscriber.end();
      }
    });
  });

  async function expectAdmitted(token: TestToken): Promise<void> {
    (await RawClient.connect(world.gateway, token)).vanish();
  }

  /** Reconnects to the session. */
  function resumed(clientId: string, token: TestToken): Promise<Subscriber> {
    return Subscriber.connect(world.gateway, token, { clientId, clean: false });
  }

  /** Asserts that the session is present [MQTT-3.2.2-2], without acknowledging anything. */
  async function expectPresent(clientId: string, token: TestToken): Promise<void> {
    const client = await RawClient.connect(world.gateway, token, { clientId, clean: false });
    expect(client.packets[0]).toMatchObject({ cmd: 'connack', sessionPresent: true });
    client.vanish();
  }

  /** Receives and acknowledges the session's new messages. */
  async function drain(clientId: string, token: TestToken): Promise<void> {
    const subscriber = await resumed(clientId, token);
    await eventually(async () => {
      expect((await accountOf(world.gateway, clientId)).queued).toBe(0);
    });
    await subscriber.end();
  }
});

/** A device's credentials for a connection. */
function tokenOf({ id, secret }: { readonly id: string; readonly secret: string }): TestToken {
  return { id, token: secret };
}

function byTopic(one: Message, other: Message): number {
  return one.topic < other.topic ? -1 : 1;
}
