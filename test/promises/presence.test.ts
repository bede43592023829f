/**
 * Presence: whether a device is online, itself or through a hub, over HTTP and as its retained `status` (contract 3),
 * which follows every change of its place and name. Also the status of the gateway.
 */
import {
  Client,
  describe,
  expect,
  type Home,
  type Nurse,
  type TestDevice,
  type TestToken,
  test,
} from '../harness/index.js';

const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS;

/** Subscribes to the statuses of a device. */
async function watch(home: Home, device?: TestDevice): Promise<Nurse> {
  const nurse = await home.nurse({ filters: [home.filter(device, 'status')] });
  await nurse.flush();
  return nurse;
}

function onlineOf(nurse: Nurse): unknown[] {
  return nurse.messages('/status').map(({ online }) => online);
}

async function untilOnline(nurse: Nurse, ...states: boolean[]): Promise<void> {
  await nurse.until(() => nurse.received.length >= states.length, `${states.length} statuses`);
  expect(onlineOf(nurse)).toEqual(states);
}

/** The device as HTTP shows it. */
async function shown(home: Home, { id }: TestDevice) {
  const answer = await home.must('GET', `./devices/${id}`);
  return {
    online: answer.at('online'),
    lastSeenAt: answer.at('lastSeenAt'),
    via: answer.at('via'),
  };
}

async function lastSeenMs(home: Home, device: TestDevice): Promise<number> {
  return Date.parse(String((await shown(home, device)).lastSeenAt));
}

async function retainedStatus(home: Home, device: TestDevice): Promise<unknown> {
  const topic = home.filter(device, 'status');
  return (await home.retained(topic)).get(topic);
}

/** Connects as the device and leaves. */
async function visit(home: Home, device: TestDevice): Promise<void> {
  await (await Client.connect(home.gateway, device)).end();
}

