import { afterAll, beforeAll, expect, it } from 'vitest';
import { Api } from '../former/clients/api.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { accountOf } from '../former/metrics.js';

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start({ GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: '10' });
});

afterAll(() => gateway.remove());

it('guarantee 6: accepted = delivered + queued + expired + dropped holds at any time, as /metrics shows', async () => {
  const api = new Api(gateway);
  const { id } = await api.createLocation();
  const device = await api.createDevice(id);
  const viewer = await api.viewer(id);
  const sensor = await connectDevice(gateway, device);
  const publish = async (topic: string, count: number) => {
    for (let number = 0; number < count; number++) {
      await sensor.publishAsync(`devices/${device.id}/${topic}`, '{"kind":"fall"}', { qos: 1 });
    }
  };
  const broken: unknown[] = [];
  const accounts = async () => {
    const read = [
      await accountOf(gateway, 'nurse', 'alarms'),
      await accountOf(gateway, 'nurse', 'messages'),
    ];
    for (const account of read) {
      const { accepted, delivered, queued, expired, dropped } = account;
      if (accepted !== delivered + queued + expired + dropped) broken.push(account);
    }
    return read;
  };
  const session = { clientId: 'nurse', clean: false };
  const nurse = await Subscriber.connect(gateway, viewer, session);
  await nurse.subscribe(`care-homes/${id}/devices/+/alarms/#`, `care-homes/${id}/devices/+/bed`);
  await publish('alarms', 3);
  await publish('bed', 3);
  await nurse.untilCount(6);
  await nurse.end();
  const read = { accepted: 3, delivered: 3, queued: 0, expired: 0, dropped: 0 };
  await expect.poll(accounts).toEqual([read, read]);

  await publish('alarms', 12);
  await publish('bed', 12);
  // The bound is for telemetry: alarms leave a backlog by age only.
  const away = [
    { accepted: 15, delivered: 3, queued: 12, expired: 0, dropped: 0 },
    { accepted: 15, delivered: 3, queued: 10, expired: 0, dropped: 2 },
  ];
  // Messages beyond the bound are dropped a moment after they are acknowledged.
  await expect.poll(accounts).toEqual(away);
  await sensor.endAsync();
  await gateway.stop();
  await gateway.start();
  expect(await accounts()).toEqual(away);

  const back = await Subscriber.connect(gateway, viewer, session);
  await back.untilCount(22);
  const done = [
    { accepted: 15, delivered: 15, queued: 0, expired: 0, dropped: 0 },
    { accepted: 15, delivered: 13, queued: 0, expired: 0, dropped: 2 },
  ];
  await expect.poll(accounts).toEqual(done);
  expect(broken).toEqual([]);
  await back.end();
});

it('guarantee 6: a live subscriber has an account while it is connected', async () => {
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
