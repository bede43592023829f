/**
 * Subscriptions: several in one write, very many, and shared ones. Who may subscribe to what is in `promises/rights`,
 * options of MQTT 5 in `wire/mqtt5`.
 */
import { randomUUID } from 'node:crypto';
import type { Packet } from 'mqtt-packet';
import {
  type Client,
  type ConnectOptions,
  describe,
  expect,
  type Home,
  type TestDevice,
  testWith,
} from '../harness/index.js';

const test = testWith({ env: { GATEWAY_LOG_LEVEL: 'debug' } });

/** Of a packet. */
const MAX_FILTERS = 1_000;

function filtersOf(home: Home, count: number): string[] {
  return Array.from({ length: count }, (_, index) => home.filter(undefined, `f/${index}`));
}

test.for([true, false])(
  'several SUBSCRIBE and UNSUBSCRIBE in one write take effect in order (clean: %s)',
  async (clean, { home }) => {
    const nurse = await home.client(home.viewer, { clientId: randomUUID(), clean });
    const filters = filtersOf(home, 20);
    const packets = filters.flatMap((topic, index): Packet[] => {
      const messageId = 3 * index + 1;
      const subscriptions = [{ topic, qos: 1 as const }];
      const all: Packet[] = [
        { cmd: 'subscribe', subscriptions, messageId },
        { cmd: 'unsubscribe', unsubscriptions: [topic], messageId: messageId + 1 },
        { cmd: 'subscribe', subscriptions, messageId: messageId + 2 },
      ];
      // The last packet about every other filter is UNSUBSCRIBE.
      return all.slice(0, index % 2 === 0 ? 3 : 2);
    });
    nurse.send(...packets);
    for (const { cmd } of packets) await nurse.next(cmd === 'subscribe' ? 'suback' : 'unsuback');
    const device = await home.device();
    for (const index of filters.keys()) await home.publish(device, `f/${index}`, '1');
    await nurse.untilCount(filters.length / 2);
    await nurse.ping();
    const rests = nurse.topics.map((topic) => Number(topic.split('/').at(-1)));
    expect(rests).toEqual([...filters.keys()].filter((index) => index % 2 === 0));
  },
);

describe('many filters', () => {
  test('of one SUBSCRIBE are stored with one write, and come back with the session', async ({
    home,
  }) => {
    const store = await home.store();
    const session = { clientId: randomUUID(), clean: false };
    const nurse = await home.client(home.viewer, session);
    await store.redis.config('RESETSTAT');
    const codes = await nurse.subscribe(filtersOf(home, MAX_FILTERS));
    expect(codes).toEqual(Array(MAX_FILTERS).fill(1));
    // One write for the session; a few others may happen at the same time.
    expect(await store.calls('hset')).toBeLessThan(20);
    nurse.vanish();
    const again = await home.client(home.viewer, session);
    await home.publish(await home.device(), `f/${MAX_FILTERS - 1}`, '1');
    await again.next('publish');
    // Those of the session count once for a client that asks for them again.
    const half = filtersOf(home, MAX_FILTERS / 2);
    expect(new Set(await again.subscribe(half))).toEqual(new Set([1]));
  });

  test('are bounded per SUBSCRIBE and UNSUBSCRIBE', async ({ home }) => {
    const filters = filtersOf(home, MAX_FILTERS + 1);
    for (const send of ['subscribe', 'unsubscribe'] as const) {
      const nurse = await home.client();
      const answer =
        send === 'subscribe' ? nurse.subscribe(filters) : nurse.unsubscribe(...filters);
      await expect(answer).rejects.toThrow('closed');
    }
  });
});

