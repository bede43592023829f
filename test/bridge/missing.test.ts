import { expect, it } from 'vitest';
import { z } from 'zod';
import { auditOf } from '../former/audit.js';
import { MovableClock } from '../former/gateway/movable-clock.js';
import type { Home } from '../former/home.js';
import { accountOf } from '../former/metrics.js';
import { bridgeOf, bridgesOf, deadLettersOf, untilBridge } from './bridge-api.js';
import { bridgeTo, queuedAlarms, reconciled, useWorld } from './world.js';

const world = useWorld();
const DAY_MS = 86_400_000;
/** A missing bridge in `GET /bridges`. */
const MISSING = { url: null, connected: false, lastError: { kind: 'missing' } };

const subject = z.object({ id: z.string() }).optional();
const readiness = z.object({ faults: z.array(z.object({ code: z.string(), subject })) });

/** Whether the gateway's readiness has the fault of the bridge. */
async function faultOf(home: Home): Promise<boolean> {
  const { faults } = readiness.parse(await home.api.json('GET', '/readyz'));
  return faults.some(({ code, subject }) => code === 'bridge-missing' && subject?.id === 'region');
}

async function untilFault(home: Home, isThere: boolean): Promise<void> {
  await expect.poll(() => faultOf(home), { timeout: 20_000, interval: 100 }).toBe(isThere);
}

it.each([
  ['without the bridge', () => []],
  ['with a typing error in its name', (bridge: object) => [{ ...bridge, name: 'regoin' }]],
])('guarantee 2: a start %s loses nothing of its queue', async (_, mistaken) => {
  const mosquitto = await world.deadMosquitto();
  const bridge = bridgeTo(mosquitto, { send: 'alarms' });
  const home = await world.home([bridge]);
  const sensors = await world.sensors(home, 2);
  for (const sensor of sensors) sensor.alarms(20);
  await Promise.all(sensors.map((sensor) => sensor.settled()));
  await home.gateway.stop();

  await home.gateway.configure({ bridges: mistaken(bridge) });
  await home.gateway.start();
  await untilBridge(home, 'region', { ...MISSING, queued: 40, oldestQueuedAt: expect.any(String) });
  await untilFault(home, true);
  for (const sensor of sensors) sensor.alarms(5);
  await Promise.all(sensors.map((sensor) => sensor.settled()));
  expect(await queuedAlarms(home, sensors)).toBe(50);
  // Another start without it.
  await home.gateway.stop();
  await home.gateway.start();
  expect(await queuedAlarms(home, sensors)).toBe(50);
  await home.gateway.stop();

  await mosquitto.start();
  const subscriber = await world.subscriber(mosquitto);
  await home.gateway.configure({ bridges: [bridge] });
  await home.gateway.start();
  await reconciled(home, subscriber, sensors);
  expect(await bridgeOf(home, 'region')).toMatchObject({ url: mosquitto.url });
  await untilFault(home, false);
});

