import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Api } from '../../former/clients/api.js';
import { EventReader, type EventRequest } from '../../former/clients/event-reader.js';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { NumberedHome, range } from '../../former/numbered-home.js';

let gateway: GatewayHere;
let api: Api;
let home: NumberedHome;
let readers: EventReader[] = [];

beforeAll(async () => {
  gateway = await GatewayHere.start();
  api = new Api(gateway);
});

beforeEach(async () => {
  home = await NumberedHome.open(gateway, 1);
});

afterEach(async () => {
  for (const reader of readers) reader.close();
  readers = [];
  await home.close();
});

afterAll(() => gateway.remove());

async function read(request: EventRequest = {}, token = home.viewer): Promise<EventReader> {
  const reader = await EventReader.open(gateway, token, request);
  readers.push(reader);
  return reader;
}

/** A live reader of the home's alarms. */
async function liveReader(request: EventRequest = {}): Promise<EventReader> {
  const reader = await read({ filters: [home.alarmFilter], ...request });
  await reader.opened();
  return reader;
}

function numbersOf(reader: EventReader): unknown[] {
  return reader.alarms().map(({ data }) => Reflect.get(Object(data), 'n'));
}

async function statusOf(request: EventRequest, token = home.viewer): Promise<number | undefined> {
  const { response } = await read(request, token);
  return response.statusCode;
}

describe('an event stream', () => {
  it('sends messages as they come, and alarms with their position', async () => {
    const reader = await read();
    expect(reader.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    expect(await reader.opened()).toMatchObject({ missed: false });
    await home.sensor.alarm(3);
    await home.sensor.message();
    await reader.until((one) => one.messages('/x').length === 1 && one.alarms().length === 3);
    expect(numbersOf(reader)).toEqual([0, 1, 2]);
    const [message] = reader.messages('/x');
    const { id } = home.sensor.device;
    expect(message).toMatchObject({
      id: undefined,
      topic: `care-homes/${home.locationId}/devices/${id}/x`,
      retained: false,
      payload: { data: { n: 0 }, device: { id } },
    });
  });

  it('sends the payload byte for byte, whatever its data looks like', async () => {
    const reader = await read();
    await reader.opened();
    const { device } = home.sensor;
    const sensor = await connectDevice(gateway, device);
    const number = '1.000000000000000000001';
    const data = `{"number":${number},\r\n "text":"\\u00e9 é 🧓",\n\n "data: x":[]}`;
    await sensor.publishAsync(`devices/${device.id}/y`, data, { qos: 1 });
    await sensor.endAsync();
    await reader.until((one) => one.messages('/y').length === 1);
    const text = reader.events.find((event) => event.data.includes('/y"'))?.data ?? '';
    expect(text).toContain(data.replaceAll('\r\n', '\n'));
    expect(JSON.parse(text)).toMatchObject({ payload: { data: JSON.parse(data) } });
  });

  it('begins with the retained messages, such as a device already online', async () => {
    const sensor = await connectDevice(gateway, home.sensor.device);
    const before = await read({ filters: [home.filter('status')] });
    await before.until((one) => one.messages('/status').length > 0);
    const reader = await read({ filters: [home.filter('status')] });
    await reader.until((one) => one.messages('/status').length > 0);
    expect(reader.messages()[0]).toMatchObject({ retained: true, payload: { online: true } });
    await sensor.endAsync();
    const offline = { retained: false, payload: { online: false } };
    await reader.until((one) => JSON.stringify(one.messages()).includes('"online":false'));
    expect(reader.messages().at(-1)).toMatchObject(offline);
  });

  it('shows the status of the gateway on request', async () => {
    const reader = await read({ filters: ['gateway/status'] });
    await reader.until((one) => one.messages('gateway/status').length > 0);
    expect(reader.messages()[0]).toMatchObject({ retained: true, payload: { online: true } });
  });

  it('is not opened for a HEAD', async () => {
    const response = await api.request('HEAD', '/events');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream',
    ]);
  });
});