describe('a device', () => {
  test('is online while it is connected, over MQTT and HTTP alike, and its status is retained', async ({
    home,
  }) => {
    const device = await home.device();
    expect(await shown(home, device)).toMatchObject({ online: false, lastSeenAt: null });
    const nurse = await watch(home, device);
    const sensor = await home.client(device);
    await untilOnline(nurse, true);
    expect(await shown(home, device)).toMatchObject({ online: true });
    await sensor.end();
    await untilOnline(nurse, true, false);
    const lastSeenAt = expect.stringMatching(/Z$/);
    expect(await shown(home, device)).toMatchObject({ online: false, lastSeenAt });
    expect(nurse.messages()[0]).toMatchObject({
      since: expect.stringMatching(/Z$/),
      device: { id: device.id },
      room: null,
      customData: {},
    });
    const late = await watch(home, device);
    expect(late.received).toMatchObject([{ retain: true, qos: 1 }]);
    expect(late.messages()).toEqual([nurse.messages()[1]]);
  });

  test('is offline when it falls silent, and not while it changes its connection', async ({
    home,
  }) => {
    const device = await home.device();
    const nurse = await watch(home, device);
    const session = { clientId: `sensor-${device.id}` };
    await home.client(device, session);
    await untilOnline(nurse, true);
    const again = await home.client(device, { ...session, keepalive: 1 });
    await again.ping();
    expect(onlineOf(nurse)).toEqual([true]);
    // It says nothing more.
    await untilOnline(nurse, true, false);
  });

  test('stays online while it has another connection', async ({ home }) => {
    const device = await home.device();
    const nurse = await watch(home, device);
    const first = await home.client(device, { clientId: `${device.id}-1` });
    const second = await home.client(device, { clientId: `${device.id}-2` });
    const from = home.gateway.lines.length;
    await first.end();
    await home.gateway.logged(`"clientId":"${device.id}-1"`, from);
    expect(await shown(home, device)).toMatchObject({ online: true });
    await second.end();
    await untilOnline(nurse, true, false);
  });

  test.for(['stop', 'kill'])(
    'is offline that disappeared during a %s of the gateway',
    { timeout: 60_000 },
    async (way, { own }) => {
      const home = await own.home({ kind: way === 'kill' ? 'process' : 'here' });
      const device = await home.device();
      const before = await watch(home, device);
      await home.client(device);
      await untilOnline(before, true);
      await (way === 'kill' ? home.gateway.kill() : home.gateway.stop());
      await home.gateway.start();
      const after = await watch(home, device);
      await after.until(() => onlineOf(after).at(-1) === false, 'the end of the device');
      expect(await shown(home, device)).toMatchObject({ online: false });
    },
  );

  test('is offline that left while the store refused writes', async ({ own }) => {
    const redis = await own.redis();
    const home = await own.home({ env: { GATEWAY_REDIS_URL: `unix://${redis.socketPath}` } });
    const device = await home.device();
    const nurse = await watch(home, device);
    const sensor = await home.client(device);
    await untilOnline(nurse, true);
    await redis.redis.config('SET', 'maxmemory', '1');
    await sensor.end();
    await home.gateway.logged(/failed to (announce presence|publish statuses)/);
    await redis.redis.config('SET', 'maxmemory', '0');
    await nurse.until(() => onlineOf(nurse).at(-1) === false, 'the end of the device');
    await expect.poll(() => retainedStatus(home, device)).toMatchObject({ online: false });
  });

  test.for(['deleted', 'moved to another home'])(
    'that is %s is gone for its home',
    async (way, { home }) => {
      const device = await home.device();
      const nurse = await watch(home, device);
      const sensor = await home.client(device);
      await untilOnline(nurse, true);
      await sensor.publish(`devices/${device.id}/temperature`, '21', { retain: true });
      if (way === 'deleted') await home.must('DELETE', `./devices/${device.id}`);
      else {
        const { id } = await home.must('POST', '/care-homes', { json: { name: 'Elm' } });
        await home.move(device, { targetLocationId: id });
      }
      await untilOnline(nurse, true, false);
      await expect.poll(() => home.retained(home.filter(device))).toEqual(new Map());
      if (way !== 'deleted') return;
      // A new one with its id begins anew.
      await home.must('POST', './devices', { json: { id: device.id, name: 'Bett 2' } });
      expect(await shown(home, device)).toMatchObject({ online: false, lastSeenAt: null });
    },
  );

  test('was last seen by the corrected clock, after it was wrong for a while', async ({ own }) => {
    const home = await own.home();
    const { clock } = home.gateway;
    const device = await home.device();
    await clock.jump(YEAR_MS);
    await visit(home, device);
    await expect.poll(() => lastSeenMs(home, device)).toBeGreaterThan(Date.now() + YEAR_MS / 2);
    await clock.jump(-YEAR_MS);
    await visit(home, device);
    await expect.poll(() => lastSeenMs(home, device)).toBeLessThan(Date.now() + YEAR_MS / 2);
  });
});