it('guarantee 2: SIGHUP while the file is being written loses nothing of a queue', async () => {
  const mosquitto = await world.deadMosquitto();
  const bridge = bridgeTo(mosquitto, { send: 'alarms' });
  const content = { log: { level: 'info' }, bridges: [bridge] };
  const home = await world.homeOfProcess(content.bridges);
  const sensor = await world.sensor(home);
  const reload = async (text: string | object) => {
    const from = home.gateway.lines.length;
    await home.gateway.configure(text);
    home.gateway.reload();
    await home.gateway.logged(/"(?:reloaded the bridges|failed to reload)/, from);
  };
  for (const text of [
    '',
    '# bridges\n',
    'null\n',
    '---\n',
    'log:\n  level: info\n',
    'bridges:\n',
  ]) {
    sensor.alarms(5);
    await sensor.settled();
    await reload(text);
    expect(await bridgeOf(home, 'region')).toMatchObject({ queued: sensor.published.length });
    sensor.alarms(5);
    await sensor.settled();
    await reload(content);
    await untilBridge(home, 'region', { url: mosquitto.url, queued: sensor.published.length });
  }
  await untilFault(home, false);
  await mosquitto.start();
  await reconciled(home, await world.subscriber(mosquitto), [sensor]);
});

it('a file without keys changes nothing on reload, because it may still be being written', async () => {
  const mosquitto = await world.mosquitto();
  const home = await world.homeOfProcess([bridgeTo(mosquitto)]);
  await untilBridge(home, 'region', { connected: true });
  const { connectedSince } = await bridgeOf(home, 'region');
  for (const text of ['', '# bridges\n', 'null\n', '---\n', 'bridges:\n']) {
    const from = home.gateway.lines.length;
    await home.gateway.configure(text);
    home.gateway.reload();
    await home.gateway.logged('is empty', from);
  }
  expect(await bridgeOf(home, 'region')).toMatchObject({ connected: true, connectedSince });
});

it('an administrator can delete the queue of a missing bridge only', async () => {
  const mosquitto = await world.mosquitto({ settings: { message_size_limit: 300 } });
  const bridge = bridgeTo(mosquitto);
  const home = await world.home([bridge]);
  const sensor = await world.sensor(home);
  const remove = async (name: string) => {
    const answer = await home.api.request('DELETE', `/bridges/${name}`);
    return answer.status === 204 ? 204 : z.object({ code: z.string() }).parse(await answer.json());
  };
  // A dead letter, which is deleted with the queue.
  sensor.alarm('fall', { note: 'x'.repeat(1_000) });
  await expect.poll(() => deadLettersOf(home, 'region')).toHaveLength(1);
  expect(await remove('region')).toEqual({ code: 'bridge-configured' });
  expect(await remove('other')).toEqual({ code: 'bridge-not-found' });

  await home.gateway.configure({ bridges: [] });
  await home.gateway.reload();
  sensor.alarms(3);
  await sensor.settled();
  await untilBridge(home, 'region', { ...MISSING, queued: 3 });
  expect(await deadLettersOf(home, 'region')).toHaveLength(1);
  expect(await remove('region')).toBe(204);
  expect(await bridgesOf(home)).toEqual([]);
  expect(await remove('region')).toEqual({ code: 'bridge-not-found' });
  await untilFault(home, false);
  const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  expect(metrics).not.toContain('bridge/region');
  expect(await auditOf(home.api, 'actions=bridge.deleted')).toMatchObject([
    { action: 'bridge.deleted', resourceId: 'region', actor: { type: 'access-token' } },
  ]);

  // A bridge of its name starts afresh, even after a restart.
  await home.gateway.stop();
  await home.gateway.configure({ bridges: [bridge] });
  await home.gateway.start();
  expect(await deadLettersOf(home, 'region')).toEqual([]);
  sensor.alarm();
  await sensor.settled();
  await expect
    .poll(() => accountOf(home.gateway, 'bridge/region', 'alarms'))
    .toMatchObject({ accepted: 1 });
});

it('a bridge is forgotten once it has been missing as long as sessions are kept, but not one that is away', async () => {
  const clock = new MovableClock();
  world.onEnd(async () => clock.remove());
  const mosquitto = await world.deadMosquitto();
  const region = bridgeTo(mosquitto, { send: 'alarms' });
  const away = { ...region, name: 'away' };
  const home = await world.homeOfProcess([away, region], {
    ...clock.environment,
    GATEWAY_SESSIONS_FORGET_AFTER_DAYS: '2',
  });
  const sensor = await world.sensor(home);
  sensor.alarm();
  await sensor.settled();
  // Its upstream was away for longer, which does not count.
  clock.pass(home.gateway, 3 * DAY_MS);
  await home.gateway.configure({ bridges: [away] });
  home.gateway.reload();
  await untilBridge(home, 'region', { ...MISSING, queued: 1 });
  clock.pass(home.gateway, 4 * DAY_MS);
  sensor.alarm();
  await sensor.settled();
  await untilBridge(home, 'region', { ...MISSING, queued: 2 });
  clock.pass(home.gateway, 6 * DAY_MS);
  await expect
    .poll(async () => (await bridgesOf(home)).map(({ name }) => name), { timeout: 20_000 })
    .toEqual(['away']);
  await untilFault(home, false);
});
