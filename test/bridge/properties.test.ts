import { expect, it } from 'vitest';
import { connectPacket, publishPacket, RawClient } from '../former/clients/raw-client.js';
import { untilBridge } from './bridge-api.js';
import { bridgeTo, useWorld } from './world.js';

const world = useWorld();
const FIVE = { protocolVersion: 5 } as const;
const PROPERTIES = {
  payloadFormatIndicator: true,
  contentType: 'application/json',
  responseTopic: 'answers/here',
  correlationData: Buffer.from([1, 0, 255]),
  userProperties: { unit: 'C', floor: ['1', '2'] },
};

it('the properties of MQTT 5 cross a bridge in both directions', async () => {
  const mosquitto = await world.mosquitto();
  const home = await world.home([bridgeTo(mosquitto, { commands: ['#'], send: 'all' })]);
  await untilBridge(home, 'region', { connected: true });
  const device = await home.device();
  const upstream = await RawClient.open({ mqttPort: mosquitto.port }, 5);
  upstream.send(connectPacket({ ...FIVE, clientId: 'region' }));
  await upstream.next('connack');
  await upstream.subscribe([home.filter(device, 'alarms/#'), home.filter(device, 'values')]);
  const sensor = await RawClient.connect(home.gateway, device, FIVE);
  await sensor.subscribe([`devices/${device.id}/commands/#`]);
  const send = (rest: string, payload: string, messageId: number) =>
    sensor.send({
      ...publishPacket(`devices/${device.id}/${rest}`, payload),
      qos: 1,
      messageId,
      properties: PROPERTIES,
    });

  send('alarms', '{"kind":"fall"}', 1);
  expect(await upstream.next('publish')).toMatchObject({ properties: PROPERTIES });
  send('values', '21', 2);
  expect(await upstream.next('publish')).toMatchObject({ properties: PROPERTIES });
  const topic = home.filter(device, 'commands/ring');
  upstream.send({ ...publishPacket(topic, 'on'), properties: PROPERTIES });
  const command = await sensor.next('publish');
  expect(command).toMatchObject({ payload: Buffer.from('on'), properties: PROPERTIES });
  for (const client of [upstream, sensor]) client.vanish();
});
