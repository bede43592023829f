/**
 * What the administrator sees of MQTT clients (contract 2, Diagnostics): connections, sessions, and why something was
 * denied. A client that failed to log in connects from an address of its own: the next one would have to wait.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { generate, type IConnectPacket } from 'mqtt-packet';
import { createWebSocketStream, WebSocket } from 'ws';
import {
  Client,
  connectPacket,
  credentials,
  expect,
  type Gateway,
  type Home,
  NO_LIMITS,
  testWith,
  times,
} from '../harness/index.js';

const test = testWith({ env: NO_LIMITS });

const MINUTE_MS = 60_000;

/** Opens a connection from one of the addresses of this machine. */
function openFrom({ mqttPort }: Gateway, localAddress: string): Promise<Client> {
  return Client.open({ mqttPort, localAddress });
}

/** One of the connections, sessions or denials with this client id. */
async function listed(home: Home, path: string, clientId: string | null) {
  const { json } = await home.must('GET', path);
  const all: unknown[] = Array.isArray(json) ? json : Object.values(Object(json)).flat();
  return all.filter((one) => Object(one).clientId === clientId);
}

/** As `connections` would be without its pages. */
async function connectionsIn(home: Home, limit: number, isOurs: (clientId: string) => boolean) {
  const found: string[] = [];
  for (let cursor: unknown = ''; cursor !== null; ) {
    const next = cursor === '' ? '' : `&cursor=${String(cursor)}`;
    const page = await home.must('GET', `/connections?limit=${limit}${next}`);
    found.push(...page.list('connections').map(({ clientId }) => String(clientId)));
    cursor = page.at('nextCursor');
  }
  return found.filter(isOurs);
}

test('/connections shows who is connected, from where, since when, how, and with what backlog', async ({
  home,
}) => {
  const [device, startedAtMs] = [await home.device(), Date.now()];
  const old = { protocolId: 'MQIsdp', protocolVersion: 3, keepalive: 30 } as const;
  const sensor = await home.client(device, { clientId: 'sensor', ...old });
  const quiet = { clientId: 'nurse', keepalive: 0, acknowledges: false };
  const nurse = await home.client(home.viewer, quiet);
  await nurse.subscribe(home.filter(device, 'alarms/#'));
  await home.client(home.viewer, { clientId: 'modern', protocolVersion: 5 });
  for (let n = 1; n <= 2; n++)
    await sensor.publish(`devices/${device.id}/alarms`, `{"kind":"fall"}`);
  await nurse.untilRecords(1);
  const [shown, ...more] = await listed(home, '/connections?limit=100', 'nurse');
  const { since } = Object(shown);
  expect(Date.parse(since)).toBeGreaterThanOrEqual(startedAtMs);
  expect(Date.parse(since)).toBeLessThanOrEqual(Date.now());
  const expected = {
    clientId: 'nurse',
    principal: { type: 'access-token', id: home.viewer.id },
    name: 'nurse call',
    since,
    address: '127.0.0.1',
    protocol: 'mqtt',
    mqttVersion: '3.1.1',
    keepAliveSeconds: 300,
    backlog: { alarms: 2, messages: 0 },
    slowed: null,
  };
  expect([shown, more]).toEqual([expected, []]);
  const principal = { type: 'device', id: device.id };
  expect(await listed(home, '/connections?limit=100', 'sensor')).toMatchObject([
    { principal, mqttVersion: '3.1', keepAliveSeconds: 30, backlog: { alarms: 0, messages: 0 } },
  ]);
  const modern = { mqttVersion: '5', protocol: 'mqtt' };
  expect(await listed(home, '/connections?limit=100', 'modern')).toMatchObject([modern]);
  nurse.vanish();
  await expect.poll(() => listed(home, '/connections?limit=100', 'nurse')).toEqual([]);
});

test('/connections tells WebSocket from TCP', async ({ home, gateway }) => {
  const socket = new WebSocket(`${gateway.httpUrl.replace('http:', 'ws:')}/mqtt`, ['mqtt']);
  const client = new Client(createWebSocketStream(socket), { clientId: 'by-web-socket' });
  await once(socket, 'open');
  expect(await client.login(home.viewer)).toBe(0);
  const [shown] = await listed(home, '/connections?limit=100', 'by-web-socket');
  expect(shown).toMatchObject({ protocol: 'ws' });
  client.vanish();
});

