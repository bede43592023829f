import { setTimeout as delay } from 'node:timers/promises';
import type { MqttClient } from 'mqtt';
import type { CDPSession } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice } from '../../former/clients/api.js';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { openConsole } from '../browser.js';
import { alarmsOn, boardReady, makeWard, publishAlarm, type Ward } from './board-ward.js';

/** A day with GATEWAY_TEST_LONG=1; a fifth of one otherwise. */
const ALARMS = process.env['GATEWAY_TEST_LONG'] === undefined ? 4_000 : 20_000;
const DEVICES = 10;
/** Together 1,000 alarms a second: a flood, but less than the machine can do. */
const BURST = 20;
const BURST_EVERY_MS = 200;
/** Measured: 4 MiB, mostly for the rows, whatever the number of alarms. */
const MAX_HEAP_GROWTH_BYTES = 7 * 1024 * 1024;
const MAX_ROWS = 200;

const heapUsage = z.object({ usedSize: z.number() });

let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await GatewayProcess.start();
});

afterAll(() => gateway.remove());

/** What the page keeps after garbage collection. */
async function heapBytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return heapUsage.parse(await session.send('Runtime.getHeapUsage')).usedSize;
}

/** Publishes a day's alarms of one device, in bursts. */
async function publishDay(device: TestDevice, client: MqttClient): Promise<void> {
  const topic = `devices/${device.id}/alarms`;
  for (let sent = 0; sent < ALARMS / DEVICES; sent += BURST) {
    const pause = delay(BURST_EVERY_MS);
    await Promise.all(
      Array.from({ length: BURST }, () =>
        client.publishAsync(topic, '{"kind":"noise"}', { qos: 1 }),
      ),
    );
    await pause;
  }
}

async function publishDays(ward: Ward): Promise<void> {
  const names = Array.from({ length: DEVICES }, (_, index) => `Sensor ${index}`);
  await Promise.all(
    names.map(async (name) => {
      const device = await ward.api.createDevice(ward.locationId, name);
      const client = await connectDevice(gateway, device);
      await publishDay(device, client);
      await client.endAsync();
    }),
  );
}

describe('a board left open', () => {
  it('stays small through a day of alarms that nobody resolves', async () => {
    const ward = await makeWard(gateway);
    const { token } = await ward.api.viewer(ward.locationId);
    const { page, faults } = await openConsole(gateway, { token });
    await boardReady(page);
    const session = await page.context().newCDPSession(page);
    const before = await heapBytes(session);

    await publishDays(ward);
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await page.getByRole('article', { name: 'Fall, Room 12' }).waitFor();
    await page.waitForFunction(
      (rows) => document.querySelectorAll('.board-alarm').length === rows,
      MAX_ROWS,
    );
    const growthBytes = (await heapBytes(session)) - before;
    expect(growthBytes).toBeLessThan(MAX_HEAP_GROWTH_BYTES);
    expect(await alarmsOn(page).count()).toBe(MAX_ROWS);
    await page.getByRole('heading', { name: `Open alarms: ${ALARMS + 1}` }).waitFor();
    await page.getByText(`${ALARMS + 1 - MAX_ROWS} more`).waitFor();
    expect(faults).toEqual([]);
  });
});
