import { randomUUID } from 'node:crypto';
import mqtt from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import { connect, connectDevice } from '../../former/clients/mqtt-clients.js';
import { RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import { Mosquitto } from '../../former/servers/mosquitto.js';

const ALARMS = 40;
const numbered = Array.from({ length: ALARMS }, (_, n) => JSON.stringify({ kind: 'fall', n }));

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

/** A token that may publish for the devices of the home or of one of its groups. */
function publisher(group?: string) {
  const grant = { location: home.locationId, role: 'publisher' };
  return home.api.createToken([group === undefined ? grant : { ...grant, group }]);
}

/** The settings of a Mosquitto whose bridge connects to the gateway; all other settings have their defaults. */
function bridgeTo(who: { id: string; token: string }, topic: string) {
  return {
    connection: 'gateway',
    address: `127.0.0.1:${home.gateway.mqttPort}`,
    remote_username: who.id,
    remote_password: who.token,
    topic,
  };
}

describe.each(['mqttv311', 'mqttv50'])(
  'a Mosquitto bridge with its defaults and %s',
  (protocol) => {
    it('gets every alarm', async () => {
      const device = await home.device();
      const settings = {
        ...bridgeTo(await home.api.viewer(home.locationId), 'care-homes/# in 1'),
        bridge_protocol_version: protocol,
      };
      const mosquitto = await Mosquitto.start({ settings });
      const nurse = await mqtt.connectAsync(mosquitto.url);
      const came: string[] = [];
      nurse.on('message', (topic, payload) => {
        if (topic.endsWith('/alarms/fall')) came.push(payload.toString());
      });
      await nurse.subscribeAsync('care-homes/#', { qos: 1 });
      const isConnected = async () => JSON.stringify(await home.api.json('GET', '/connections'));
      await expect.poll(isConnected).toContain(settings.remote_username);
      await home.publish(device, 'alarms', numbered);
      await expect.poll(() => came.length).toBe(ALARMS);
      expect(came.map((text) => JSON.parse(text).data.n)).toEqual(numbered.map((_, n) => n));
      await nurse.endAsync();
      await mosquitto.remove();
    });

    it('forwards every alarm of the devices behind it', async () => {
      const device = await home.device();
      const settings = {
        ...bridgeTo(await publisher(), 'devices/# out 1'),
        bridge_protocol_version: protocol,
      };
      const mosquitto = await Mosquitto.start({ settings });
      const sensor = await mqtt.connectAsync(mosquitto.url);
      for (const alarm of numbered) {
        await sensor.publishAsync(`devices/${device.id}/alarms`, alarm, { qos: 1 });
      }
      await expect.poll(async () => (await home.api.alarms(device)).events.length).toBe(ALARMS);
      await sensor.endAsync();
      await mosquitto.remove();
    });
  },
);

describe.each([4, 5] as const)('what a client of version %i announces about itself', (version) => {
  it.each([
    ['Home Assistant', 'homeassistant/status', 'online'],
    ['Tasmota', 'tele/tasmota_3A1F/LWT', 'Online'],
    ['Tasmota to Home Assistant', 'tasmota/discovery/A4CF/config', '{}'],
    ['Shelly', 'shellies/announce', '{"id":"shellybutton1"}'],
    ['Mosquitto', '$SYS/broker/connection/hub/state', '1'],
  ])('costs no alarm: %s', async (_who, topic, payload) => {
    const device = await home.device();
    const sensor = await connectDevice(home.gateway, device, {
      protocolVersion: version,
      will: { topic, payload: Buffer.from('Offline'), qos: 1, retain: true },
    });
    let closed = 0;
    sensor.on('close', () => closed++);
    for (const n of [1, 2, 3]) {
      const announced = sensor.publishAsync(topic, payload, { qos: 1, retain: true });
      if (version === 5) await expect(announced).rejects.toThrow('Not authorized');
      else await announced;
      const alarm = JSON.stringify({ kind: 'helpCall', n });
      await sensor.publishAsync(`devices/${device.id}/alarms`, alarm, { qos: 1 });
    }
    expect(closed).toBe(0);
    expect((await home.api.alarms(device)).events).toHaveLength(3);
    await sensor.endAsync();
  });
});

describe('an id in upper case', () => {
  it('is accepted as user name, in topics and in filters', async () => {
    const device = await home.device();
    const [username, password] = [device.id.toUpperCase(), device.secret];
    const sensor = await connect(home.gateway, { username, password });
    const nurse = await connect(home.gateway, {
      username: home.viewer.id.toUpperCase(),
      password: home.viewer.token,
    });
    const came: string[] = [];
    nurse.on('message', (topic) => came.push(topic));
    const path = `care-homes/${home.locationId.toUpperCase()}/devices/${username}`;
    await nurse.subscribeAsync(`${path}/alarms/#`, { qos: 1 });
    await sensor.subscribeAsync(`devices/${username}/commands/#`, { qos: 1 });
    const command = new Promise((resolve) => sensor.once('message', resolve));
    const manager = await connect(home.gateway, {
      username: home.manager.id,
      password: home.manager.token,
    });
    await sensor.publishAsync(`devices/${username}/alarms`, '{"kind":"fall"}', { qos: 1 });
    await manager.publishAsync(`${path}/commands/light`, 'on', { qos: 1 });
    await expect.poll(() => came).toEqual([home.filter(device, 'alarms/fall')]);
    expect(await command).toBe(`devices/${device.id}/commands/light`);
    await nurse.unsubscribeAsync(`${path}/alarms/#`);
    await home.publish(device, 'alarms', ['{"kind":"noise"}']);
    await nurse.publishAsync('gateway/none', '', { qos: 1 });
    expect(came).toHaveLength(1);
    await Promise.all([sensor.endAsync(), nurse.endAsync(), manager.endAsync()]);
  });
});

describe('a publisher', () => {
  /** Publishes an alarm of each device over one connection; each is acknowledged in any case. */
  async function publishFor(token: { id: string; token: string }, devices: readonly TestDevice[]) {
    const hub = await connect(home.gateway, { username: token.id, password: token.token });
    for (const { id } of devices) {
      await hub.publishAsync(`devices/${id}/alarms/helpCall`, '', { qos: 1 });
    }
    return hub;
  }

  it('publishes for every device that its grant covers, as the device itself would', async () => {
    const group = await home.group('North');
    const room = await home.room('7', group);
    const [inside, outside] = [await home.deviceIn(room), await home.device()];
    const foreign = await home.api.createDevice((await home.api.createLocation()).id);
    const hub = await publishFor(await publisher(group), [inside, outside, foreign]);
    const counts = [inside, outside, foreign].map(async (device) => {
      return (await home.api.alarms(device)).events.length;
    });
    expect(await Promise.all(counts)).toEqual([1, 0, 0]);
    const denied = JSON.stringify(await home.api.json('GET', '/connections/denied'));
    expect(denied).toContain(`devices/${outside.id}/alarms/helpCall`);
    expect(denied).toContain('device-without-grant');
    const path = `${home.path}/devices/${inside.id}`;
    expect(await home.api.json('GET', path)).toMatchObject({
      online: true,
      lastSeenAt: expect.stringMatching(/^\d{4}-/),
    });
    await home.api.json('PATCH', path, { name: 'Button' });
    await hub.publishAsync(`devices/${inside.id}/temperature`, '21.5', { qos: 0, retain: true });
    const nurse = await home.nurse(inside, 'temperature', 'last');
    await hub.publishAsync(`devices/${inside.id}/last`, '1', { qos: 1 });
    await nurse.untilCount(2);
    expect(nurse.messages()).toMatchObject([
      { data: 21.5, device: { id: inside.id } },
      { data: 1 },
    ]);
    await Promise.all([hub.endAsync(), nurse.end()]);
  });

  it('may do nothing else', async () => {
    const token = await publisher();
    const device = await home.device();
    const hub = await RawClient.connect(home.gateway, token);
    const filters = [`care-homes/${home.locationId}/#`, home.filter(device), 'gateway/status'];
    expect(await hub.subscribe([...filters, `devices/${device.id}/commands/#`])).toEqual([
      0x80, 0x80, 0x80, 0x80,
    ]);
    const sensor = await RawClient.connect(home.gateway, device);
    await sensor.subscribe([`devices/${device.id}/commands/#`]);
    await hub.publish(home.filter(device, 'commands/light'), 'on', 1);
    await hub.publish(home.filter(device, 'alarm-states'), `{"id":"${randomUUID()}"}`, 1);
    await sensor.ping();
    expect(sensor.packets.filter(({ cmd }) => cmd === 'publish')).toEqual([]);
    const headers = { authorization: `Bearer ${token.token}` };
    const get = (path: string) => fetch(`${home.gateway.httpUrl}${path}`, { headers });
    expect(await (await get('/care-homes')).json()).toEqual([]);
    for (const path of [`${home.path}/devices`, `${home.path}/alarms`, '/connections']) {
      expect((await get(path)).status).toBe(403);
    }
    for (const client of [hub, sensor]) client.vanish();
  });
});
