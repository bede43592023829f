/** Clients that are odd and honest: real libraries and bridges, what they announce about themselves, ids in upper case. */
import mqtt from 'mqtt';
import { describe, expect, type Home, type TestToken, test } from '../harness/index.js';
import { Mosquitto } from '../harness/upstream.js';

const ALARMS = 40;
const numbered = Array.from({ length: ALARMS }, (_, n) => JSON.stringify({ kind: 'fall', n }));
const numbers = numbered.map((_, n) => n);

/** A Mosquitto whose bridge connects to the gateway; all other settings have their defaults. */
async function bridge(home: Home, who: TestToken, topic: string, version: string) {
  const mosquitto = await Mosquitto.start({
    settings: {
      connection: 'gateway',
      address: `127.0.0.1:${home.gateway.mqttPort}`,
      remote_username: who.id,
      remote_password: who.token,
      bridge_protocol_version: version,
      topic,
    },
  });
  home.onClose(() => mosquitto.remove());
  return mosquitto;
}

describe.each(['mqttv311', 'mqttv50'])('a Mosquitto bridge with its defaults and %s', (version) => {
  test('gets every alarm', async ({ home }) => {
    const device = await home.device();
    const mosquitto = await bridge(home, home.viewer, 'care-homes/# in 1', version);
    const nurse = await mqtt.connectAsync(mosquitto.url);
    const came: unknown[] = [];
    nurse.on('message', (topic, payload) => {
      if (topic.endsWith('/alarms/fall')) came.push(JSON.parse(payload.toString()).data.n);
    });
    await nurse.subscribeAsync('care-homes/#', { qos: 1 });
    const connections = async () => (await home.must('GET', '/connections')).text;
    await expect.poll(connections).toContain(home.viewer.id);
    await home.publish(device, 'alarms', numbered);
    await expect.poll(() => came).toEqual(numbers);
    await nurse.endAsync();
  });

  test('forwards every alarm of the devices behind it', async ({ home }) => {
    const device = await home.device();
    const publisher = await home.token('publisher');
    const mosquitto = await bridge(home, publisher, 'devices/# out 1', version);
    const sensor = await mqtt.connectAsync(mosquitto.url);
    for (const alarm of numbered) {
      await sensor.publishAsync(`devices/${device.id}/alarms`, alarm, { qos: 1 });
    }
    await expect.poll(async () => (await home.alarms(device)).length).toBe(ALARMS);
    await sensor.endAsync();
  });
});

const TRANSPORTS = [
  ['TCP', 4],
  ['TCP', 5],
  ['WebSocket', 4],
  ['WebSocket', 5],
] as const;

test.for(TRANSPORTS)('mqtt.js is served over %s, version %i', async (row, { home }) => {
  const [transport, protocolVersion] = row;
  const { mqttUrl, httpPort } = home.gateway;
  const url = transport === 'TCP' ? mqttUrl : `ws://127.0.0.1:${httpPort}/mqtt`;
  const device = await home.device();
  const options = { protocolVersion, reconnectPeriod: 0 } as const;
  const nurse = await mqtt.connectAsync(url, {
    ...options,
    username: home.viewer.id,
    password: home.viewer.token,
  });
  const topics: string[] = [];
  nurse.on('message', (topic) => topics.push(topic));
  await nurse.subscribeAsync(home.filter(device, 'alarms/#'), { qos: 1 });
  const sensor = await mqtt.connectAsync(url, {
    ...options,
    clientId: '',
    username: device.id,
    password: device.secret,
    will: { topic: `devices/${device.id}/gone`, payload: Buffer.alloc(0), qos: 1, retain: true },
  });
  for (const payload of ['on', '']) {
    await sensor.publishAsync(`devices/${device.id}/mode`, payload, { qos: 1, retain: true });
  }
  await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
  await expect.poll(() => topics).toEqual([home.filter(device, 'alarms/fall')]);
  await Promise.all([nurse.endAsync(), sensor.endAsync()]);
});