/** A shared subscription of a test's own, its device, and how to raise numbered alarms. */
async function shared(home: Home, rest = 'alarms/#') {
  const device: TestDevice = await home.device();
  const filter = `$share/ward-${device.id}/${home.filter(device, rest)}`;
  const raise = (from: number, to = from) => {
    const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    const falls = numbers.map((n) => JSON.stringify({ kind: 'fall', n }));
    return home.publish(device, 'alarms', falls);
  };
  const member = async (options: ConnectOptions = {}, qos: 0 | 1 = 1) => {
    const client = await home.client(home.viewer, { protocolVersion: 5, ...options });
    expect(await client.subscribe(filter, { qos })).toEqual([qos]);
    return client;
  };
  return { device, filter, raise, member };
}

/** The numbers of the alarms that came to the clients; at QoS 0 only where nothing came at QoS 1. */
function numbersOf(...clients: readonly Client[]): number[] {
  const came = clients.flatMap(({ received }) => received);
  const wanted = came.some(({ qos }) => qos > 0) ? came.filter(({ qos }) => qos > 0) : came;
  return wanted.map(({ text }) => JSON.parse(text).data.n);
}

async function untilNumbers(count: number, ...clients: readonly Client[]): Promise<number[]> {
  await expect.poll(() => numbersOf(...clients).length).toBe(count);
  return numbersOf(...clients);
}

const HOLDS = { acknowledges: false };
const KEPT = { clean: false, properties: { sessionExpiryInterval: 600 } };

