import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectDevice } from '../former/clients/mqtt-clients.js';
import { RawClient } from '../former/clients/raw-client.js';
import { eventually } from '../former/eventually.js';
import type { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Home } from '../former/home.js';
import { RemoteStore } from '../former/servers/remote-store.js';
import { Store } from '../former/stored/store.js';
import { ALARM, absentNurse, backlogOf } from './absent-nurse.js';

let home: Home;
/** A second gateway, for tests with another gateway or a separate process. */
let other: Home<GatewayProcess>;
let store: Store;

beforeAll(async () => {
  [home, other] = await Promise.all([Home.start(), Home.startProcess()]);
  store = await Store.of(home.gateway);
});

afterEach(async () => {
  store.thaw();
  await store.redis.config('SET', 'maxmemory', '0');
});

afterAll(async () => {
  store.close();
  await Promise.all([home.remove(), other.remove()]);
});

describe('fault 7: a store that is unreachable for more than 20 attempts', () => {
  /** Attempts of each connection of the gateway, after which ioredis gives up by default. */
  const ATTEMPTS = 21;
  const CONNECTIONS = 5;
  let remote: RemoteStore;
  let away: Home;

  beforeAll(async () => {
    remote = await RemoteStore.start();
    away = await Home.start({ GATEWAY_REDIS_URL: remote.url });
  });

  afterAll(async () => {
    remote.mend();
    await away.remove();
    await remote.remove();
  });

  it('costs no alarm, no telemetry and no will', async () => {
    const device = await away.device();
    const second = await away.device('Bett 2');
    const clientId = await absentNurse(away, device);
    const sensor = await connectDevice(away.gateway, device);
    const will = { topic: `devices/${second.id}/alarms`, payload: ALARM, qos: 1 as const };
    const vanishing = await RawClient.connect(away.gateway, second, { will });

    remote.cut();
    vanishing.vanish();
    const published = Array.from({ length: 50 }, (_, number) => [
      sensor.publishAsync(
        `devices/${device.id}/alarms`,
        JSON.stringify({ kind: 'fall', id: randomUUID(), number }),
        { qos: 1 },
      ),
      sensor.publishAsync(`devices/${device.id}/x`, String(number), { qos: 1 }),
    ]).flat();
    let acknowledged = 0;
    for (const one of published) void one.then(() => acknowledged++);
    await remote.refused(ATTEMPTS * CONNECTIONS);
    expect(acknowledged).toBe(0);

    remote.mend();
    await Promise.all(published);
    const nurse = await backlogOf(away, clientId, 50);
    expect(nurse.messages().map(({ data }) => Object(data).number)).toEqual(
      Array.from({ length: 50 }, (_, number) => number),
    );
    // The connection for HTTP may be back a second later than that for the alarms.
    const recorded = await eventually(() => away.api.allAlarms(device));
    expect(recorded).toHaveLength(50);
    expect(await away.api.allAlarms(second)).toHaveLength(1);
    await Promise.all([nurse.end(), sensor.endAsync()]);
  });
});
