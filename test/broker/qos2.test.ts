import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { Subscriber } from '../former/clients/mqtt-clients.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../former/clients/raw-client.js';
import type { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';
import { storeProcessId } from '../former/stored/store-process.js';

/** An alarm without id or time: nothing in it identifies it. */
const ALARM = '{"kind":"helpCall"}';

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

function sessionOf(device: TestDevice) {
  return { clientId: `sensor-${device.id}`, clean: false };
}

function alarmOf(device: TestDevice, messageId: number, dup = false) {
  const packet = publishPacket(`devices/${device.id}/alarms`, ALARM);
  return { ...packet, qos: 2 as const, messageId, dup };
}

/** Creates an absent session subscribed to the device's alarms. Returns its client id. */
async function absentNurse(device: TestDevice, place = home): Promise<string> {
  const session = { clientId: `nurse-${device.id}`, clean: false };
  const nurse = await Subscriber.connect(place.gateway, place.viewer, session);
  await nurse.subscribe(place.filter(device, 'alarms/#'), place.filter(device, 'x'));
  await nurse.end();
  return session.clientId;
}

/** The session's backlog, up to an alarm and a message published now. */
async function backlogOf(device: TestDevice, clientId: string, place = home) {
  await place.publishLast(device, 'alarms', '{"kind":"noise"}');
  await place.publishLast(device, 'x', '"last"');
  const nurse = await Subscriber.connect(place.gateway, place.viewer, { clientId, clean: false });
  await nurse.until((received) => received.some(({ topic }) => topic.endsWith('/noise')));
  await nurse.until((received) => received.some(({ text }) => text.includes('"last"')));
  await nurse.end();
  return {
    kinds: nurse.messages('/alarms/').map(({ kind }) => kind),
    data: nurse.messages('/x').map(({ data }) => data),
  };
}

async function killWithStore(gateway: GatewayProcess): Promise<void> {
  const store = storeProcessId(gateway.dataDir);
  if (store === undefined) throw new Error('no store runs');
  const dead = gateway.kill();
  process.kill(store, 'SIGKILL');
  await dead;
}

describe('guarantee 2: a QoS 2 alarm between PUBREC and PUBREL is recorded and forwarded once', () => {
  async function holdsOver(place: Home, end: () => Promise<unknown>): Promise<void> {
    const { gateway } = place;
    const device = await place.device();
    const clientId = await absentNurse(device, place);
    const before = await RawClient.connect(gateway, device, sessionOf(device));
    const message = {
      ...publishPacket(`devices/${device.id}/x`, '1'),
      qos: 2,
      messageId: 9,
    } as const;
    before.send(alarmOf(device, 7), alarmOf(device, 8), message);
    await before.until((all) => all.filter(({ cmd }) => cmd === 'pubrec').length === 3, 'PUBRECs');
    await end();
    await gateway.start();

    const after = await RawClient.connect(gateway, device, sessionOf(device));
    // The client has seen the PUBREC of the first only.
    const again = [alarmOf(device, 8, true), { ...message, dup: true }];
    after.send({ cmd: 'pubrel', messageId: 7 }, ...again);
    expect((await after.next('pubcomp')).messageId).toBe(7);
    for (const { messageId } of again) {
      expect((await after.next('pubrec')).messageId).toBe(messageId);
      after.send({ cmd: 'pubrel', messageId });
      expect((await after.next('pubcomp')).messageId).toBe(messageId);
    }
    expect((await place.api.alarms(device)).events).toHaveLength(2);
    // The packet identifier is free for another alarm.
    await after.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 2, 8);
    after.vanish();
    expect(await backlogOf(device, clientId, place)).toEqual({
      kinds: ['helpCall', 'helpCall', 'fall', 'noise'],
      data: [1, 'last'],
    });
  }

  it('when the gateway is stopped', () => holdsOver(home, () => home.gateway.stop()));

  it('when gateway and store are killed', async () => {
    const killed = await Home.startProcess();
    onTestFinished(() => killed.remove());
    await holdsOver(killed, () => killWithStore(killed.gateway));
  });
});

it.each(['with a wrong secret', 'as another device'])(
  'guarantee 2: a QoS 2 message stays received when somebody else connects with its client id, %s',
  async (how) => {
    const device = await home.device();
    const clientId = await absentNurse(device);
    const session = sessionOf(device);
    const before = await RawClient.connect(home.gateway, device, session);
    const value = publishPacket(`devices/${device.id}/x`, '1');
    const message = { ...value, qos: 2 as const, messageId: 7 };
    before.send(message);
    await before.next('pubrec');
    before.vanish();

    const who = how === 'as another device' ? await home.device() : { ...device, secret: 'wrong' };
    const other = await RawClient.open(home.gateway);
    other.send(connectPacket({ ...credentials(who), ...session, clean: true }));
    await other.next('connack');
    other.vanish();

    const after = await RawClient.connect(home.gateway, device, session);
    after.send({ ...message, dup: true });
    await after.next('pubrec');
    after.vanish();
    expect((await backlogOf(device, clientId)).data).toEqual([1, 'last']);
  },
);

