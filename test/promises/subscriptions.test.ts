/**
 * Subscriptions (contract 3): the QoS that is granted, overlapping filters, UNSUBSCRIBE, shared subscriptions, and what
 * a denied filter never brings. Who may subscribe to what is in `rights.test.ts`.
 */
import { randomUUID } from 'node:crypto';
import {
  Client,
  type ConnectOptions,
  connectPacket,
  credentials,
  expect,
  type Home,
  test,
} from '../harness/index.js';

const WAITING = 1_000;

/** A client with a name of its own. */
function nurseOf(home: Home, options: ConnectOptions = {}): Promise<Client> {
  return home.client(home.viewer, { clientId: randomUUID(), ...options });
}

/** The values that came, up to that of a last message on the same connection. */
async function valuesUpTo(home: Home, nurse: Client, last: string): Promise<unknown[]> {
  const device = await home.device('last');
  await nurse.subscribe(home.filter(device));
  await home.publish(device, 'x', last);
  await nurse.until(({ received }) => received.some(({ text }) => text.includes(last)), last);
  return nurse.messages('/x').flatMap(({ data }) => (data === Number(last) ? [] : [data]));
}

for (const [asked, granted] of [
  [0, 0],
  [1, 1],
  [2, 1],
] as const) {
  test(`QoS ${asked} is granted as ${granted}, and kept to`, async ({ home }) => {
    const [device, nurse] = [await home.device(), await nurseOf(home)];
    expect(await nurse.subscribe(home.filter(device, 'x'), { qos: asked })).toEqual([granted]);
    await home.publish(device, 'x', '1', { qos: 2 });
    await nurse.untilCount(1);
    expect(nurse.received.map(({ qos }) => qos)).toEqual([granted]);
  });
}

test.for([true, false])('UNSUBSCRIBE ends it; clean session: %s', async (clean, { home }) => {
  const [device, nurse] = [await home.device(), await nurseOf(home, { clean })];
  await nurse.subscribe(['a', 'x'].map((rest) => home.filter(device, rest)));
  await nurse.unsubscribe(home.filter(device, 'a'));
  await home.publish(device, 'a', '1');
  await home.publish(device, 'x', '2');
  await nurse.untilCount(1);
  expect(nurse.messages().map(({ data }) => data)).toEqual([2]);
});

const AGAIN = [
  [true, 1, 1],
  [true, 1, 0],
  [true, 0, 1],
  [false, 1, 1],
  [false, 1, 0],
] as const;

test.for(AGAIN)(
  'a filter holds that follows its UNSUBSCRIBE at once; clean, QoS before, after: %o',
  async ([clean, before, after], { home }) => {
    const [device, nurse] = [await home.device(), await nurseOf(home, { clean })];
    const filter = home.filter(device, 'x');
    await nurse.subscribe(filter, { qos: before });
    const [ended, codes] = [nurse.unsubscribe(filter), nurse.subscribe(filter, { qos: after })];
    await ended;
    expect(await codes).toEqual([after]);
    await home.publish(device, 'x', '1');
    await nurse.untilCount(1);
    expect(nurse.received.map(({ qos }) => qos)).toEqual([after]);
  },
);

test('overlapping filters bring each message once, at the highest QoS', async ({ home }) => {
  const [device, nurse] = [await home.device(), await nurseOf(home)];
  await nurse.subscribe(home.filter(device, 'x'), { qos: 0 });
  await nurse.subscribe(home.filter(device, '+'), { qos: 1 });
  await nurse.subscribe(home.filter(device), { qos: 0 });
  await home.publish(device, 'x', ['1', '2']);
  await nurse.until(({ received }) => received.some(({ text }) => text.includes('"data":2')), '2');
  const came = nurse.received.filter(({ topic }) => topic.endsWith('/x'));
  expect(came.map(({ qos, text }) => [qos, JSON.parse(text).data])).toEqual([
    [1, 1],
    [1, 2],
  ]);
});

test.for([true, false])(
  'SUBSCRIBE may follow CONNECT in the same write; clean session: %s',
  async (clean, { home, gateway }) => {
    const device = await home.device();
    const nurse = await Client.open(gateway);
    home.onClose(() => nurse.vanish());
    const subscriptions = [{ topic: home.filter(device, 'x'), qos: 1 as const }];
    const connect = connectPacket({ ...credentials(home.viewer), clientId: randomUUID(), clean });
    nurse.send(connect, { cmd: 'subscribe', messageId: 1, subscriptions });
    expect((await nurse.next('suback')).granted).toEqual([1]);
    await home.publish(device, 'x', '1');
    await nurse.untilCount(1);
  },
);

