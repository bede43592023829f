import { afterAll, beforeAll, expect, it } from 'vitest';
import { Api } from '../former/clients/api.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { accountOf } from '../former/metrics.js';
import { Store } from '../former/stored/store.js';

const HISTORY = '{site}:history';
const TWO_DAYS_MS = 2 * 24 * 3_600_000;

let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await GatewayProcess.start({ GATEWAY_HISTORY_RETENTION_DAYS: '1' });
});

afterAll(() => gateway.remove());

/** Makes the alarms of the history two days older. */
async function age({ redis }: Store): Promise<void> {
  const rows = await redis.xrangeBuffer(HISTORY, '-', '+');
  await redis.del(HISTORY);
  for (const [id, fields] of rows) {
    const aged = fields.map((value, at) => {
      const name = at % 2 === 1 ? String(fields[at - 1]) : '';
      return name === 'r' || name === 't' ? Buffer.from(`${Number(value) - TWO_DAYS_MS}`) : value;
    });
    await redis.xadd(HISTORY, id, ...aged);
  }
}

it('keeps an alarm older than the history while it is in a session’s backlog', async () => {
  const api = new Api(gateway);
  const { id } = await api.createLocation();
  const viewer = await api.viewer(id);
  const session = { clientId: 'nurse', clean: false };
  const nurse = await Subscriber.connect(gateway, viewer, session);
  await nurse.subscribe(`care-homes/${id}/devices/+/alarms/#`);
  await nurse.end();
  const device = await api.createDevice(id);
  const sensor = await connectDevice(gateway, device);
  await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
  await sensor.endAsync();
  // Retention runs at each start.
  await gateway.kill();
  const store = await Store.of(gateway);
  await age(store);
  await gateway.start();
  const log = () => gateway.lines.join('\n');

  const back = await Subscriber.connect(gateway, viewer, session);
  await back.untilCount(1);
  const done = { accepted: 1, delivered: 1, queued: 0, expired: 0, dropped: 0 };
  await expect.poll(() => accountOf(gateway, 'nurse')).toEqual(done);
  await back.end();
  expect(log()).not.toContain('removed old alarms');
  expect(await store.redis.xlen(HISTORY)).toBe(1);
  await expect
    .poll(() => store.redis.hget(`{site}:session:token:${viewer.id}/nurse`, 'alarms.delivered'))
    .toBe('1');

  await gateway.kill();
  await gateway.start();
  await expect.poll(() => store.redis.xlen(HISTORY)).toBe(0);
  store.close();
});