describe('guarantee 1: a packet identifier of an ended session', () => {
  it('does not swallow an alarm of the next session when it is stored only then', async () => {
    const device = await home.device();
    const store = await Store.of(home.gateway);
    const session = { clientId: `sensor-${device.id}`, clean: true };
    const kinds = async () => (await home.api.alarms(device)).events.map(({ kind }) => kind);
    const before = await RawClient.connect(home.gateway, device, session);
    await store.redis.config('SET', 'maxmemory', '1');
    before.send(alarmOf(device, 1));
    await expect.poll(async () => (await home.api.request('GET', '/readyz')).status).toBe(503);
    before.vanish();
    const after = await RawClient.connect(home.gateway, device, session);
    await store.redis.config('SET', 'maxmemory', '0');
    await expect.poll(kinds).toEqual(['helpCall']);
    await after.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 2, 1);
    expect(await kinds()).toEqual(['fall', 'helpCall']);
    after.vanish();
    store.close();
  });
});

describe('a packet identifier left over from before a restart', () => {
  /** A device's session after a start, with a packet identifier that its client has released. */
  async function withReleased(device: TestDevice, messageId: number): Promise<RawClient> {
    const session = sessionOf(device);
    (await RawClient.connect(home.gateway, device, session)).vanish();
    const store = await Store.of(home.gateway);
    const key = `{site}:broker:incoming:device:${device.id}/${session.clientId}`;
    // As if the store had lost its newest writes in a takeover and had the identifier again.
    await store.redis.hset(key, String(messageId), '');
    store.close();
    await home.gateway.stop();
    await home.gateway.start();
    return RawClient.connect(home.gateway, device, session);
  }

  it.each([false, true])('guarantee 1: does not swallow an alarm with DUP %s', async (dup) => {
    const device = await home.device();
    const clientId = await absentNurse(device);
    const sensor = await withReleased(device, 5);
    sensor.send(alarmOf(device, 5, dup));
    await sensor.next('pubrec');
    sensor.vanish();
    expect((await backlogOf(device, clientId)).kinds).toEqual(['helpCall', 'noise']);
  });

  it('does not swallow another message that comes without DUP', async () => {
    const device = await home.device();
    const clientId = await absentNurse(device);
    const sensor = await withReleased(device, 5);
    await sensor.publish(`devices/${device.id}/x`, '1', 2, 5);
    sensor.vanish();
    expect((await backlogOf(device, clientId)).data).toEqual([1, 'last']);
  });

  it('guarantee 2: is not needed to recognise an alarm by its time, from a client that sets no DUP', async () => {
    const device = await home.device();
    const clientId = await absentNurse(device);
    const alarm = {
      ...alarmOf(device, 5),
      payload: '{"kind":"fall","detectedAt":"2026-01-01T00:00:00Z"}',
    };
    for (const isBefore of [true, false]) {
      const sensor = await RawClient.connect(home.gateway, device, sessionOf(device));
      sensor.send(alarm);
      await sensor.next('pubrec');
      sensor.vanish();
      if (!isBefore) break;
      await home.gateway.stop();
      await home.gateway.start();
    }
    expect((await backlogOf(device, clientId)).kinds).toEqual(['fall', 'noise']);
  });
});

it('guarantee 3: alarms of one device keep their order across QoS levels', async () => {
  const device = await home.device();
  const nurse = await Subscriber.connect(home.gateway, home.viewer);
  await nurse.subscribe(home.filter(device, 'alarms/#'));
  const sensor = await RawClient.connect(
    home.gateway,
    { id: device.id, token: device.secret },
    sessionOf(device),
  );
  const count = 60;
  const sent = Array.from({ length: count }, (_, n) => n);
  for (const n of sent) {
    const packet = publishPacket(`devices/${device.id}/alarms`, `{"kind":"fall","n":${n}}`);
    const qos = n % 3 === 0 ? (2 as const) : (1 as const);
    sensor.send({ ...packet, qos, messageId: n + 1 });
  }
  await nurse.untilCount(count);
  const numbers = nurse.messages('/alarms/').map(({ data }) => data);
  expect(numbers).toEqual(sent.map((n) => ({ n })));
  await nurse.end();
  sensor.vanish();
});

it.each([true, false])(
  '[MQTT-4.3.3-2] an identifier released without waiting for PUBREC is free for another alarm; clean session: %s',
  async (clean) => {
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device, { ...sessionOf(device), clean });
    sensor.send(alarmOf(device, 7), { cmd: 'pubrel', messageId: 7 });
    await sensor.next('pubcomp');
    await sensor.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 2, 7);
    expect(sensor.packets.map(({ cmd }) => cmd).filter((cmd) => cmd !== 'connack')).toEqual([
      'pubrec',
      'pubcomp',
      'pubrec',
      'pubcomp',
    ]);
    const { events } = await home.api.alarms(device);
    expect(events.map(({ kind }) => kind)).toEqual(['fall', 'helpCall']);
    sensor.vanish();
  },
);

it('an identifier released without waiting for PUBCOMP is free for another alarm', async () => {
  const device = await home.device();
  const sensor = await RawClient.connect(home.gateway, device, sessionOf(device));
  sensor.send(alarmOf(device, 7));
  await sensor.next('pubrec');
  const fall = publishPacket(`devices/${device.id}/alarms`, '{"kind":"fall"}');
  sensor.send({ cmd: 'pubrel', messageId: 7 }, { ...fall, qos: 2, messageId: 7 });
  await sensor.until((all) => all.filter(({ cmd }) => cmd === 'pubrec').length === 2, 'PUBRECs');
  const { events } = await home.api.alarms(device);
  expect(events.map(({ kind }) => kind)).toEqual(['fall', 'helpCall']);
  sensor.vanish();
});
