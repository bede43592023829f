/**
 * Rights: what a grant gives its holder over HTTP, in SUBSCRIBE and PUBLISH, in what it receives, on `/events` and for
 * recordings, by the tables of `rights.ts`. A new route without a need fails.
 */
import { randomUUID } from 'node:crypto';
import { EventReader } from '../harness/events.js';
import {
  ADMIN_TOKEN,
  type Asking,
  askUrl,
  expect,
  type Gateway,
  Home,
  type TestToken,
  test,
} from '../harness/index.js';
import {
  FILTERS,
  fulfils,
  type Held,
  HOLDERS,
  LISTS,
  NEEDS,
  OF_DEVICE,
  type Part,
  PUBLISHES,
  SEEN,
  UNKNOWN,
} from './rights.js';
import { fill, protectedRoutesOf, type Route } from './routes.js';

const ADMIN = { id: 'admin', token: ADMIN_TOKEN };
const NOT_AUTHORIZED = 0x87;
/** The code of a denied filter, by the version of the protocol. */
const DENIALS = [
  [4, 0x80],
  [5, NOT_AUTHORIZED],
] as const;
/** An invalid body, so that a permitted request changes nothing. */
const UNREADABLE = { body: 'no json', headers: { 'Content-Type': 'application/json' } };
const ALARM = '{"kind":"fall"}';

/** A home with a device in a room of a group and one outside of it, and another home with a device. */
async function siteOf(gateway: Gateway, home: Home) {
  const otherHome = await Home.at(gateway, 'Haus Ahorn');
  home.onClose(() => otherHome.close());
  const group = await home.group();
  const room = await home.room('Zimmer 1', group);
  const anotherGroup = await home.group('Station 2');
  const device = await home.deviceIn(room);
  const outside = await home.device('Bett 2');
  const stranger = await otherHome.device('Bett 9');
  const devices = [device, outside, stranger];
  const [alarmId, outsideAlarm] = [randomUUID(), randomUUID()];
  await home.publish(device, 'alarms', JSON.stringify({ kind: 'fall', id: alarmId }));
  await home.publish(outside, 'alarms', JSON.stringify({ kind: 'fall', id: outsideAlarm }));
  const ids = {
    home: home.locationId,
    group,
    room,
    otherHome: otherHome.locationId,
    anotherGroup,
    device: device.id,
    outside: outside.id,
    stranger: stranger.id,
    nobody: randomUUID(),
    alarmId,
    outsideAlarm,
  };
  /** With the ids in place of their names. */
  const filled = (text: string) =>
    text.replaceAll(/\{(\w+)\}/g, (_, name: string) => Object(ids)[name]);
  const inRoutes = {
    locationId: ids.home,
    groupId: group,
    roomId: room,
    deviceId: device.id,
    alarmId,
  };
  return { home, otherHome, devices, device, ids, filled, inRoutes };
}
type Site = Awaited<ReturnType<typeof siteOf>>;

function tokenOf({ home, ids }: Pick<Site, 'home' | 'ids'>, held: Held): Promise<TestToken> {
  const places = {
    everywhere: { location: '*' },
    'the home': { location: ids.home },
    'the group': { location: ids.home, group: ids.group },
    'another group': { location: ids.home, group: ids.anotherGroup },
    elsewhere: { location: ids.otherHome },
  };
  return home.token(held.map(([role, place]) => ({ ...places[place], role })));
}

/** Every device comes online, and sends a retained value, an alarm and something invalid. */
async function busy({ home, devices }: Site): Promise<void> {
  for (const device of devices) {
    await home.publish(device, 'value', '21', { qos: 1, retain: true });
    await home.publish(device, 'alarms', [ALARM, 'no JSON']);
  }
}

/** The topics about the site's devices, each once: an alarm may come as a live copy, too. */
function aboutDevices({ devices }: Site, topics: Iterable<string>, held?: Held): string[] {
  const places: Part[] = ['the group', 'the home', 'elsewhere'];
  const isSeen = (id: string) => {
    const part = places[devices.findIndex((device) => device.id === id)];
    return part !== undefined && (held === undefined || fulfils(held, ['viewer', part]));
  };
  return [...new Set(topics)].filter((topic) => isSeen(topic.split('/')[3] ?? '')).toSorted();
}

function asked({ method }: Route, token: string): Asking {
  return method === 'PATCH' || method === 'POST' ? { token, ...UNREADABLE } : { token };
}

