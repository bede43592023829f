/**
 * Access tokens and logins (contract 2 and 3): how a token is created, changed and used, what ends with a credential,
 * which requests are turned away, and how guessing is slowed down.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { EventReader } from '../harness/events.js';
import {
  ADMIN_TOKEN,
  type Answer,
  Client,
  type Credentials,
  createToken,
  expect,
  type Gateway,
  type Home,
  NO_LIMITS,
  type TestDevice,
  type TestToken,
  testWith,
} from '../harness/index.js';
import { fill, OPEN_PATHS, protectedRoutesOf, takesJson } from './routes.js';

const test = testWith({
  env: { ...NO_LIMITS, GATEWAY_LOG_LEVEL: 'debug' },
  isHurried: true,
});

const [MINUTE_MS, LATER] = [60_000, '2100-01-01T00:00:00.000Z'];
const VIEWER = [{ location: '*', role: 'viewer' }];
const [BAD_CREDENTIALS, CREDENTIAL_ENDED] = [4, 0x87];

let lastAddress = 0;

/** The code of a login from an address that no login has failed from. */
async function codeOf({ mqttPort }: Gateway, who: Credentials): Promise<number> {
  const client = await Client.open({ mqttPort, localAddress: `127.0.20.${++lastAddress}` });
  const code = await client.login(who);
  client.vanish();
  return code;
}

function inAMinute({ clock }: Gateway): string {
  return new Date(clock.now() + MINUTE_MS).toISOString();
}

async function shown(home: Home, id: string): Promise<unknown> {
  return (await home.must('GET', `/access-tokens/${id}`)).json;
}

test('a token is shown once, and listed without its secret', async ({ home, gateway }) => {
  const location = home.locationId;
  const grants = [
    { location, role: 'manager' },
    { location, group: randomUUID(), role: 'viewer' },
    { location: '*', role: 'admin' },
  ];
  const sent = { name: ' Nurse call ', grants, expiresAt: LATER };
  const created = await home.must('POST', '/access-tokens', { json: sent });
  const token = created.string('token');
  expect(created.status).toBe(201);
  expect(token.length).toBeGreaterThanOrEqual(40);
  const record = { id: created.id, name: 'Nurse call', grants, expiresAt: LATER, lastUsedAt: null };
  expect(created.json).toEqual({ ...record, token, createdAt: expect.any(String) });
  const listed = await home.must('GET', '/access-tokens');
  expect(listed.list()).toContainEqual({ ...record, createdAt: created.at('createdAt') });
  expect(await shown(home, created.id)).toEqual({ ...record, createdAt: created.at('createdAt') });
  for (const secret of [token, ADMIN_TOKEN]) {
    expect(listed.text + gateway.lines.join('')).not.toContain(secret);
  }
  const without = await home.must('POST', '/access-tokens', {
    json: { name: 'x', grants: VIEWER },
  });
  expect(without.at('expiresAt')).toBeNull();
});

const [location, group] = [randomUUID(), randomUUID()];
/** What neither a new nor a changed token may have, and where the fault is said to be. */
const WRONG_FIELDS: readonly (readonly [fields: object, paths: string[]])[] = [
  [{ grants: [] }, ['grants']],
  [{ grants: { location: '*', role: 'viewer' } }, ['grants']],
  [{ grants: [{ location, role: 'owner' }] }, ['grants.0.role']],
  [{ grants: [{ location: 'here', role: 'viewer' }] }, ['grants.0.location']],
  [{ grants: [{ location, role: 'admin' }] }, ['grants.0.role']],
  [{ grants: [{ location: '*', group, role: 'viewer' }] }, ['grants.0.group']],
  [{ grants: [{ location, group: 'ground floor', role: 'viewer' }] }, ['grants.0.group']],
  [{ grants: [{ location, group: null, role: 'viewer' }] }, ['grants.0.group']],
  [{ grants: [{ location, gruop: group, role: 'viewer' }] }, ['grants.0.gruop']],
  [{ expiresAt: '2020-01-01T00:00:00Z' }, ['expiresAt']],
  [{ expiresAt: '2099-01-01T00:00:00' }, ['expiresAt']],
  [{ expiresAt: '9999-12-31T23:59:59-05:00' }, ['expiresAt']],
  [{ expiresAt: 4e12 }, ['expiresAt']],
  [{ name: '' }, ['name']],
  [{ token: 'x', name: 'x' }, ['token']],
];

