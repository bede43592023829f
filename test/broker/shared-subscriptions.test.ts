import type { IConnectPacket } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice, TestToken } from '../former/clients/api.js';
import { RawClient } from '../former/clients/raw-client.js';
import { eventually } from '../former/eventually.js';
import { Home } from '../former/home.js';
import { accountOf } from '../former/metrics.js';
import { falls, numbersOf, publishesOf, received } from './shared-members.js';

let home: Home;
let device: TestDevice;
let lastGroup = 0;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
});

afterAll(() => home.remove());

const KEPT = { clean: false, properties: { sessionExpiryInterval: 600 } };

function connect(
  options: Partial<IConnectPacket> = {},
  who: TestDevice | TestToken = home.viewer,
): Promise<RawClient> {
  return RawClient.connect(home.gateway, who, { protocolVersion: 5, ...options });
}

/** A shared subscription that no other test uses. */
function sharedFilter(rest = 'alarms/#', of = device): string {
  lastGroup++;
  return `$share/ward-${lastGroup}/${home.filter(of, rest)}`;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

const raise = (from: number, to: number) => home.publish(device, 'alarms', falls(from, to));

describe.each([4, 5] as const)('a shared subscription of protocol level %i', (level) => {
  const at = { protocolVersion: level };
  const kept = level === 5 ? { ...at, ...KEPT } : { ...at, clean: false };

  it('sends each alarm to one member', async () => {
    const members = [await connect(at), await connect(at), await connect(at)];
    const filter = sharedFilter();
    for (const member of members) {
      expect(await member.subscribe([filter])).toEqual([1]);
      member.acknowledgeAll();
    }
    const alone = await connect(at);
    await alone.subscribe([home.filter(device, 'alarms/#')]);
    alone.acknowledgeAll();
    await raise(1, 20);
    await received(20, alone);
    await received(20, ...members);
    expect(numbersOf(...members)).toEqual(range(1, 20));
    for (const client of [...members, alone]) client.vanish();
  });

  it('sends what a departing member has not acknowledged to another, in order', async () => {
    const filter = sharedFilter();
    const [first, second] = [await connect(at), await connect(at)];
    await first.subscribe([filter]);
    await second.subscribe([filter]);
    await raise(1, 5);
    await received(5, first);
    const [answered] = publishesOf(first);
    first.send({ cmd: 'puback', messageId: answered?.messageId ?? 0 });
    await first.ping();
    second.acknowledgeAll();
    first.vanish();
    await received(4, second);
    await raise(6, 8);
    await received(7, second);
    expect(numbersOf(second)).toEqual(range(2, 8));
    expect(publishesOf(second).every(({ dup }) => !dup)).toBe(true);
    second.vanish();
  });

  it('repeats nothing when a client subscribes again', async () => {
    const filter = sharedFilter();
    const member = await connect(at);
    await member.subscribe([filter]);
    await raise(1, 3);
    await received(3, member);
    expect(await member.subscribe([filter])).toEqual([1]);
    await raise(4, 4);
    await received(4, member);
    expect(numbersOf(member)).toEqual(range(1, 4));
    member.vanish();
  });

  it('continues with another member when one unsubscribes', async () => {
    const filter = sharedFilter();
    const [first, second] = [await connect(at), await connect(at)];
    for (const member of [first, second]) {
      await member.subscribe([filter]);
      member.acknowledgeAll();
    }
    await raise(1, 1);
    await received(1, first);
    first.send({ cmd: 'unsubscribe', messageId: 9, unsubscriptions: [filter] });
    await first.next('unsuback');
    await raise(2, 3);
    await received(2, second);
    expect(numbersOf(first)).toEqual([1]);
    for (const client of [first, second]) client.vanish();
  });

  it('keeps messages while all members are away, across a restart of the gateway', async () => {
    const filter = sharedFilter();
    const ids = [`away-${level}-1`, `away-${level}-2`];
    for (const clientId of ids) {
      const member = await connect({ ...kept, clientId });
      await member.subscribe([filter]);
      member.vanish();
      await member.closed();
    }
    await raise(1, 6);
    await home.gateway.stop();
    await home.gateway.start();
    await raise(7, 8);
    const second = await connect({ ...kept, clientId: ids[1] ?? '' });
    second.acknowledgeAll();
    await received(8, second);
    const first = await connect({ ...kept, clientId: ids[0] ?? '' });
    first.acknowledgeAll();
    await raise(9, 9);
    await received(9, first, second);
    expect(numbersOf(second, first)).toEqual(range(1, 9));
    await eventually(async () =>
      expect(await accountOf(home.gateway, filter, 'alarms')).toEqual({
        accepted: 9,
        delivered: 9,
        queued: 0,
        expired: 0,
        dropped: 0,
      }),
    );
    for (const client of [first, second]) client.vanish();
  });
});

describe('a shared subscription', () => {
  it('is away from the moment its last member leaves', async () => {
    const filter = sharedFilter();
    const member = await connect({ ...KEPT, clientId: 'last-member' });
    const joinedAtMs = Date.now();
    await member.subscribe([filter]);
    await eventually(() => expect(Date.now()).toBeGreaterThan(joinedAtMs + 100));
    const leftAtMs = Date.now();
    member.vanish();
    const sessions = z.object({
      sessions: z.array(z.object({ clientId: z.string(), awaySince: z.string().nullable() })),
    });
    await eventually(async () => {
      const { sessions: all } = sessions.parse(await home.api.json('GET', '/sessions'));
      const group = all.find(({ clientId }) => clientId === filter);
      expect(Date.parse(group?.awaySince ?? '')).toBeGreaterThanOrEqual(leftAtMs);
    });
  });

  it('respects the receive maximum of a member', async () => {
    const member = await connect({ properties: { receiveMaximum: 3 } });
    await member.subscribe([sharedFilter(), home.filter(device, 'alarms/#')]);
    await raise(1, 4);
    await received(3, member);
    await member.ping();
    expect(publishesOf(member)).toHaveLength(3);
    member.acknowledgeAll();
    await received(8, member);
    expect(numbersOf(member).sort()).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
    member.vanish();
  });

  it('sends at QoS 0 to a member that requested it, and keeps nothing for it', async () => {
    const filter = sharedFilter();
    const [careful, careless] = [await connect(), await connect()];
    await careful.subscribe([filter]);
    expect(await careless.subscribe([filter], 0)).toEqual([0]);
    careful.vanish();
    await careful.closed();
    await raise(1, 2);
    await received(2, careless);
    expect(publishesOf(careless).map(({ qos }) => qos)).toEqual([0, 0]);
    await eventually(async () =>
      expect(await accountOf(home.gateway, filter, 'alarms')).toMatchObject({ queued: 0 }),
    );
    careless.vanish();
  });

  it('at QoS 0 only sends each message to one member', async () => {
    const filter = sharedFilter();
    const members = [await connect(), await connect()];
    for (const member of members) await member.subscribe([filter], 0);
    await raise(1, 4);
    await received(4, ...members);
    expect(numbersOf(...members)).toEqual(range(1, 4));
    for (const member of members) member.vanish();
  });

  it('carries the subscription identifier of the member that gets the message', async () => {
    const filter = sharedFilter();
    const members = [await connect(), await connect()];
    for (const [index, member] of members.entries()) {
      const properties = { subscriptionIdentifier: index + 7 };
      const subscriptions = [{ topic: filter, qos: 1 as const }];
      member.send({ cmd: 'subscribe', messageId: 1, subscriptions, properties });
      await member.next('suback');
      member.acknowledgeAll();
    }
    await raise(1, 1);
    members[0]?.vanish();
    await raise(2, 2);
    await received(2, ...members);
    expect(
      members.flatMap(publishesOf).map(({ properties }) => properties?.subscriptionIdentifier),
    ).toEqual([7, 8]);
    members[1]?.vanish();
  });

  it('sends no retained messages, and each new one once', async () => {
    const retained = await connect({}, device);
    const topic = `devices/${device.id}/level`;
    retained.send({
      cmd: 'publish',
      topic,
      payload: '1',
      qos: 1,
      messageId: 1,
      retain: true,
      dup: false,
    });
    await retained.next('puback');
    const member = await connect();
    await member.subscribe([sharedFilter('level')]);
    member.acknowledgeAll();
    retained.send({
      cmd: 'publish',
      topic,
      payload: '2',
      qos: 1,
      messageId: 2,
      retain: true,
      dup: false,
    });
    const { payload, retain } = await member.next('publish');
    expect([JSON.parse(payload.toString()).data, retain]).toEqual([2, false]);
    for (const client of [member, retained]) client.vanish();
  });
});