test.for(HOLDERS)('over HTTP, on every route: $name', async ({ held }, { home, gateway }) => {
  let site = await siteOf(gateway, home);
  let { token } = await tokenOf(site, held);
  for (const route of protectedRoutesOf()) {
    const key = `${route.method} ${route.path}`;
    const need = NEEDS.find(([, routes]) => routes.includes(key))?.[0];
    if (need === undefined) throw new Error(`Who may ${key}?`);
    const answer = await home.ask(
      route.method,
      fill(route.path, site.inRoutes),
      asked(route, token),
    );
    const isPermitted = ![401, 403].includes(answer.status);
    expect([key, isPermitted]).toEqual([key, fulfils(held, need)]);
    if (!isPermitted) expect([key, answer.outcome]).toEqual([key, '403 forbidden']);
    if (route.method === 'GET' || answer.status >= 300) continue;
    // What is changed or deleted is of no more use.
    const next = await Home.at(gateway);
    home.onClose(() => next.close());
    site = await siteOf(gateway, next);
    ({ token } = await tokenOf(site, held));
  }
});

test('in every list', async ({ home, gateway }) => {
  const site = await siteOf(gateway, home);
  await busy(site);
  for (const { name: holder, held } of HOLDERS) {
    const { token } = await tokenOf(site, held);
    for (const [path, shown] of LISTS) {
      const answer = await home.ask('GET', path === '.' ? home.path : path, { token });
      for (const [name, need] of Object.entries(SEEN)) {
        const isSeen = fulfils(held, need);
        if (isSeen && !shown.includes(name)) continue;
        const isThere = answer.status === 200 && answer.text.includes(Object(site.ids)[name]);
        expect([holder, path, name, isThere]).toEqual([holder, path, name, isSeen]);
      }
    }
  }
});

test('in SUBSCRIBE, and on /events', async ({ home, gateway }) => {
  const site = await siteOf(gateway, home);
  for (const { name, held } of HOLDERS) {
    const token = await tokenOf(site, held);
    const rows = FILTERS.map(
      ([filter, need]) => [site.filled(filter), fulfils(held, need)] as const,
    );
    const filters = rows.map(([filter]) => filter);
    for (const [protocolVersion, denied] of DENIALS) {
      const client = await home.client(token, { protocolVersion });
      const codes = await client.subscribe(filters);
      const answers = filters.map((filter, index) => [name, filter, codes[index]]);
      expect(answers).toEqual(
        rows.map(([filter, isGranted]) => [name, filter, isGranted ? 1 : denied]),
      );
    }
    for (const [filter, isGranted] of rows) {
      if (filter.startsWith('$share')) continue;
      const path = `/events?filter=${encodeURIComponent(filter)}`;
      const { status } = await home.ask('GET', path, { token: token.token });
      expect([name, filter, status]).toEqual([name, filter, isGranted ? 200 : 403]);
    }
  }
});

test('in PUBLISH', async ({ home, gateway }) => {
  const site = await siteOf(gateway, home);
  const payload = JSON.stringify({ id: site.ids.alarmId, state: 'acknowledged' });
  for (const { name, held } of HOLDERS) {
    const client = await home.client(await tokenOf(site, held), { protocolVersion: 5 });
    for (const [topic, need] of PUBLISHES) {
      const answer = await client.publish(site.filled(topic), payload);
      const isPermitted = Object(answer).reasonCode !== NOT_AUTHORIZED;
      expect([name, topic, isPermitted]).toEqual([name, topic, fulfils(held, need)]);
    }
  }
});

