import { afterAll, beforeAll, expect, it } from 'vitest';
import { Api } from '../harness/api.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { accountOf } from '../harness/metrics.js';
import { connectDevice, Subscriber } from '../harness/mqtt-clients.js';

let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await GatewayProcess.start({ GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: '10' });
});

afterAll(() => gateway.remove());

it('guarantee 6: accepted = delivered + queued + expired + dropped, at /metrics, at any time', async () => {
  const api = new Api(gateway);
  const { id } = await api.createLocation();
  const device = await api.createDevice(id);
  const viewer = await api.viewer(id);
  const sensor = await connectDevice(gateway, device);
  const publish = async (count: number) => {
    for (let number = 0; number < count; number++) {
      await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
    }
  };
  const session = { clientId: 'nurse', clean: false };
  const nurse = await Subscriber.connect(gateway, viewer, session);
  await nurse.subscribe(`care-homes/${id}/devices/+/alarms/#`);
  await publish(3);
  await nurse.untilCount(3);
  await nurse.end();
  await expect
    .poll(() => accountOf(gateway, 'nurse'))
    .toEqual({ accepted: 3, delivered: 3, queued: 0, expired: 0, dropped: 0 });

  await publish(12);
  const away = { accepted: 15, delivered: 3, queued: 10, expired: 0, dropped: 2 };
  expect(await accountOf(gateway, 'nurse')).toEqual(away);
  await sensor.endAsync();
  await gateway.stop();
  await gateway.start();
  expect(await accountOf(gateway, 'nurse')).toEqual(away);

  const back = await Subscriber.connect(gateway, viewer, session);
  await back.untilCount(10);
  const done = { accepted: 15, delivered: 13, queued: 0, expired: 0, dropped: 2 };
  await expect.poll(() => accountOf(gateway, 'nurse')).toEqual(done);

  // Of what was acknowledged in the last moment a kill leaves nothing: it is owed again.
  await gateway.kill();
  await back.client.endAsync(true);
  await gateway.start();
  const { accepted, delivered, queued, expired, dropped } = await accountOf(gateway, 'nurse');
  expect(accepted).toBe(15);
  expect(delivered + queued + expired + dropped).toBe(accepted);
});

it('guarantee 6: a live subscriber has his account too, as long as he is there', async () => {
  const api = new Api(gateway);
  const { id } = await api.createLocation();
  const device = await api.createDevice(id);
  const live = await Subscriber.connect(gateway, await api.viewer(id), { clientId: 'live' });
  await live.subscribe(`care-homes/${id}/devices/+/alarms/#`);
  const sensor = await connectDevice(gateway, device);
  await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
  await live.untilCount(1);
  const account = { accepted: 1, delivered: 1, queued: 0, expired: 0, dropped: 0 };
  await expect.poll(() => accountOf(gateway, 'live')).toEqual(account);
  await live.end();
  const metrics = async () => (await fetch(`${gateway.httpUrl}/metrics`)).text();
  await expect.poll(metrics).not.toContain('consumer="live"');
  await sensor.endAsync();
});
