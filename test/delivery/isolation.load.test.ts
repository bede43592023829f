import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { BAD_SUBSCRIBERS, type BadSubscriber } from '../former/clients/bad-subscribers.js';
import { Subscriber } from '../former/clients/mqtt-clients.js';
import { eventually } from '../former/eventually.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { median } from '../former/median.js';
import { NumberedHome, numbersOf, range } from '../former/numbered-home.js';

/** `npm run bench -- isolation` holds the 99th percentile to a tenth of it. */
const PROMPT_MS = 1_000;
const ALARMS = 200;
/** More than the kernel buffers for a subscriber that stops reading (4 MiB), so that the gateway notices. */
const MAX_IN_FLIGHT = 400;
const FILLING = 500;
const FILLING_TEXT = 'x'.repeat(15_000);

let gateway: GatewayProcess;
let home: NumberedHome;
let bad: BadSubscriber[] = [];

beforeAll(async () => {
  gateway = await GatewayProcess.start({ GATEWAY_MQTT_MAX_IN_FLIGHT: String(MAX_IN_FLIGHT) });
});

beforeEach(async () => {
  home = await NumberedHome.open(gateway, 2);
});

afterEach(async () => {
  for (const one of bad) one.end();
  bad = [];
  await home.close();
});

afterAll(() => gateway.remove());

/** Publishes alarms one after the other. Returns the latencies to the good subscriber. */
async function latenciesMs(nurse: Subscriber, count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let left = count; left > 0; left--) {
    const expected = nurse.received.length + 1;
    const begunMs = performance.now();
    await Promise.all([home.sensor.alarm(), nurse.untilCount(expected)]);
    latencies.push(performance.now() - begunMs);
  }
  return latencies;
}

it('guarantee 5: a subscriber is served promptly beside one that stops reading, and three that misbehave otherwise', async () => {
  for (const begin of BAD_SUBSCRIBERS.values()) {
    bad.push(await begin(gateway, home.viewer, home.locationId));
  }
  const nurse = await Subscriber.connect(gateway, home.viewer);
  await nurse.subscribe(home.alarmFilter);
  const filler = home.sensors.at(-1);
  await filler?.alarm(FILLING, FILLING_TEXT);
  await nurse.untilCount(FILLING);
  expect(median(await latenciesMs(nurse, ALARMS))).toBeLessThan(PROMPT_MS);
  // On a slow machine a live copy may have been counted as an alarm.
  await eventually(() => {
    expect(numbersOf(nurse.received, home.sensor.device.id)).toEqual(range(0, ALARMS));
  });
  await nurse.end();
});