test('a token with wrong fields is neither created nor changed', async ({ home }) => {
  const { id } = await home.token();
  const before = await home.must('GET', '/access-tokens');
  for (const [fields, paths] of WRONG_FIELDS) {
    const whole = { name: 'x', grants: VIEWER, ...fields };
    const answers = [
      await home.ask('POST', '/access-tokens', { json: whole }),
      await home.ask('PATCH', `/access-tokens/${id}`, { json: fields }),
    ];
    for (const { outcome, problem } of answers) {
      const found = problem.errors?.map(({ path }) => path);
      expect([fields, outcome, found]).toEqual([fields, '400 invalid-request', paths]);
    }
  }
  const path = '/access-tokens/admin';
  expect((await home.ask('PATCH', path, { json: {} })).outcome).toBe('400 invalid-request');
  expect((await home.ask('DELETE', path)).outcome).toBe('400 invalid-request');
  const nothing = await home.ask('PATCH', `/access-tokens/${id}`, { json: {} });
  expect(nothing.outcome).toBe('400 invalid-request');
  const list = (answer: Answer) => answer.list().map(({ lastUsedAt: _, ...record }) => record);
  expect(list(await home.must('GET', '/access-tokens'))).toEqual(list(before));
});

test('a change keeps the fields that it does not name', async ({ home }) => {
  const { id } = await home.token([{ location: '*', role: 'viewer' }], 'board');
  const change = async (json: object) =>
    (await home.must('PATCH', `/access-tokens/${id}`, { json })).json;
  const manager = [{ location: '*', role: 'manager' }];
  expect(await change({ name: ' wall ' })).toMatchObject({ name: 'wall', grants: VIEWER });
  const until = { expiresAt: LATER };
  expect(await change(until)).toMatchObject({ name: 'wall', grants: VIEWER, ...until });
  expect(await change({ grants: manager })).toMatchObject({ grants: manager, ...until });
  expect(await change({ expiresAt: null })).toMatchObject({ grants: manager, expiresAt: null });
});

test('grants may name what does not exist, and outlive what they name', async ({ home, own }) => {
  const other = await own.homeAt(home.gateway);
  const grants = [
    { location: other.locationId, role: 'viewer' },
    { location: randomUUID(), role: 'manager' },
  ];
  const { id, token } = await home.token(grants);
  const homes = async () => (await home.must('GET', '/care-homes', { token })).list();
  expect((await homes()).map((one) => one['id'])).toEqual([other.locationId]);
  await home.must('DELETE', other.path);
  expect(await homes()).toEqual([]);
  expect(await shown(home, id)).toMatchObject({ grants });
});

test('new grants apply at once, over HTTP and to open connections', async ({ home, own }) => {
  const other = await own.homeAt(home.gateway);
  const token = await home.token();
  const nurse = await home.client(token);
  await nurse.subscribe('care-homes/+/devices/+/value');
  const devices = [await home.device(), await other.device()];
  const raise = async () => {
    for (const device of devices) await home.publish(device, 'value', '1');
  };
  await raise();
  const grants = [{ location: other.locationId, role: 'viewer' }];
  await home.must('PATCH', `/access-tokens/${token.id}`, { json: { grants } });
  const listed = await home.must('GET', '/care-homes', token);
  expect(listed.list().map(({ id }) => id)).toEqual([other.locationId]);
  await raise();
  await nurse.untilCount(2);
  expect(nurse.topics.map((topic) => topic.split('/')[3])).toEqual(devices.map(({ id }) => id));
  expect(nurse.isClosed).toBe(false);
});

test('the last use of a token is shown, and survives a restart', async ({ own }) => {
  const home = await own.home();
  const [http, mqtt, unused] = [await home.token(), await home.token(), await home.token()];
  const beforeMs = Date.now();
  await home.must('GET', '/care-homes', http);
  await (await home.client(mqtt)).end();
  const uses = async () => {
    const all = (await home.must('GET', '/access-tokens')).list();
    return [http, mqtt, unused].map(
      ({ id }) => all.find((one) => one['id'] === id)?.['lastUsedAt'],
    );
  };
  const used = await uses();
  expect(used[2]).toBeNull();
  for (const at of used.slice(0, 2))
    expect(Date.parse(String(at))).toBeGreaterThanOrEqual(beforeMs);
  await home.gateway.restart();
  expect(await uses()).toEqual(used);
});