test('in what it receives by wildcards, also on /events', async ({ home, gateway }) => {
  const site = await siteOf(gateway, home);
  const witness = await home.client(ADMIN);
  await witness.subscribe('#');
  const receivers = [];
  for (const { name, held } of HOLDERS) {
    const token = await tokenOf(site, held);
    const [plain, shared] = [await home.client(token), await home.client(token)];
    await plain.subscribe('#');
    await shared.subscribe('$share/ward/#');
    const events = await EventReader.open(gateway, token, { filters: ['#'] });
    home.onClose(() => events.close());
    receivers.push({ name, held, token, clients: [plain, shared], events });
  }
  await busy(site);
  const all = () => aboutDevices(site, witness.topics);
  // value, alarms/fall, rejected and status
  await witness.until(() => all().length === 4 * site.devices.length, 'all messages');
  for (const { name, held, token, clients, events } of receivers) {
    const expected = [name, ...aboutDevices(site, all(), held)];
    for (const client of clients) {
      const came = () => [name, ...aboutDevices(site, client.topics)];
      await client.until(() => came().length >= expected.length, 'what it may see');
      await client.ping();
      expect(came()).toEqual(expected);
    }
    const topics = () => events.messages().map(({ topic }) => topic);
    await expect.poll(() => [name, ...aboutDevices(site, topics())]).toEqual(expected);
    for (const { id } of site.devices) {
      const isKept = (topic: string) => topic.includes(id) && /\/(value|status)$/.test(topic);
      const retained = await home.retained(`care-homes/+/devices/${id}/#`, token);
      expect([...retained.keys()].toSorted()).toEqual(expected.filter(isKept));
    }
  }
});

test('for a recording', async ({ home, gateway }) => {
  const site = await siteOf(gateway, home);
  const footagePath = `/devices/${site.device.id}/footage`;
  const json = { type: 'video', contentType: 'video/mp4' };
  const upload = await home.must('POST', footagePath, { device: site.device, json });
  const headers = { 'Content-Type': 'video/mp4' };
  await askUrl('PUT', upload.string('uploadUrl'), { body: 'a recording', headers });
  const footage = { video: upload.string('key') };
  await home.publish(site.device, 'alarms', JSON.stringify({ kind: 'fall', footage }));
  const { pathname } = new URL(upload.string('uploadUrl'));
  for (const { name, held } of HOLDERS) {
    const { token } = await tokenOf(site, held);
    const listed = await home.ask('GET', `./devices/${site.device.id}/alarms`, { token });
    const isPermitted = fulfils(held, ['viewer', 'the group']);
    expect([name, listed.outcome]).toEqual([name, isPermitted ? '200' : '403 forbidden']);
    // The path alone is of no use, whoever asks: the signature of the URL permits.
    expect((await home.ask('GET', pathname, { token })).outcome).toBe('403 forbidden');
    if (!isPermitted) continue;
    const read = await askUrl('GET', listed.string('events.0.footage.video'));
    expect([name, read.status, read.text]).toEqual([name, 200, 'a recording']);
  }
});

const OTHER_IDS: readonly (readonly [string, (site: Site) => object])[] = [
  ['of another home', ({ ids }) => ({ locationId: ids.home, deviceId: ids.device })],
  ['that are missing', () => ({ locationId: randomUUID() })],
  ['that could not exist', () => ({ locationId: 'nowhere', groupId: '7', deviceId: '%2e%2e%2fx' })],
];

test.for(OTHER_IDS)(
  'without a grant on a location, every route is 403 for ids %s',
  async ([, idsOf], { home, gateway }) => {
    const site = await siteOf(gateway, home);
    const { token } = await home.token([{ location: randomUUID(), role: 'manager' }]);
    for (const route of protectedRoutesOf()) {
      if (!route.path.includes(':locationId')) continue;
      const path = fill(route.path, { ...site.inRoutes, ...idsOf(site) });
      const answer = await home.ask(route.method, path, asked(route, token));
      expect([route.method, path, answer.outcome]).toEqual([route.method, path, '403 forbidden']);
    }
  },
);

test('with a grant on a group, the rest of the home looks like what is missing', async ({
  home,
  gateway,
}) => {
  const site = await siteOf(gateway, home);
  const { token } = await tokenOf(site, [['manager', 'the group']]);
  const { home: locationId, outside: deviceId, anotherGroup: groupId, outsideAlarm } = site.ids;
  const outside = { deviceId, groupId, roomId: await home.room('Keller'), alarmId: outsideAlarm };
  const malformed = { deviceId: 'x', groupId: '7', roomId: 'Zimmer%201' };
  for (const route of protectedRoutesOf()) {
    // Its answer does not depend on the alarm: a responder of any part of the home may ask.
    if (route.method === 'POST' && route.path.includes(':alarmId')) continue;
    if (!/:(device|room|group|alarm)Id/.test(route.path)) continue;
    for (const ids of [outside, {}, malformed]) {
      const path = fill(route.path, { ...ids, locationId });
      const answer = await home.ask(route.method, path, asked(route, token));
      expect([route.method, path, answer.outcome]).toEqual([route.method, path, '403 forbidden']);
    }
  }
  for (const alarm of [outsideAlarm, randomUUID()]) {
    const path = `./alarms/${alarm}/acknowledge`;
    expect((await home.ask('POST', path, { token })).outcome).toBe('403 forbidden');
  }
});

