import { expect, it } from 'vitest';
import { LOG_NAMES } from '../../src/delivery/log/log-entry.js';
import { Api } from '../former/clients/api.js';
import { faultsOf } from '../former/clients/connection-list.js';
import { Subscriber } from '../former/clients/mqtt-clients.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { accountIn } from '../former/metrics.js';
import { faultTextsIn } from '../harness/described/fault-texts.js';
import { bridgeOf, bridgeStatusSchema, untilBridge } from './bridge-api.js';
import { ScriptedUpstream } from './upstream/scripted-upstream.js';
import { bridgeTo, useWorld } from './world.js';

const world = useWorld();

const CLOCKS_APART_MS = 1_000;

it('shows a bridge’s status on its retained topic, over HTTP, in the metrics and as a fault', async () => {
  const mosquitto = await world.mosquitto();
  const filters = ['+/+/devices/+/alarms/#', '+/+/devices/+/temperature'];
  const home = await world.home([bridgeTo(mosquitto, { filters, maxQueuedMessages: 10 })]);
  const sensor = await world.sensor(home);
  await untilBridge(home, 'region', { connected: true });
  const admin = await Subscriber.connect(home.gateway, { id: 'admin', token: ADMIN_TOKEN });
  const topic = 'gateway/bridges/region/status';
  await admin.subscribe(topic, 'gateway/status');
  await admin.until((all) => all.some((one) => one.topic === topic && one.retain));
  const statuses = () => admin.messages(topic).map((one) => bridgeStatusSchema.parse(one));
  const faults = () => faultTextsIn(admin.messages('gateway/status').at(-1));
  expect(statuses()).toMatchObject([
    { name: 'region', connected: true, lastAcknowledgedAt: null, delivered: 0, lastError: null },
  ]);
  expect(faults()).toEqual([]);

  sensor.alarms(3);
  await sensor.settled();
  await untilBridge(home, 'region', { delivered: 3, queued: 0, oldestQueuedAt: null });
  const working = await bridgeOf(home, 'region');
  expect(Date.parse(working.lastAcknowledgedAt ?? '')).toBeGreaterThanOrEqual(
    Date.parse(working.connectedSince ?? ''),
  );

  await mosquitto.stop();
  await admin.until(() => statuses().at(-1)?.connected === false);
  await expect.poll(faults).toEqual(['A bridge is down: the upstream cannot be reached.']);
  expect(await faultsOf(home.gateway)).toEqual([
    'A bridge is down: the upstream cannot be reached: bridge region',
  ]);
  const downMs = Date.now();
  // Alarms leave a queue by age only, so all twelve stay although the bound is lower (contract.md, 4.6).
  sensor.alarms(12);
  for (let number = 0; number < 12; number++) sensor.message('temperature', number);
  await sensor.settled();
  await untilBridge(home, 'region', {
    connected: false,
    connectedSince: null,
    queued: 22,
    delivered: 3,
    dropped: { tooMany: 2, tooOld: 0, refused: 0, lost: 0 },
    lastError: { kind: 'unreachable' },
  });
  const down = await bridgeOf(home, 'region');
  // The gateway's steady clock may show a different millisecond.
  expect(Date.parse(down.oldestQueuedAt ?? '')).toBeGreaterThan(downMs - CLOCKS_APART_MS);
  const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  const accounts = {
    alarms: { accepted: 15, delivered: 3, queued: 12, expired: 0, dropped: 0 },
    messages: { accepted: 12, delivered: 0, queued: 10, expired: 0, dropped: 2 },
  };
  for (const log of LOG_NAMES) {
    expect(accountIn(metrics, 'bridge/region', log)).toEqual(accounts[log]);
  }
  expect(metrics).toContain('gateway_bridge_connected{bridge="region"} 0\n');
  expect(metrics).toContain('gateway_bridge_dropped_total{bridge="region",reason="too_many"} 2\n');
  expect(metrics).toMatch(
    /^gateway_bridge_last_error_timestamp_seconds\{bridge="region",kind="unreachable"\} \d/m,
  );
  for (const [name, at] of [
    ['last_acknowledged', down.lastAcknowledgedAt],
    ['oldest_queued', down.oldestQueuedAt],
  ]) {
    const found = new RegExp(
      `^gateway_bridge_${name}_timestamp_seconds\\{bridge="region"\\} (.*)$`,
      'm',
    );
    const seconds = Number(found.exec(metrics)?.[1]);
    expect(seconds).toBeCloseTo(Date.parse(at ?? '') / 1000, 2);
  }

  await mosquitto.start();
  await admin.until(() => statuses().at(-1)?.connected === true);
  // The gateway checks backlogs every ten seconds, perhaps while the bridge had one.
  await expect.poll(faults).toEqual([]);
  await untilBridge(home, 'region', { delivered: 25, queued: 0, dropped: { tooMany: 2 } });
  await admin.end();
});

it('reports an undeliverable message, and reveals nothing of it to a token of another location', async () => {
  const upstream = await ScriptedUpstream.start({ onPublish: () => 'hang up' });
  world.onEnd(() => upstream.remove());
  const home = await world.home([bridgeTo(upstream, { send: 'alarms' })]);
  const sensor = await world.sensor(home, 'Bett am Fenster');
  await home.api.setCustomData(sensor.device, '{"diagnosis":"Parkinson"}');
  const elsewhere = await home.api.viewer((await home.api.createLocation('Haus am Wald')).id);
  const outsider = await Subscriber.connect(home.gateway, elsewhere);
  await outsider.subscribe('gateway/status');
  const id = sensor.alarm('noise', { loudness: 'screaming' });
  const fault =
    'A bridge cannot deliver a message: the upstream refuses it, or closes the connection at it.';
  await outsider.until(() =>
    outsider.messages('gateway/status').some((status) => faultTextsIn(status).includes(fault)),
  );
  const seen = outsider.received.map(({ text }) => text).join('\n');
  const secrets = [
    id,
    sensor.device.id,
    home.locationId,
    'region',
    'Parkinson',
    'diagnosis',
    'loudness',
    'screaming',
    'Bett',
    'Haus',
    upstream.url,
  ];
  for (const secret of secrets) expect(seen).not.toContain(secret);
  await outsider.end();
});

it('is for administrators only', async () => {
  const mosquitto = await world.mosquitto();
  const home = await world.home([bridgeTo(mosquitto)]);
  const manager = new Api(home.gateway, home.manager.token);
  for (const path of ['/bridges', '/bridges/region/dead-letters']) {
    expect((await manager.request('GET', path)).status).toBe(403);
    expect((await home.api.request('GET', path)).status).toBe(200);
  }
  expect((await home.api.request('GET', '/bridges/none/dead-letters')).status).toBe(404);
  const nurse = await Subscriber.connect(home.gateway, home.manager);
  await expect(nurse.subscribe('gateway/bridges/region/status')).rejects.toThrow();
  await nurse.end();
});