interface Ending {
  readonly name: string;
  readonly who: (home: Home) => Promise<TestToken | TestDevice>;
  /** Ends the credential. Resolves to how to come back: with the new one, or with the old one that is valid again. */
  readonly end: (home: Home, id: string) => Promise<(() => Promise<object>) | undefined>;
}

const ENDINGS: readonly Ending[] = [
  {
    name: 'a token that is deleted',
    who: (home) => home.token('manager'),
    end: async (home, id) => {
      await home.must('DELETE', `/access-tokens/${id}`);
      const again = await home.ask('DELETE', `/access-tokens/${id}`);
      expect(again.outcome).toBe('404 access-token-not-found');
      return undefined;
    },
  },
  {
    name: 'a token with a new secret',
    who: (home) => home.token('manager'),
    end: async (home, id) => {
      const renewed = await home.must('POST', `/access-tokens/${id}/secret`);
      expect(renewed.id).toBe(id);
      return async () => ({ token: renewed.string('token') });
    },
  },
  {
    name: 'a token that expires, which keeps its sessions for a clock that is wrong',
    who: ({ gateway, locationId }) =>
      createToken(gateway, [{ location: locationId, role: 'manager' }], 'x', inAMinute(gateway)),
    end: async (home, id) => {
      await home.gateway.clock.advance(MINUTE_MS);
      return async () => {
        await home.must('PATCH', `/access-tokens/${id}`, { json: { expiresAt: null } });
        return {};
      };
    },
  },
  {
    name: 'a device that is deleted',
    who: (home) => home.device(),
    end: async (home, id) => {
      await home.must('DELETE', `./devices/${id}`);
      return undefined;
    },
  },
  {
    name: 'a device with a new secret',
    who: (home) => home.device(),
    end: async (home, id) => {
      const secret = (await home.must('POST', `./devices/${id}/secret`)).string('secret');
      return async () => ({ secret });
    },
  },
];

test.for(ENDINGS)('what ends with $name', async ({ who: create, end }, { home, gateway }) => {
  const who = await create(home);
  const isDevice = 'secret' in who;
  const clientId = `of-${who.id}`;
  const [filter, topic] = isDevice
    ? [`devices/${who.id}/commands/#`, home.filter(who, 'commands/x')]
    : [home.filter(), home.filter(await home.device(), 'commands/x')];
  const properties = { sessionExpiryInterval: 3_600 };
  const session = { clientId, clean: false, protocolVersion: 5, properties } as const;
  const live = [await home.client(who, session), await home.client(who, { protocolVersion: 5 })];
  const other = await home.client();
  const stream = isDevice ? undefined : await EventReader.open(gateway, who);
  await stream?.opened();
  await live[0]?.subscribe(filter);
  const isListed = async () =>
    (await home.must('GET', '/sessions?limit=100')).text.includes(`"${clientId}"`);
  expect(await isListed()).toBe(true);
  const comeBack = await end(home, who.id);
  for (const client of live) {
    expect((await client.next('disconnect')).reasonCode).toBe(CREDENTIAL_ENDED);
    await client.closed();
  }
  await stream?.untilEnd();
  await other.ping();
  expect(await codeOf(gateway, who)).toBe(BAD_CREDENTIALS);
  if (!isDevice) {
    const refused = await home.ask('GET', '/care-homes', { token: who.token });
    expect(refused.outcome).toBe('401 unauthenticated');
  }
  if (comeBack === undefined) {
    await expect.poll(isListed).toBe(false);
    return;
  }
  expect(await isListed()).toBe(true);
  const [manager, sensor] = [await home.client(home.manager), await home.device('Bett 2')];
  await (isDevice
    ? manager.publish(topic, '"x"')
    : home.publish(sensor, 'alarms', '{"kind":"fall"}'));
  const back = await home.client({ ...who, ...(await comeBack()) }, session);
  expect(back.sessionPresent).toBe(true);
  await back.untilRecords(1);
  if (!isDevice) await home.must('GET', '/care-homes', { token: who.token, ...(await comeBack()) });
});