test('the pages of /connections show what was open at the first, each once, in order', async ({
  home,
}) => {
  const prefix = randomUUID();
  const isOurs = (clientId: string) => clientId.startsWith(prefix);
  const opened = async (clientId: string) => {
    // The gateway lists a connection when it has answered a packet.
    await (await home.client(home.viewer, { clientId })).ping();
  };
  const ids = Array.from({ length: 7 }, (_, index) => `${prefix}-${7 - index}`);
  for (const id of ids) await opened(id);
  for (const limit of [1, 2, 3, 100]) {
    expect([limit, await connectionsIn(home, limit, isOurs)]).toEqual([limit, ids]);
  }
  const first = await home.must('GET', '/connections?limit=2');
  await opened(`${prefix}-late`);
  const rest = await home.must('GET', `/connections?limit=100&cursor=${first.at('nextCursor')}`);
  expect(rest.at('nextCursor')).toBeNull();
  const both = [...first.list('connections'), ...rest.list('connections')];
  expect(both.map(({ clientId }) => String(clientId)).filter(isOurs)).toEqual(ids);
  // A session that another connection took over is listed once, as the newest.
  const [taken = '', ...others] = ids;
  await opened(taken);
  expect(await connectionsIn(home, 2, isOurs)).toEqual([...others, `${prefix}-late`, taken]);
  for (const query of ['limit=0', 'limit=101', 'cursor=AAAA', 'cursor=']) {
    const { status } = await home.ask('GET', `/connections?${query}`);
    expect([query, status]).toEqual([query, 400]);
  }
});

test('/sessions shows whose alarms wait, the most first, and since when', async ({ own }) => {
  const home = await own.home();
  const [device, session] = [await home.device(), { isDurable: true }];
  const here = await home.nurse({ ...session, clientId: 'here' });
  const away = await home.nurse({ ...session, clientId: 'away' });
  await home.nurse({ clientId: 'clean' });
  await away.leave();
  const sentAtMs = Date.now();
  await home.publish(device, 'alarms', '{"kind":"fall"}');
  await here.untilRecords(1);
  await here.flush();
  const answer = await home.must('GET', '/sessions');
  const principal = { type: 'access-token', id: home.viewer.id };
  expect(answer.json).toMatchObject({
    total: 2,
    sessions: [
      { clientId: 'away', connected: false, principal, backlog: { alarms: 1, messages: 0 } },
      { clientId: 'here', connected: true, awaySince: null },
    ],
  });
  const oldestMs = Date.parse(answer.string('sessions.0.oldestQueuedAt'));
  expect(oldestMs).toBeGreaterThanOrEqual(sentAtMs);
  expect(oldestMs).toBeLessThanOrEqual(Date.now());
  expect(Date.parse(answer.string('sessions.0.awaySince'))).toBeLessThanOrEqual(oldestMs);
  const one = await home.must('GET', '/sessions?limit=1');
  expect([one.number('total'), one.list('sessions').length]).toEqual([2, 1]);
});

const DENIED_FILTERS: readonly (readonly [
  who: 'viewer' | 'device',
  filter: string,
  code: string,
])[] = [
  ['viewer', 'care-homes/{nobody}/#', 'filter-outside-grants'],
  ['viewer', 'gateway/bridges/#', 'filter-outside-grants'],
  ['viewer', '$share/+/care-homes/#', 'shared-filter-invalid'],
  ['device', 'devices/{device}/commands/101', 'too-many-subscriptions'],
  ['device', '#', 'filter-not-of-device'],
];

const DENIED_PUBLISHES: readonly (readonly [
  who: 'viewer' | 'manager' | 'device',
  topic: string,
  code: string,
])[] = [
  ['device', 'devices/{nobody}/x', 'topic-not-of-device'],
  ['manager', 'x/y', 'topic-not-of-token'],
  ['manager', 'devices/{device}/x', 'device-without-grant'],
  ['viewer', 'care-homes/{home}/devices/{device}/commands/x', 'command-without-grant'],
  ['viewer', 'care-homes/{home}/devices/{device}/alarm-states', 'alarm-state-without-grant'],
];