describe('what an event stream shows', () => {
  it('is limited to what the token may see, with a grant on one group', async () => {
    const [group, other] = await Promise.all(
      ['A', 'B'].map((name) => api.json('POST', `/care-homes/${home.locationId}/groups`, { name })),
    );
    const groupId = String(Reflect.get(Object(group), 'id'));
    const grants = [{ location: home.locationId, group: groupId, role: 'viewer' }];
    const reader = await read({}, await api.createToken(grants));
    await reader.opened();
    const whole = await liveReader();
    await home.sensor.alarm();
    await moveInto(groupId);
    await home.sensor.alarm();
    await moveInto(String(Reflect.get(Object(other), 'id')));
    await home.sensor.alarm();
    await moveInto(groupId);
    await home.sensor.alarm();
    await whole.untilAlarms(4);
    await reader.untilAlarms(2);
    expect(numbersOf(reader)).toEqual([1, 3]);
    // The same applies to missed alarms.
    const position = (await whole.opened()).position;
    const again = await read({ lastEventId: position }, await api.createToken(grants));
    await again.untilAlarms(2);
    await home.sensor.alarm();
    await again.untilAlarms(3);
    expect(numbersOf(again)).toEqual([1, 3, 4]);
  });

  /** Moves the sensor into a new room of the group. */
  async function moveInto(groupId: string): Promise<void> {
    const rooms = `/care-homes/${home.locationId}/rooms`;
    const room = await api.json('POST', rooms, { name: 'room', groupId });
    const path = `/care-homes/${home.locationId}/devices/${home.sensor.device.id}/move`;
    await api.json('POST', path, { targetRoomId: Reflect.get(Object(room), 'id') });
  }

  it('includes nothing of another location, whatever the wildcards', async () => {
    const stranger = await NumberedHome.open(gateway, 1);
    const reader = await read({ filters: ['#', 'care-homes/+/devices/+/alarms/#'] });
    await reader.opened();
    await stranger.sensor.alarm();
    await home.sensor.alarm();
    await reader.untilAlarms(1);
    expect(reader.messages().filter(({ topic }) => topic.includes(stranger.locationId))).toEqual(
      [],
    );
    expect(reader.alarms()).toHaveLength(1);
    await stranger.close();
  });

  it('includes each event once when several filters match', async () => {
    const reader = await read({
      filters: [home.alarmFilter, '#', `care-homes/${home.locationId}/#`],
    });
    await reader.opened();
    await home.sensor.alarm(2);
    await reader.untilAlarms(2);
    await home.sensor.alarm();
    await reader.untilAlarms(3);
    expect(numbersOf(reader)).toEqual([0, 1, 2]);
  });
});

describe('GET /events', () => {
  it.each([
    [403, 'another location', () => [`care-homes/${randomUUID()}/#`]],
    [403, 'one of two', () => [home.alarmFilter, `care-homes/${randomUUID()}/#`]],
    [403, 'commands', () => [`devices/${home.sensor.device.id}/commands/#`]],
    [400, 'a misplaced wildcard', () => ['care-homes/#/x']],
    [400, 'a wildcard within a level', () => ['care-homes/x+']],
    [400, 'an empty one', () => ['']],
    [400, 'a NUL', () => ['care-homes/\u0000']],
    [400, '21 of them', () => range(0, 21).map((at) => `care-homes/+/${at}`)],
    [200, '20 of them', () => range(0, 20).map((at) => `care-homes/+/${at}`)],
    [200, '$SYS, which other brokers have', () => ['$SYS/#']],
  ])('answers %i when the filter is %s', async (status, _name, filters) => {
    expect(await statusOf({ filters: filters() })).toBe(status);
  });

  it('answers 401 when there is no valid token', async () => {
    expect(await statusOf({}, { ...home.viewer, token: 'x'.repeat(43) })).toBe(401);
  });
});

describe('GET /access-tokens/current', () => {
  it('shows the caller’s own token', async () => {
    const grants = [{ location: home.locationId, role: 'viewer' }];
    const expiresAt = '2199-01-01T00:00:00.000Z';
    const { id, token } = await api.createToken(grants, 'board', expiresAt);
    const shown = await new Api(gateway, token).json('GET', '/access-tokens/current');
    expect(shown).toEqual({ id, name: 'board', grants, expiresAt });
    expect(await api.json('GET', '/access-tokens/current')).toEqual({
      id: 'admin',
      name: 'admin',
      expiresAt: null,
      grants: [{ location: '*', role: 'admin' }],
    });
  });
});