test('a token that expired by a clock that was ahead is valid again when the clock is right', async ({
  own,
}) => {
  const home = await own.home({ isHurried: true });
  const { gateway } = home;
  const who = await createToken(gateway, VIEWER, 'short', inAMinute(gateway));
  const { token } = who;
  const client = await home.client(who);
  const status = async () => (await home.ask('GET', '/care-homes', { token })).status;
  await gateway.clock.jump(MINUTE_MS);
  expect(await status()).toBe(401);
  await client.closed();
  await gateway.clock.jump(-MINUTE_MS);
  expect(await status()).toBe(200);
  await gateway.restart();
  expect(await status()).toBe(200);
});

/** Sends a request without the last byte of its body. Resolves to what sends it, and reads the outcome. */
async function heldBack(
  { httpPort }: Gateway,
  [method, path, authorization, body]: readonly [string, string, string, string],
): Promise<() => Promise<string>> {
  const headers = {
    Authorization: authorization,
    'Content-Length': Buffer.byteLength(body),
    'Content-Type': 'application/json',
    Expect: '100-continue',
  };
  const place = { port: httpPort, host: '127.0.0.1', agent: false };
  const request = httpRequest({ ...place, method, path, headers });
  request.flushHeaders();
  // The gateway asks for the body once the guards have let the request pass.
  await once(request, 'continue');
  request.write(body.slice(0, -1));
  return async () => {
    request.end(body.slice(-1));
    const [response] = await once(request, 'response');
    return `${response.statusCode} ${Object(await readJson(response)).code ?? 'done'}`;
  };
}

const NAME = '{"name":"x"}';
const UPLOAD = '{"type":"video","contentType":"video/mp4"}';

test('a body whose last byte comes after its token was deleted changes nothing, on any route', async ({
  home,
  gateway,
}) => {
  const groupId = await home.group();
  const roomId = await home.room('Zimmer 1', groupId);
  const { id: deviceId } = await home.deviceIn(roomId);
  const ids = { locationId: home.locationId, deviceId, groupId, roomId };
  const routes = protectedRoutesOf().filter(
    (route) => takesJson(route) || (route.method === 'PATCH' && route.path.includes('custom-data')),
  );
  expect(routes.length).toBeGreaterThan(10);
  const { id, token } = await home.token([{ location: '*', role: 'admin' }]);
  const finishes = await Promise.all(
    routes.map(({ method, path }) =>
      heldBack(gateway, [method, fill(path, ids), `Bearer ${token}`, NAME]),
    ),
  );
  await home.must('DELETE', `/access-tokens/${id}`);
  const outcomes = await Promise.all(finishes.map((finish) => finish()));
  expect(outcomes).toEqual(routes.map(() => '401 unauthenticated'));
});

test('a right that ends while the body comes permits nothing', async ({ home, gateway }) => {
  const admin = [{ location: '*', role: 'admin' }];
  const { token } = await createToken(gateway, admin, 'x', inAMinute(gateway));
  const creation = ['POST', '/care-homes', `Bearer ${token}`, NAME] as const;
  const late = await heldBack(gateway, creation);
  expect(await (await heldBack(gateway, creation))()).toBe('201 done');
  await gateway.clock.advance(MINUTE_MS);
  expect(await late()).toBe('401 unauthenticated');

  const [ward, camera] = [await home.group(), await home.device()];
  const room = await home.room('Zimmer 1', ward);
  await home.move(camera, { targetRoomId: room });
  const manager = await home.token([{ role: 'manager', group: ward }]);
  const bearer = `Bearer ${manager.token}`;
  const path = `${home.path}/devices/${camera.id}`;
  const finishes = [
    await heldBack(gateway, ['PATCH', `${path}/custom-data`, bearer, NAME]),
    await heldBack(gateway, ['POST', `${path}/move`, bearer, `{"targetRoomId":"${room}"}`]),
  ];
  await home.move(camera, { targetRoomId: null });
  for (const finish of finishes) expect(await finish()).toBe('403 forbidden');
  expect((await home.must('GET', path)).at('roomId')).toBeNull();
  expect((await home.must('GET', `${path}/custom-data`)).json).toEqual({});

  const basic = `Basic ${Buffer.from(`${camera.id}:${camera.secret}`).toString('base64')}`;
  const upload = ['POST', `/devices/${camera.id}/footage`, basic, UPLOAD] as const;
  const last = await heldBack(gateway, upload);
  expect(await (await heldBack(gateway, upload))()).toBe('201 done');
  await home.must('POST', `${path}/secret`);
  expect(await last()).toBe('401 unauthenticated');
});