test('devices, rooms and groups are found through their own location only', async ({
  home,
  gateway,
}) => {
  const site = await siteOf(gateway, home);
  const { token } = await tokenOf(site, [['manager', 'elsewhere']]);
  for (const route of protectedRoutesOf()) {
    const [, kind] = /:(device|group|room)Id/.exec(route.path) ?? [];
    if (kind === undefined) continue;
    const path = fill(route.path, { ...site.inRoutes, locationId: site.ids.otherHome });
    const target = path.includes('/rooms/')
      ? { targetGroupId: site.ids.nobody }
      : { targetRoomId: null };
    const valid = route.path.endsWith('/move') ? { json: target } : undefined;
    for (const asking of [valid ?? asked(route, token), valid ?? asked(route, ADMIN_TOKEN)]) {
      const { outcome } = await home.ask(route.method, path, { token, ...asking });
      expect([route.method, path, outcome]).toEqual([route.method, path, `404 ${kind}-not-found`]);
    }
  }
});

test('who may look learns what is missing, and what is no id', async ({ home, gateway }) => {
  const site = await siteOf(gateway, home);
  for (const [path, outcome] of UNKNOWN) {
    const answer = await home.ask('GET', `/care-homes/${site.filled(path)}`);
    expect([path, answer.outcome]).toEqual([path, outcome]);
  }
});

test('ids may be written in upper or lower case', async ({ home, gateway }) => {
  const site = await siteOf(gateway, home);
  const location = home.locationId.toUpperCase();
  const { id, token } = await home.token([{ location, role: 'viewer' }]);
  const path = `/care-homes/${location}/devices/${site.device.id.toUpperCase()}`;
  const answer = await home.must('GET', path, { token });
  expect([answer.id, answer.at('locationId')]).toEqual([site.device.id, home.locationId]);
  const client = await home.client({ id: id.toUpperCase(), token });
  await client.subscribe(`care-homes/${location}/devices/${site.device.id.toUpperCase()}/value`);
  await home.publish(site.device, 'value', '21');
  await client.untilCount(1);
});

test('a device subscribes to its commands and rejected publishes only', async ({
  home,
  gateway,
}) => {
  const site = await siteOf(gateway, home);
  const client = await home.client(site.device);
  const codes = await client.subscribe(OF_DEVICE.map(([filter]) => site.filled(filter)));
  const expected = OF_DEVICE.map(([filter, isGranted]) => [filter, isGranted ? 1 : 0x80]);
  expect(codes.map((code, index) => [OF_DEVICE[index]?.[0], code])).toEqual(expected);
  await client.ping();
});

test('a device is seen from its move into the location to its move out of it', async ({
  home,
  gateway,
}) => {
  const site = await siteOf(gateway, home);
  const { stranger: id, otherHome } = site.ids;
  const device = site.devices.find((one) => one.id === id) ?? site.device;
  const nurse = await home.nurse({ filters: ['#'] });
  const move = (from: string, targetLocationId: string) =>
    home.must('POST', `/care-homes/${from}/devices/${id}/move`, { json: { targetLocationId } });
  const alarm = (n: number) => home.publish(device, 'alarms', `{"kind":"fall","n":${n}}`);
  await alarm(1);
  await move(otherHome, home.locationId);
  await alarm(2);
  await move(home.locationId, otherHome);
  await alarm(3);
  await move(otherHome, home.locationId);
  await alarm(4);
  const seen = () => nurse.messages(`${id}/alarms`).map(({ data }) => Object(data).n);
  await nurse.until(() => seen().includes(4));
  expect(new Set(seen())).toEqual(new Set([2, 4]));
});

test('a grant on every location covers one that is created later', async ({ home, gateway }) => {
  const token = await home.token([{ location: '*', role: 'viewer' }]);
  const nurse = await home.nurse({ token, filters: ['care-homes/+/devices/+/alarms/#'] });
  const later = await Home.at(gateway);
  home.onClose(() => later.close());
  await later.publish(await later.device(), 'alarms', ALARM);
  await nurse.until(({ received }) =>
    received.some(({ topic }) => topic.includes(later.locationId)),
  );
});