test('/connections/denied says why a filter or a publish was denied', async ({ home }) => {
  const device = await home.device();
  const ids = { home: home.locationId, device: device.id, nobody: randomUUID() };
  const holders = { viewer: home.viewer, manager: home.manager, device };
  const filled = (text: string) => text.replaceAll(/\{(\w+)\}/g, (_, name) => Object(ids)[name]);
  const denial = async (clientId: string) => listed(home, '/connections/denied', clientId);
  for (const [index, [who, filter, code]] of DENIED_FILTERS.entries()) {
    const clientId = `asks-${ids.home}-${index}`;
    const client = await home.client(holders[who], { clientId });
    if (code === 'too-many-subscriptions') {
      const numbers = Array.from({ length: 100 }, (_, n) => n);
      await client.subscribe(numbers.map((n) => filled(`devices/{device}/commands/${n}`)));
    }
    expect(await client.subscribe(filled(filter))).toEqual([0x80]);
    const about = { operation: 'subscribe', topic: filled(filter), returnCode: 0x80 };
    const from = { address: '127.0.0.1', username: holders[who].id };
    expect(await denial(clientId)).toMatchObject([{ ...about, ...from, code }]);
  }
  for (const [index, [who, topic, code]] of DENIED_PUBLISHES.entries()) {
    const clientId = `sends-${ids.home}-${index}`;
    const client = await home.client(holders[who], { clientId });
    await client.publish(filled(topic), '{"id":"x","state":"resolved"}', { qos: 0 });
    await client.ping();
    const about = { operation: 'publish', topic: filled(topic), returnCode: null };
    expect(await denial(clientId)).toMatchObject([{ ...about, username: holders[who].id, code }]);
  }
});

const LONG = 'x'.repeat(300);
/** CONNECTs of a device that fail: what differs from a right one, the code, its return code, and the id shown. */
const DENIED_CONNECTS: readonly (readonly [
  code: string,
  connect: Partial<IConnectPacket>,
  returnCode: number | null,
  shown?: { readonly clientId?: string; readonly username?: null; readonly detail?: string },
])[] = [
  ['wrong-password', { password: Buffer.from('wrong') }, 4],
  ['wrong-password', { password: Buffer.from('wrong'), protocolVersion: 5 }, 0x86],
  ['unknown-user-name', { username: 'hunter2' }, 4, { username: null }],
  ['unknown-user-name', { username: randomUUID() }, 4, { username: null }],
  ['client-id-too-long', { clientId: LONG }, 2, { clientId: LONG.slice(0, 256) }],
  ['client-id-reserved', { clientId: 'bridge/x' }, 2],
  ['client-id-reserved', { clientId: '$share/x' }, 2],
  [
    'malformed-connect',
    { will: { topic: '#', payload: Buffer.from('x'), qos: 0, retain: false } },
    null,
    { detail: 'unusable topic of the will' },
  ],
];

test('/connections/denied says why a CONNECT failed, and repeats no secret', async ({
  home,
  gateway,
}) => {
  const device = await home.device();
  const right = { ...credentials(device), keepalive: 60 };
  const missing = generate(connectPacket({ ...right, clientId: '' }));
  // No library sends this: the clean-session flag is cleared.
  const flagsAt = missing.indexOf('MQTT') + 5;
  missing.writeUInt8(missing.readUInt8(flagsAt) & ~0x02, flagsAt);
  const made = DENIED_CONNECTS.map(([code, options, returnCode, shown], index) => {
    const clientId = options.clientId ?? `fails-${index}`;
    const bytes = generate(connectPacket({ ...right, clientId, ...options }));
    const version = options.protocolVersion ?? 4;
    return {
      bytes,
      version,
      clientId,
      expected: { username: device.id, ...shown, code, returnCode },
    };
  });
  const nobody = generate(connectPacket({ clientId: 'nobody' }));
  const rows = [
    ...made,
    ...[{ bytes: missing, clientId: '', expected: { code: 'client-id-missing', returnCode: 2 } }],
    ...[{ bytes: nobody, clientId: 'nobody', expected: { code: 'no-credentials', returnCode: 5 } }],
    {
      bytes: Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      clientId: null,
      expected: { code: 'malformed-connect', username: null, returnCode: null },
    },
  ];
  for (const [index, { bytes, expected, ...row }] of rows.entries()) {
    const address = `127.0.14.${index + 1}`;
    const client = await openFrom(gateway, address);
    client.write(bytes);
    await client.closed();
    const all = await home.must('GET', '/connections/denied');
    const [denied, ...more] = all.list().filter((one) => one['address'] === address);
    const { detail = '', ...fields } = { detail: '', clientId: row.clientId, ...expected };
    expect(denied).toMatchObject({ operation: 'connect', topic: null, ...fields });
    expect([String(denied?.['detail']).includes(detail), more]).toEqual([true, []]);
  }
  const { text } = await home.must('GET', '/connections/denied');
  for (const secret of ['hunter2', device.secret]) expect(text).not.toContain(secret);
});

