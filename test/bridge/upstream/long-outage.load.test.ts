import { expect, it } from 'vitest';
import { Api } from '../../former/clients/api.js';
import { median } from '../../former/median.js';
import { untilBridge } from '../bridge-api.js';
import { bridgeTo, queuedAlarms, reconciled, useWorld } from '../world.js';

const world = useWorld();

/** Takes some minutes, so it runs only with GATEWAY_TEST_LONG=1. */
const isLong = process.env['GATEWAY_TEST_LONG'] !== undefined;

const BACKLOG = 100_000;
const DEVICES = 100;
/** Alarms of a device under way at a time. */
const AT_ONCE = 100;
const LATE_AFTER_MS = 60_000;
/** contract.md, 4.4. */
const LIVE_WITHIN_MS = 1_000;
const MEASURE_EVERY_MS = 500;
const TIMEOUT_MS = 1_800_000;

it.runIf(isLong)(
  'guarantee 2 and 3: a day’s outage of 100,000 alarms is replayed completely and in order, marked late, while new alarms go ahead',
  { timeout: TIMEOUT_MS },
  async () => {
    const mosquitto = await world.deadMosquitto();
    const home = await world.home([bridgeTo(mosquitto, { ackTimeoutSeconds: 10 })]);
    const sensors = await world.sensors(home, DEVICES);
    for (let count = 0; count < BACKLOG / DEVICES; count += AT_ONCE) {
      for (const sensor of sensors) sensor.alarms(AT_ONCE);
      await Promise.all(sensors.map((sensor) => sensor.settled()));
    }
    expect(await queuedAlarms(home, sensors)).toBe(BACKLOG);
    const last = sensors.at(-1);
    if (last === undefined) throw new Error('there are devices');
    const { events } = await new Api(home.gateway).alarms(last.device, '?limit=1');
    const lastAtMs = Date.parse(events[0]?.detectedAt ?? '');
    await new Promise((resolve) => {
      setTimeout(resolve, Math.max(0, lastAtMs + LATE_AFTER_MS + 1_000 - Date.now()));
    });

    const fresh = await world.sensors(home, 5);
    await mosquitto.start();
    const subscriber = await world.subscriber(mosquitto);
    // Alarms published before the bridge is back are part of the outage.
    await untilBridge(home, 'region', { connected: true });
    const startedMs = performance.now();
    const delays: number[] = [];
    while (subscriber.distinct < BACKLOG) {
      for (const sensor of fresh) {
        const publishedMs = performance.now();
        const id = sensor.alarm();
        await subscriber.untilKeys(sensor.device.id, [id], TIMEOUT_MS);
        delays.push(performance.now() - publishedMs);
      }
      await new Promise((resolve) => setTimeout(resolve, MEASURE_EVERY_MS));
    }
    const replayedMs = performance.now() - startedMs;
    process.stdout.write(
      `replayed ${BACKLOG} in ${Math.round(replayedMs / 1000)} s; ${delays.length} new alarms ` +
        `meanwhile, the slowest after ${Math.round(Math.max(...delays))} ms\n`,
    );
    await reconciled(home, subscriber, [...sensors, ...fresh]);
    await untilBridge(home, 'region', { queued: 0 });
    const old = new Set(sensors.map(({ device }) => device.id));
    for (const { text, deviceId = '', key } of subscriber.arrivals) {
      if (key !== undefined) expect(JSON.parse(text).late, text).toBe(old.has(deviceId));
    }
    expect(median(delays)).toBeLessThan(LIVE_WITHIN_MS);
  },
);