describe('a status', () => {
  /** A device in a room of a group, whose status is offline. */
  async function placed(home: Home) {
    const [group, otherGroup] = [await home.group('Nord'), await home.group('Ost')];
    const room = await home.room('Zimmer 1', group);
    const otherRoom = await home.room('Zimmer 2', group);
    const device = await home.deviceIn(room);
    await visit(home, device);
    await expect.poll(() => retainedStatus(home, device)).toMatchObject({ online: false });
    return { device, path: `./devices/${device.id}`, group, otherGroup, room, otherRoom };
  }
  type Placed = Awaited<ReturnType<typeof placed>>;

  /** A request that changes what the status shows. */
  const CHANGES: readonly [
    what: string,
    request: (placed: Placed) => readonly [method: string, path: string, json: object],
    shown: object,
  ][] = [
    [
      'custom data',
      ({ path }) => ['PATCH', `${path}/custom-data`, { bed: 'B' }],
      { customData: { bed: 'B' } },
    ],
    ['name', ({ path }) => ['PATCH', path, { name: 'Bett 9' }], { device: { name: 'Bett 9' } }],
    [
      'name of the room',
      ({ room }) => ['PATCH', `./rooms/${room}`, { name: 'Bad' }],
      { room: { name: 'Bad' } },
    ],
    [
      'name of the group',
      ({ group }) => ['PATCH', `./groups/${group}`, { name: 'West' }],
      { group: { name: 'West' } },
    ],
    [
      'name of the location',
      () => ['PATCH', '.', { name: 'Haus am Fluss' }],
      { location: { name: 'Haus am Fluss' } },
    ],
    [
      'room',
      ({ path, otherRoom }) => ['POST', `${path}/move`, { targetRoomId: otherRoom }],
      { room: { name: 'Zimmer 2' }, group: { name: 'Nord' } },
    ],
    [
      'room, without another',
      ({ path }) => ['POST', `${path}/move`, { targetRoomId: null }],
      { room: null, group: null },
    ],
    [
      'group of the room',
      ({ group, room, otherGroup }) => [
        'POST',
        `./groups/${group}/rooms/${room}/move`,
        { targetGroupId: otherGroup },
      ],
      { group: { name: 'Ost' } },
    ],
  ];

  test('is published again at each change of what it shows', async ({ home }) => {
    for (const [what, request, changed] of CHANGES) {
      const place = await placed(home);
      const nurse = await watch(home, place.device);
      const [method, path, json] = request(place);
      await home.must(method, path === '.' ? home.path : path, { json });
      // The status of a device that has just left may come twice: retained, and live.
      const since = nurse.messages()[0]?.['since'];
      const newest = () => [what, nurse.messages().at(-1)];
      await expect.poll(newest).toMatchObject([what, { ...changed, online: false, since }]);
      const after = nurse.messages().at(-1);
      expect(nurse.received.at(-1)).toMatchObject({ qos: 1, retain: false });
      expect(await retainedStatus(home, place.device)).toEqual(after);
    }
  });

  test('of a device that is online says so at each change, and ends with the latest', async ({
    home,
  }) => {
    const device = await home.device();
    const nurse = await watch(home, device);
    await home.client(device);
    await untilOnline(nurse, true);
    await Promise.all(Array.from({ length: 20 }, (_, n) => home.customData(device, `{"n":${n}}`)));
    await home.customData(device, '{"n":"last"}');
    const last = { online: true, customData: { n: 'last' } };
    await expect.poll(() => retainedStatus(home, device)).toMatchObject(last);
    expect(new Set(onlineOf(nurse))).toEqual(new Set([true]));
  });

  test('is not given to a device that never connected', async ({ home }) => {
    const [silent, heard] = [await home.device('silent'), await home.device('heard')];
    await visit(home, heard);
    const nurse = await watch(home);
    await home.must('PATCH', home.path, { json: { name: 'Haus ohne Namen' } });
    await nurse.until(
      () => nurse.received.some(({ text }) => text.includes('ohne Namen')),
      'the name',
    );
    expect(nurse.messages(silent.id)).toEqual([]);
    expect(await retainedStatus(home, silent)).toBeUndefined();
  });

  test('follows once the store answers, when the answer to a change was lost', async ({ own }) => {
    const home = await own.home();
    const { device, path } = await placed(home);
    const store = await home.store();
    store.freeze();
    const { outcome } = await home.ask('PATCH', path, { json: { name: 'Bett im Nebel' } });
    store.thaw();
    expect(outcome).toMatch(/^503/);
    const named = { device: { name: 'Bett im Nebel' } };
    await expect.poll(() => retainedStatus(home, device)).toMatchObject(named);
  });

  test('follows a change right before the gateway was killed', { timeout: 60_000 }, async ({
    own,
  }) => {
    const home = await own.home({ kind: 'process' });
    const { device, path } = await placed(home);
    await home.must('PATCH', path, { json: { name: 'Bett am Fenster' } });
    await home.gateway.kill();
    await home.gateway.start();
    const named = { device: { name: 'Bett am Fenster' } };
    await expect.poll(() => retainedStatus(home, device)).toMatchObject(named);
  });

  test('of the gateway is retained, and says after a stop that it is gone', async ({ own }) => {
    const home = await own.home();
    const nurse = await home.nurse({ filters: ['gateway/status'] });
    await nurse.untilCount(1);
    expect(nurse.received).toMatchObject([{ retain: true, qos: 1 }]);
    expect(nurse.messages()).toEqual([
      {
        online: true,
        at: expect.stringMatching(/Z$/),
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        faults: expect.any(Array),
      },
    ]);
    await home.gateway.stop();
    await nurse.until(
      () => nurse.messages().at(-1)?.['online'] === false,
      'the end of the gateway',
    );
  });
});