test('a change that waits for the store behind the end of its right is not made', async ({
  home,
}) => {
  const { id, token } = await home.token([{ location: '*', role: 'admin' }]);
  const store = await home.store();
  store.freeze();
  const deletion = home.ask('DELETE', `/access-tokens/${id}`);
  // The gateway reads requests in the order in which they come.
  await home.ask('GET', '/healthz');
  const json = { name: 'heir', grants: [{ location: '*', role: 'admin' }] };
  const creation = home.ask('POST', '/access-tokens', { token, json });
  await home.ask('GET', '/healthz');
  store.thaw();
  expect((await deletion).status).toBe(204);
  expect((await creation).outcome).toBe('401 unauthenticated');
  expect((await home.must('GET', '/access-tokens')).text).not.toContain('heir');
});

test('every route except the open ones is 401 without a token', async ({ home }) => {
  for (const { method, path } of protectedRoutesOf()) {
    const answer = await home.ask(method, fill(path), { token: null });
    const found = [method, path, answer.outcome, answer.headers['www-authenticate']];
    expect(found).toEqual([method, path, '401 unauthenticated', 'Bearer']);
  }
  const [script = ''] = /console\/[\w.-]+\.js/.exec((await home.ask('GET', '/')).text) ?? [];
  for (const path of OPEN_PATHS) {
    // The names of its files contain a digest.
    const url = path === '/console/:file' ? `/${script}` : fill(path);
    // The path of MQTT over WebSocket, without an upgrade.
    const status = path === '/mqtt' ? 426 : 200;
    expect([path, (await home.ask('GET', url, { token: 'nobody' })).status]).toEqual([
      path,
      status,
    ]);
  }
});

const AUTHORIZATIONS: readonly (readonly [value: string, outcome: string])[] = [
  [`bEARER ${ADMIN_TOKEN}`, '200'],
  ['Bearer nobody', '401 unauthenticated'],
  [`Basic ${ADMIN_TOKEN}`, '401 unauthenticated'],
  [ADMIN_TOKEN, '401 unauthenticated'],
  ['Bearer ', '401 unauthenticated'],
  [`Bearer ${ADMIN_TOKEN}, Bearer ${ADMIN_TOKEN}`, '401 unauthenticated'],
  [`Bearer admin:${ADMIN_TOKEN}`, '401 unauthenticated'],
];

test('a token is one Bearer credential, and nothing tells what it was', async ({
  home,
  gateway,
}) => {
  for (const [value, outcome] of AUTHORIZATIONS) {
    const headers = { Authorization: value };
    const answer = await home.ask('GET', '/care-homes', { token: null, headers });
    expect([value, answer.outcome]).toEqual([value, outcome]);
  }
  const guess = { token: 'guess-secret' };
  const answer = await home.ask('GET', '/care-homes?token=query-secret', guess);
  expect(answer.problem.instance).toBe('/care-homes');
  // As an integrator mistypes it: the token in the place of the id, which looks like an id, too.
  const typed = randomUUID();
  expect(await codeOf(gateway, { username: typed, password: 'admin' })).toBe(BAD_CREDENTIALS);
  await expect
    .poll(async () => (await home.ask('GET', '/audit')).text)
    .toContain('authentication.refused');
  const lists = ['/audit', '/connections/denied'].map((path) => home.ask('GET', path));
  const shownTexts = (await Promise.all(lists)).map(({ text }) => text);
  const everything = [answer.text, ...shownTexts, ...gateway.lines].join('\n');
  for (const secret of ['guess-secret', 'query-secret', ADMIN_TOKEN, typed]) {
    expect(everything).not.toContain(secret);
  }
});