describe.each([4, 5] as const)('what a client of version %i announces about itself', (version) => {
  test.for([
    ['Home Assistant', 'homeassistant/status', 'online'],
    ['Tasmota', 'tele/tasmota_3A1F/LWT', 'Online'],
    ['Tasmota to Home Assistant', 'tasmota/discovery/A4CF/config', '{}'],
    ['Shelly', 'shellies/announce', '{"id":"shellybutton1"}'],
    ['Mosquitto', '$SYS/broker/connection/hub/state', '1'],
  ] as const)('costs no alarm: %s', async ([, topic, payload], { home }) => {
    const device = await home.device();
    const sensor = await home.client(device, {
      protocolVersion: version,
      will: { topic, payload: Buffer.from('Offline'), qos: 1, retain: true },
    });
    for (const n of [1, 2, 3]) {
      const answer = await sensor.publish(topic, payload, { retain: true });
      if (version === 5) expect(answer).toMatchObject({ reasonCode: 0x87 });
      await sensor.publish(`devices/${device.id}/alarms`, JSON.stringify({ kind: 'helpCall', n }));
    }
    expect(await home.alarms(device)).toHaveLength(3);
  });
});

test('an id in upper case is accepted as user name, in topics and in filters', async ({ home }) => {
  const device = await home.device();
  const upper = device.id.toUpperCase();
  const path = `care-homes/${home.locationId.toUpperCase()}/devices/${upper}`;
  const sensor = await home.client({ ...device, id: upper });
  const nurse = await home.client({ ...home.viewer, id: home.viewer.id.toUpperCase() });
  const manager = await home.client(home.manager);
  await nurse.subscribe(`${path}/alarms/#`);
  await sensor.subscribe(`devices/${upper}/commands/#`);
  await sensor.publish(`devices/${upper}/alarms`, '{"kind":"fall"}');
  await manager.publish(`${path}/commands/light`, 'on');
  expect((await nurse.next('publish')).topic).toBe(home.filter(device, 'alarms/fall'));
  expect((await sensor.next('publish')).topic).toBe(`devices/${device.id}/commands/light`);
  await nurse.unsubscribe(`${path}/alarms/#`);
  await sensor.publish(`devices/${upper}/alarms`, '{"kind":"noise"}');
  await nurse.ping();
  expect(nurse.received).toHaveLength(1);
});

test('a hub publishes for every device that its grant covers, as the device would', async ({
  home,
  own,
}) => {
  const group = await home.group('North');
  const inside = await home.deviceIn(await home.room('7', group));
  const outside = await home.device('Bett 2');
  const foreign = await (await own.homeAt(home.gateway)).device();
  const hub = await home.client(await home.token([{ role: 'publisher', group }]));
  for (const { id } of [inside, outside, foreign]) {
    await hub.publish(`devices/${id}/alarms/helpCall`, '');
  }
  const counts = [];
  for (const device of [inside, outside]) counts.push((await home.alarms(device)).length);
  expect(counts).toEqual([1, 0]);
  const denied = (await home.must('GET', '/connections/denied')).list();
  for (const { id } of [outside, foreign]) {
    const one = { code: 'device-without-grant', topic: `devices/${id}/alarms/helpCall` };
    expect(denied).toContainEqual(expect.objectContaining(one));
  }
  const shown = (await home.must('GET', `./devices/${inside.id}`)).json;
  expect(shown).toMatchObject({ online: true, lastSeenAt: expect.stringMatching(/^\d{4}-/) });
  await hub.publish(`devices/${inside.id}/temperature`, '21.5', { qos: 0, retain: true });
  await hub.ping();
  const topic = home.filter(inside, 'temperature');
  await expect
    .poll(async () => (await home.retained(topic)).get(topic))
    .toMatchObject({ data: 21.5, device: { id: inside.id } });
});