describe('a device behind a hub', () => {
  /** Connects as a hub: one connection that publishes for many devices. */
  async function hubOf(home: Home, token: TestToken) {
    const client = await home.client(token);
    const publish = (id: string, rest = 'battery', payload = '80') =>
      client.publish(`devices/${id}/${rest}`, payload);
    return { client, publish };
  }

  async function hubbed(home: Home) {
    const token = await home.token('publisher', 'Zigbee');
    const device = await home.device();
    const hub = await hubOf(home, token);
    return { device, token, hub, via: { id: token.id, name: 'Zigbee' } };
  }

  async function faultsOf(home: Home, code: string, token?: string) {
    const faults = (await home.ask('GET', '/readyz', { token })).list('faults');
    return faults.filter((one) => one['code'] === code);
  }

  test('is online from its first message until its hub’s last connection ends', async ({
    home,
  }) => {
    const { device, token, hub, via } = await hubbed(home);
    const nurse = await watch(home, device);
    const second = await hubOf(home, token);
    expect(await shown(home, device)).toEqual({ online: false, lastSeenAt: null, via: undefined });
    const { headers } = await home.must('GET', `./devices/${device.id}`);
    await hub.publish(device.id);
    expect(await shown(home, device)).toMatchObject({ online: true, via });
    // Presence is no part of the entity tag: nobody has edited the device.
    const ifMatch = { 'If-Match': headers.etag ?? '' };
    await home.must('PATCH', `./devices/${device.id}`, {
      json: { name: 'Bett 1' },
      headers: ifMatch,
    });
    await hub.client.end();
    await second.publish(device.id, 'alarms', '{"kind":"fall"}');
    expect(await shown(home, device)).toMatchObject({ online: true });
    await second.client.end();
    await untilOnline(nurse, true, false);
    expect(nurse.messages().map((status) => status['via'])).toEqual([via, via]);
    expect(await shown(home, device)).toMatchObject({ online: false, via });
  });

  test('stays online through a second hub when the first one goes', async ({ home }) => {
    const { device, hub } = await hubbed(home);
    const other = await home.token('publisher', 'Node-RED');
    const second = await hubOf(home, other);
    await hub.publish(device.id);
    await second.publish(device.id);
    await hub.client.end();
    const via = { id: other.id, name: 'Node-RED' };
    await expect.poll(() => shown(home, device)).toMatchObject({ online: true, via });
    await second.client.end();
    await expect.poll(() => shown(home, device)).toMatchObject({ online: false, via });
  });

  test('is offline when it falls silent, although its hub is there, until it is heard', async ({
    own,
  }) => {
    const home = await own.home({ env: { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60' } });
    const { device, hub } = await hubbed(home);
    await hub.publish(device.id);
    await home.gateway.clock.advance(MINUTE_MS);
    await expect.poll(() => shown(home, device)).toMatchObject({ online: false });
    await hub.publish(device.id);
    expect(await shown(home, device)).toMatchObject({ online: true });
  });

  test('counts as itself while it has a connection, and is heard through both', async ({ own }) => {
    const home = await own.home();
    const { device, hub } = await hubbed(home);
    await hub.publish(device.id);
    const sensor = await home.client(device);
    const connectedAt = await lastSeenMs(home, device);
    await home.gateway.clock.advance(1_000);
    await hub.publish(device.id);
    expect(await shown(home, device)).toMatchObject({ online: true, via: undefined });
    expect(await lastSeenMs(home, device)).toBeGreaterThan(connectedAt);
    await hub.client.end();
    expect(await shown(home, device)).toMatchObject({ online: true });
    await sensor.end();
    await expect.poll(() => shown(home, device)).toMatchObject({ online: false });
  });

  test('shows the new name of its hub, also in the status that is retained', async ({ home }) => {
    const { device, token, hub } = await hubbed(home);
    await hub.publish(device.id);
    await home.must('PATCH', `/access-tokens/${token.id}`, { json: { name: 'Hub' } });
    const via = { name: 'Hub' };
    expect(await shown(home, device)).toMatchObject({ via });
    await expect.poll(() => retainedStatus(home, device)).toMatchObject({ via });
  });

  test('has a hub that is named after a minute away, across restarts, until it is back', async ({
    own,
  }) => {
    const home = await own.home();
    const { clock } = home.gateway;
    const { device, token, hub } = await hubbed(home);
    const idle = await hubOf(home, await home.token('publisher'));
    await hub.publish(device.id);
    await hub.client.end();
    // Nothing was ever heard through this one.
    await idle.client.end();
    await clock.advance(MINUTE_MS);
    const away = [{ subject: { type: 'access-token', id: token.id } }];
    await expect.poll(() => faultsOf(home, 'hub-away')).toMatchObject(away);
    const [seen] = await faultsOf(home, 'hub-away', home.viewer.token);
    expect(seen).not.toHaveProperty('subject');
    await home.gateway.restart();
    expect(await faultsOf(home, 'hub-away')).toEqual([]);
    await clock.advance(MINUTE_MS);
    await expect.poll(() => faultsOf(home, 'hub-away')).toMatchObject(away);
    const again = await hubOf(home, token);
    await expect.poll(() => faultsOf(home, 'hub-away')).toEqual([]);
    await again.client.end();
    await clock.advance(MINUTE_MS);
    await expect.poll(() => faultsOf(home, 'hub-away')).toMatchObject(away);
    await home.must('DELETE', `/access-tokens/${token.id}`);
    await expect.poll(() => faultsOf(home, 'hub-away')).toEqual([]);
    expect(await shown(home, device)).toMatchObject({ via: undefined });
  });

  test('is named when it does not exist, for an hour or until it does', async ({ own }) => {
    const home = await own.home();
    const { hub, via } = await hubbed(home);
    const stranger = await own.homeAt(home.gateway);
    const id = '0198c2f0-5d3a-4c1e-9b60-7e1f2a3b4c5d';
    // Neither a device of another home, nor a token that is no hub.
    await hub.publish((await stranger.device()).id, 'alarms', '{"kind":"fall"}');
    await (await hubOf(home, home.viewer)).publish('Taster', 'alarms', '{"kind":"fall"}');
    await hub.publish(id.toUpperCase(), 'alarms/fall', '');
    await hub.publish('Taster Zimmer 7', 'alarms', '{"kind":"helpCall"}');
    await hub.publish('Taster Zimmer 8');
    const named = async (token?: string) =>
      (await faultsOf(home, 'unknown-device', token)).map(({ subject }) => subject);
    const friendly = { type: 'device', id: 'Taster Zimmer 7', name: 'Taster Zimmer 7', via };
    expect(await named()).toEqual([{ type: 'device', id, name: id, via }, friendly]);
    expect(await named(home.viewer.token)).toEqual([undefined]);
    await home.must('POST', './devices', { json: { name: 'Taster', id } });
    await expect.poll(() => named()).toEqual([friendly]);
    await home.gateway.clock.advance(60 * MINUTE_MS);
    await expect.poll(() => named()).toEqual([]);
  });

  test('is charged for its alarms itself; others behind the hub are served', async ({ own }) => {
    const home = await own.home({ env: { GATEWAY_LIMITS_DEVICE_ALARMS_PER_DAY: '1' } });
    const { device, hub } = await hubbed(home);
    const greedy = await home.device();
    // Each waits for its PUBACK: without a bound, the third would come in days.
    for (let n = 0; n < 4; n++) await hub.publish(greedy.id, 'alarms', `{"kind":"noise","n":${n}}`);
    await hub.publish(device.id, 'alarms', '{"kind":"fall"}');
    const listed = (await home.must('GET', './alarms?kinds=fall')).list('events');
    expect(listed).toMatchObject([{ deviceId: device.id }]);
    const slowed = [{ subject: { type: 'device', id: greedy.id } }];
    await expect.poll(() => faultsOf(home, 'limit-exceeded')).toMatchObject(slowed);
    // The hub waits a little for each.
    expect((await home.must('GET', '/metrics')).text).toMatch(/^gateway_held_back_total [1-9]/m);
  });
});