test('/connections/denied says why the gateway ended a connection', async ({ home }) => {
  const device = await home.device();
  const client = (name: string, keepalive = 60) =>
    home.client(device, { clientId: `${name}-${device.id}`, keepalive });
  const malformed = await client('malformed');
  malformed.write(Buffer.from([0x40, 2, 0, 0]));
  const [silent, replaced, next] = [
    await client('silent', 1),
    await client('taken'),
    await client('taken'),
  ];
  for (const ended of [malformed, silent, replaced]) await ended.closed();
  await home.must('POST', `./devices/${device.id}/secret`);
  await next.closed();
  const shown = async (name: string) => {
    const all = await listed(home, '/connections/denied', `${name}-${device.id}`);
    return all.map((one) => [Object(one).operation, Object(one).username, Object(one).code]);
  };
  const ended = (code: string) => ['connection', device.id, code];
  expect(await shown('malformed')).toEqual([ended('malformed-packet')]);
  expect(await shown('silent')).toEqual([ended('keep-alive-timeout')]);
  expect(await shown('taken')).toEqual([ended('credential-ended'), ended('taken-over')]);
});

test('/connections/denied has each failed login, even of those that hang up at once', async ({
  home,
  gateway,
}) => {
  const { id } = await home.device();
  const all = await times(12, async (index) => {
    const client = await openFrom(gateway, '127.0.15.1');
    const password = Buffer.from('wrong');
    const packet = connectPacket({ clientId: `${id}-${index}`, username: id, password });
    client.stream.end(generate(packet));
    return packet.clientId;
  });
  const gone = async () =>
    (await home.must('GET', '/connections/denied'))
      .list()
      .map(({ clientId }) => String(clientId))
      .filter((clientId) => clientId.startsWith(id));
  await expect.poll(async () => (await gone()).toSorted()).toEqual(all.toSorted());
});

test('/connections/denied has a repeated publish once a second, by a clock that does not jump', async ({
  own,
}) => {
  const home = await own.home({ hasStoppedClock: true });
  const { clock } = home.gateway;
  const clientId = 'floods';
  const flood = await home.client(home.manager, { clientId });
  const topics = async () =>
    (await listed(home, '/connections/denied', clientId)).map((one) => Object(one).topic);
  const send = async (...some: string[]) => {
    for (const topic of some) await flood.publish(topic, 'x', { qos: 0 });
    await flood.ping();
  };
  await send(...Array.from({ length: 100 }, () => 'a/b'), 'homeassistant/x', 'a/c');
  expect(await topics()).toEqual(['a/c', 'homeassistant/x', 'a/b']);
  await clock.jump(-60 * MINUTE_MS);
  await send('a/b');
  expect(await topics()).toHaveLength(3);
  await clock.advance(1_000);
  await send('a/b');
  expect(await topics()).toEqual(['a/b', 'a/c', 'homeassistant/x', 'a/b']);
});

test('/connections/denied has the newest 1,000, the newest first', async ({ own }) => {
  const home = await own.home({ env: NO_LIMITS });
  const nurse = await home.client();
  const filters = Array.from({ length: 1_000 }, (_, index) => `elsewhere/${index}`);
  await nurse.subscribe(filters);
  await nurse.subscribe('elsewhere/last');
  const denied = (await home.must('GET', '/connections/denied')).list();
  const newest = ['elsewhere/last', ...filters.toReversed().slice(0, -1)];
  expect(denied.map(({ topic }) => topic)).toEqual(newest);
});