describe.each([4, 5] as const)('a shared subscription, protocol level %i,', (level) => {
  const at = { protocolVersion: level };
  const kept = level === 5 ? { ...at, ...KEPT } : { ...at, clean: false };

  test('sends each alarm to one member', async ({ home }) => {
    const { raise, member, device } = await shared(home);
    const members = [await member(at), await member(at), await member(at)];
    const alone = await home.client(home.viewer, at);
    await alone.subscribe(home.filter(device, 'alarms/#'));
    await raise(1, 20);
    const all = Array.from({ length: 20 }, (_, index) => index + 1);
    expect(await untilNumbers(20, alone)).toEqual(all);
    const came = await untilNumbers(20, ...members);
    expect(came.toSorted((one, other) => one - other)).toEqual(all);
  });

  test('sends what a departing member has not acknowledged to another, in order', async ({
    home,
  }) => {
    const { raise, member } = await shared(home);
    const [first, second] = [await member({ ...at, ...HOLDS }), await member({ ...at, ...HOLDS })];
    await raise(1, 5);
    await untilNumbers(5, first);
    first.acknowledge(1);
    await first.ping();
    second.acknowledgeAll();
    first.vanish();
    await untilNumbers(4, second);
    await raise(6, 8);
    expect(await untilNumbers(7, second)).toEqual([2, 3, 4, 5, 6, 7, 8]);
    expect(second.records.every(({ dup }) => !dup)).toBe(true);
  });

  test('repeats nothing to a member that subscribes again', async ({ home }) => {
    const { raise, member, filter } = await shared(home);
    const one = await member({ ...at, ...HOLDS });
    await raise(1, 3);
    await untilNumbers(3, one);
    await one.subscribe(filter);
    await raise(4);
    expect(await untilNumbers(4, one)).toEqual([1, 2, 3, 4]);
  });

  test('goes on with another member when one unsubscribes', async ({ home }) => {
    const { raise, member, filter } = await shared(home);
    const [first, second] = [await member(at), await member(at)];
    await raise(1);
    await untilNumbers(1, first);
    await first.unsubscribe(filter);
    await raise(2, 3);
    expect(await untilNumbers(2, second)).toEqual([2, 3]);
    expect(numbersOf(first)).toEqual([1]);
  });

  test('keeps alarms while all members are away, across a restart, and accounts for them', async ({
    home,
    gateway,
  }) => {
    const { raise, member, filter } = await shared(home);
    const ids = [randomUUID(), randomUUID()] as const;
    for (const clientId of ids) {
      const away = await member({ ...kept, clientId });
      away.vanish();
      await away.closed();
    }
    await raise(1, 6);
    await gateway.restart();
    await raise(7, 8);
    const second = await home.client(home.viewer, { ...kept, clientId: ids[1] });
    await untilNumbers(8, second);
    const first = await home.client(home.viewer, { ...kept, clientId: ids[0] });
    await raise(9);
    await untilNumbers(9, second, first);
    expect(numbersOf(second, first)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const account = { accepted: 9, delivered: 9, queued: 0, expired: 0, dropped: 0 };
    await expect.poll(() => home.account(filter, 'alarms')).toEqual(account);
  });
});

describe('a shared subscription', () => {
  test('is away from the moment its last member leaves', async ({ home }) => {
    const { member, filter } = await shared(home);
    const one = await member({ ...KEPT, clientId: randomUUID() });
    await home.must('GET', '/sessions');
    const leftAtMs = Date.now();
    one.vanish();
    const awaySinceMs = async () => {
      const sessions = (await home.must('GET', '/sessions')).list('sessions');
      const group = sessions.find(({ clientId }) => clientId === filter);
      return Date.parse(String(group?.['awaySince']));
    };
    // The steady clock of the gateway counts whole milliseconds from another moment.
    await expect.poll(awaySinceMs).toBeGreaterThanOrEqual(leftAtMs - 1);
  });

  test('counts towards the receive maximum of a member', async ({ home }) => {
    const { raise, member, device } = await shared(home);
    const one = await member({ properties: { receiveMaximum: 3 }, ...HOLDS });
    await one.subscribe(home.filter(device, 'alarms/#'));
    await raise(1, 4);
    await one.untilRecords(3);
    await one.ping();
    expect(one.records).toHaveLength(3);
    one.acknowledgeAll();
    const came = await untilNumbers(8, one);
    expect(came.toSorted()).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
  });

  test('sends at QoS 0 to a member that asked for it, and keeps nothing for it', async ({
    home,
  }) => {
    const { raise, member, filter } = await shared(home);
    const [careful, careless] = [await member(HOLDS), await member({}, 0)];
    careful.vanish();
    await careful.closed();
    await raise(1, 2);
    await careless.untilCount(2);
    expect(careless.received.map(({ qos }) => qos)).toEqual([0, 0]);
    await expect.poll(() => home.account(filter, 'alarms')).toMatchObject({ queued: 0 });
  });

  test('at QoS 0 only sends each message to one member', async ({ home }) => {
    const { raise, member } = await shared(home);
    const members = [await member({}, 0), await member({}, 0)];
    await raise(1, 4);
    expect((await untilNumbers(4, ...members)).toSorted()).toEqual([1, 2, 3, 4]);
  });

  test('carries the subscription identifier of the member that gets the message', async ({
    home,
  }) => {
    const { raise, filter } = await shared(home);
    const members: Client[] = [];
    for (const subscriptionIdentifier of [7, 8]) {
      const client = await home.client(home.viewer, { protocolVersion: 5 });
      const subscriptions = [{ topic: filter, qos: 1 as const }];
      client.send({
        cmd: 'subscribe',
        messageId: 1,
        subscriptions,
        properties: { subscriptionIdentifier },
      });
      await client.next('suback');
      members.push(client);
    }
    await raise(1);
    await untilNumbers(1, ...members);
    members[0]?.vanish();
    await raise(2);
    await untilNumbers(2, ...members);
    const identifiers = members.flatMap(({ records }) =>
      records.map(({ packet }) => packet.properties?.subscriptionIdentifier),
    );
    expect(identifiers).toEqual([7, 8]);
  });

  test('sends no retained messages, and each new one once', async ({ home }) => {
    const { member, device } = await shared(home, 'level');
    await home.publish(device, 'level', '1', { retain: true });
    const one = await member();
    await home.publish(device, 'level', '2', { retain: true });
    await one.untilCount(1);
    await one.ping();
    const came = one.received.map(({ text, retain }) => [JSON.parse(text).data, retain]);
    expect(came).toEqual([[2, false]]);
  });
});
