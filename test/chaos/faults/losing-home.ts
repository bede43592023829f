import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import type { TestDevice } from '../../former/clients/api.js';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { Home } from '../../former/home.js';
import { becomesReady } from './faults.js';
import { OwnRedis } from './own-redis.js';

export const events = z.object({ events: z.array(z.unknown()) });

/** Clean-ups, run in reverse order. */
export const cleanups: (() => unknown)[] = [];

export async function homeWith(environment: Record<string, string> = {}): Promise<Home> {
  const gateway = await GatewayHere.start(environment);
  cleanups.push(() => gateway.remove());
  return Home.at(gateway);
}

/** Records alarms of a device, and waits until the gateway has noted their number. Resolves to their ids. */
export async function recordAlarms(
  home: Home,
  count: number,
  total = count,
  given?: TestDevice,
): Promise<string[]> {
  const device = given ?? (await home.device());
  const sensor = await connectDevice(home.gateway, device);
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) {
    const alarm = JSON.stringify({ kind: 'fall', id });
    await sensor.publishAsync(`devices/${device.id}/alarms`, alarm, { qos: 1 });
  }
  await sensor.endAsync();
  await eventually(async () => {
    const witness = await readFile(join(home.gateway.dataDir, 'store-witness.json'), 'utf8');
    expect(witness).toContain(`"newestAlarm":${total},`);
  });
  return ids;
}

export async function acknowledge(home: Home): Promise<void> {
  const { status } = await home.api.request('POST', '/faults/store-lost-data/acknowledge');
  expect(status).toBe(204);
  await becomesReady(home);
}

export async function homeOnOwnStore(): Promise<{ home: Home; store: OwnRedis }> {
  const store = await OwnRedis.create();
  cleanups.push(() => store.remove());
  await store.start();
  return { home: await homeWith({ GATEWAY_REDIS_URL: store.url }), store };
}
