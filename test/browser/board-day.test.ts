import { setTimeout as delay } from 'node:timers/promises';
import type { MqttClient } from 'mqtt';
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice } from '../harness/api.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { connectDevice } from '../harness/mqtt-clients.js';
import { alarmsOn, boardReady, makeWard, publishAlarm, type Ward } from './board-ward.js';
import { openConsole } from './browser.js';

/** A day with GATEWAY_TEST_LONG=1; a fifth of one otherwise. */
const ALARMS = process.env['GATEWAY_TEST_LONG'] === undefined ? 4_000 : 20_000;
const DEVICES = 10;
/** Together 1,000 alarms a second: a flood, but not all that the machine can do. */
const BURST = 20;
const BURST_EVERY_MS = 200;
/** Measured: 4 MiB, mostly of the rows, however many alarms there are. */
const MAX_HEAP_GROWTH_BYTES = 7 * 1024 * 1024;
const MAX_ROWS = 200;
const MAX_FRAME_MS = 200;
const TIMEOUT_MS = 120_000;

const heapUsage = z.object({ usedSize: z.number() });

let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await GatewayProcess.start();
});

afterAll(() => gateway.remove());

/** What the page keeps when nothing is garbage any more. */
async function heapBytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return heapUsage.parse(await session.send('Runtime.getHeapUsage')).usedSize;
}

/** Notes how long each frame takes from now on. */
async function watchFrames(page: Page): Promise<() => Promise<number[]>> {
  await page.evaluate(() => {
    const frameTimesMs: number[] = [];
    Object.assign(globalThis, { frameTimesMs });
    let lastMs = performance.now();
    const next = (nowMs: number) => {
      frameTimesMs.push(nowMs - lastMs);
      lastMs = nowMs;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  return async () =>
    z.array(z.number()).parse(await page.evaluate(() => Reflect.get(globalThis, 'frameTimesMs')));
}

/** A day's alarms of one device, in bursts. */
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

describe('a board that is left open', () => {
  it(
    'stays small and smooth through a day of alarms that nobody resolves',
    async () => {
      const ward = await makeWard(gateway);
      const { token } = await ward.api.viewer(ward.locationId);
      const { page, faults } = await openConsole(gateway, { token });
      await boardReady(page);
      const session = await page.context().newCDPSession(page);
      const before = await heapBytes(session);
      const frameTimes = await watchFrames(page);

      await publishDays(ward);
      await publishAlarm(gateway, ward.device, { kind: 'fall' });
      await page.getByRole('article', { name: 'Fall, Room 12' }).waitFor();
      await page.waitForFunction(
        (rows) => document.querySelectorAll('.board-alarm').length === rows,
        MAX_ROWS,
      );
      const frames = (await frameTimes()).sort((one, other) => one - other);
      const growthBytes = (await heapBytes(session)) - before;

      const p99 = frames[Math.floor(0.99 * frames.length)] ?? Number.POSITIVE_INFINITY;
      const measured = `heap +${(growthBytes / 1024 / 1024).toFixed(1)} MiB, ${frames.length} frames, p99 ${p99.toFixed(0)} ms, longest ${frames.at(-1)?.toFixed(0)} ms`;
      expect(growthBytes, measured).toBeLessThan(MAX_HEAP_GROWTH_BYTES);
      expect(p99, measured).toBeLessThan(MAX_FRAME_MS);
      expect(await alarmsOn(page).count()).toBe(MAX_ROWS);
      await page.getByRole('heading', { name: `Open alarms: ${ALARMS + 1}` }).waitFor();
      await page.getByText(`${ALARMS + 1 - MAX_ROWS} more`).waitFor();
      expect(faults).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
