import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { untilBridge } from './bridge-api.js';
import { bridgeTo, useWorld } from './world.js';

const world = useWorld();

it('guarantee 2: a bridge gets every state after its alarm, even across an outage and a kill; one that sends alarms gets none', async () => {
  const mosquitto = await world.mosquitto();
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.homeOfProcess([
    bridgeTo(mosquitto, { name: 'all', topic: 'all/{topic}' }),
    bridgeTo(mosquitto, { name: 'alarms', topic: 'alarms/{topic}', send: 'alarms' }),
  ]);
  const device = await home.device();
  const ids: string[] = [];
  const give = async (): Promise<void> => {
    const id = randomUUID();
    ids.push(id);
    const sensor = await connectDevice(home.gateway, device);
    const manager = await Subscriber.connect(home.gateway, home.manager);
    const alarm = JSON.stringify({ kind: 'fall', id });
    await sensor.publishAsync(`devices/${device.id}/alarms`, alarm, { qos: 1 });
    for (const state of ['acknowledged', 'resolved']) {
      const text = JSON.stringify({ id, state });
      const topic = home.filter(device, 'alarm-states');
      await manager.client.publishAsync(topic, text, { qos: 1 });
    }
    await Promise.all([sensor.endAsync(), manager.end()]);
  };
  for (const name of ['all', 'alarms']) await untilBridge(home, name, { connected: true });
  await give();
  await mosquitto.kill();
  await give();
  await home.gateway.kill();
  await home.gateway.start();
  await mosquitto.start();
  await give();
  for (const name of ['all', 'alarms']) await untilBridge(home, name, { queued: 0 });
  await subscriber.caughtUp();
  const seen = (prefix: string) => {
    const texts = subscriber.arrivals
      .filter(
        ({ topic }) => topic.startsWith(`${prefix}/`) && /\/(alarms|alarm-states)\//.test(topic),
      )
      .map(({ text }) => {
        const { id, state = 'alarm' } = JSON.parse(text);
        return `${id} ${state}`;
      });
    // Messages in flight during a kill may come again.
    return [...new Set(texts)];
  };
  const each = ['alarm', 'acknowledged', 'resolved'];
  expect(seen('all')).toEqual(ids.flatMap((id) => each.map((what) => `${id} ${what}`)));
  expect(seen('alarms')).toEqual(ids.map((id) => `${id} alarm`));
});
