import { afterEach, expect, it } from 'vitest';
import { Api, type TestDevice } from '../../former/clients/api.js';
import { loginOf } from '../../former/clients/raw-client.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { LoadProcess } from '../../former/load-process.js';
import { NO_LIMITS } from '../../former/no-limits.js';
import type { Plan } from '../../harness/load/plan.js';

const DEVICES = 20;
const CONNECTIONS = 50;
const ALARMS = { perSecond: 100, window: 1_000 } as const;
/** `npm run hostile` has other floods, and measures how long each alarm takes. */
const FLOOD_MS = 2_500;
const ALARMS_MS = 2_000;

let gateway: GatewayProcess;
let loads: LoadProcess[] = [];

afterEach(async () => {
  for (const load of loads) await load.kill();
  loads = [];
  await gateway.remove();
});

async function open(plan: Omit<Plan, 'port'>): Promise<LoadProcess> {
  const load = await LoadProcess.open({ ...plan, port: gateway.mqttPort });
  loads.push(load);
  return load;
}

/** Twenty devices of a home, and its nurse call. */
async function quietHome(api: Api): Promise<LoadProcess> {
  const { id } = await api.createLocation();
  const devices = await Promise.all(Array.from({ length: DEVICES }, () => api.createDevice(id)));
  const nurse = { ...loginOf(await api.viewer(id), 'nurse'), isClean: true };
  return open({
    kind: 'falls',
    qos: 1,
    firstNumber: 10,
    readers: [nurse],
    devices: devices.map((device) => loginOf(device, device.id)),
    filter: `care-homes/${id}/devices/+/alarms/#`,
  });
}

/** One device, in a home with its own nurse call. */
async function floodOf(api: Api, device: TestDevice): Promise<LoadProcess> {
  const logins = Array.from({ length: CONNECTIONS }, (_, index) =>
    loginOf(device, `${device.id}-${index}`),
  );
  const nurse = { ...loginOf(await api.viewer(device.locationId), 'other-nurse'), isClean: true };
  return open({
    kind: 'telemetry',
    qos: 0,
    firstNumber: 40,
    devices: logins,
    readers: [nurse],
    filter: `care-homes/${device.locationId}/#`,
  });
}

it('no alarm of another home is lost when a device sends as fast as it can over 50 connections', async () => {
  gateway = await GatewayProcess.start(NO_LIMITS);
  const api = new Api(gateway);
  const quiet = await quietHome(api);
  const { id } = await api.createLocation();
  const flood = await floodOf(api, await api.createDevice(id));
  const flooding = flood.offer({ window: 60_000, durationMs: FLOOD_MS });
  const during = await quiet.offer({ ...ALARMS, durationMs: ALARMS_MS });
  await flooding;
  const text = JSON.stringify(during);
  expect(during.sent, text).toBeGreaterThan(ALARMS.perSecond);
  await expect.poll(async () => (await quiet.report()).readers[0]?.received).toBe(during.sent);
  expect((await quiet.report()).closedDevices, text).toBe(0);
});