test('denied filters bring nothing, not even after a reconnect and a restart', async ({ own }) => {
  const home = await own.home();
  const other = await own.homeAt(home.gateway);
  const stranger = await other.device();
  const denied = [
    other.filter(),
    `+/${other.locationId}/#`,
    `devices/${stranger.id}/#`,
    'gateway/bridges/#',
  ];
  const session = { clientId: 'station', clean: false };
  const nurse = await home.client(home.viewer, session);
  const permitted = home.filter(undefined, 'x');
  expect(await nurse.subscribe([...denied, permitted])).toEqual([...denied.map(() => 0x80), 1]);
  nurse.vanish();
  for (const isRestarted of [false, true]) {
    if (isRestarted) await home.gateway.restart();
    await other.publish(stranger, 'x', '1');
    await home.publish(await home.device(), 'x', '2');
    const back = await home.client(home.viewer, session);
    expect(back.sessionPresent).toBe(true);
    expect(await valuesUpTo(home, back, '3')).toEqual([2]);
    await back.end();
  }
});

test('at QoS 0 no alarm overtakes those that wait for a durable session', async ({ home }) => {
  const device = await home.device();
  const session = { clientId: randomUUID(), clean: false };
  const absent = await home.client(home.viewer, session);
  await absent.subscribe(home.filter(device));
  await absent.end();
  const alarms = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => `{"kind":"fall","n":${from + index}}`);
  await home.publish(device, 'alarms', alarms(0, WAITING));
  const nurse = await home.client(home.viewer, { ...session, isDescribed: false });
  await nurse.subscribe(home.filter(device), { qos: 0 });
  await home.publish(device, 'alarms', alarms(WAITING, 100));
  const numbers = () => nurse.messages('/alarms/').map(({ data }) => Object(data).n);
  await nurse.until(
    ({ received }) => received.some(({ text }) => text.includes(`"n":${WAITING + 99}`)),
    'the last',
  );
  expect([...new Set(numbers())]).toEqual(Array.from({ length: WAITING + 100 }, (_, n) => n));
  await nurse.ping();
  await home.publish(device, 'alarms', alarms(WAITING + 100, 1));
  await nurse.until(
    ({ received }) =>
      received.some(({ text, qos }) => qos === 0 && text.includes(`"n":${WAITING + 100}`)),
    'one more, at QoS 0',
  );
});

test('at QoS 0 a durable session that is away keeps its alarms, and nothing else', async ({
  home,
}) => {
  const device = await home.device();
  const session = { clientId: randomUUID(), clean: false };
  const display = await home.client(home.viewer, session);
  const filters = ['value', 'alarms/#'].map((rest) => home.filter(device, rest));
  await display.subscribe(filters, { qos: 0 });
  await display.end();
  await home.publish(device, 'value', '1');
  await home.publish(device, 'alarms', '{"kind":"fall"}');
  const back = await home.client(home.viewer, session);
  await back.untilCount(1);
  expect(back.received.map(({ qos, topic }) => [qos, topic])).toEqual([
    [0, home.filter(device, 'alarms/fall')],
  ]);
});

test('a shared subscription is one destination for each token, and ends with its last member', async ({
  home,
}) => {
  const device = await home.device();
  const filter = `$share/${randomUUID()}/${home.filter(device, 'alarms/#')}`;
  const [one, other] = [
    await home.client(home.viewer, { protocolVersion: 5, acknowledges: false }),
    await home.client(await home.token(), { protocolVersion: 5 }),
  ];
  await one.subscribe(filter);
  await other.subscribe(filter);
  await home.publish(device, 'alarms', ['{"kind":"fall"}', '{"kind":"noise"}']);
  for (const member of [one, other]) await member.untilRecords(2);
  await expect.poll(() => home.account(filter, 'alarms')).toMatchObject({ queued: 2 });
  one.vanish();
  await other.end();
  await expect.poll(() => home.account(filter, 'alarms')).toBeUndefined();
});

test('a shared filter without a group or filter is malformed, and with no-local an error', async ({
  home,
}) => {
  const member = await home.client(home.viewer, { protocolVersion: 5 });
  const malformed = ['$share/ward', '$share//care-homes/#', '$share/+/care-homes/#'];
  expect(await member.subscribe([...malformed, '$share/ward/care-homes/#'])).toEqual([
    0x8f, 0x8f, 0x8f, 1,
  ]);
  // [MQTT-3.8.3-4]
  const subscribed = member
    .subscribe('$share/ward/care-homes/#', { nl: true })
    .catch(() => 'closed');
  expect((await member.next('disconnect')).reasonCode).toBe(0x82);
  expect(await subscribed).toBe('closed');
});

test('a shared subscription counts as a persistent session', async ({ own }) => {
  const home = await own.home({ env: { GATEWAY_LIMITS_TOKEN_PERSISTENT_SESSIONS: '2' } });
  const nurse = await home.client(home.viewer, { protocolVersion: 5 });
  const filters = ['a', 'b', 'c'].map((group) => `$share/${group}/care-homes/#`);
  expect(await nurse.subscribe(filters)).toEqual([1, 1, 0x97]);
  expect(await nurse.subscribe(filters.slice(0, 2))).toEqual([1, 1]);
});
