import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BAD_SUBSCRIBERS, type BadSubscriber } from '../harness/bad-subscribers.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Subscriber } from '../harness/mqtt-clients.js';
import { numbersOf, range, Ward } from './ward.js';

/** Generous, for a machine that runs other tests beside; the bench holds the 99th percentile. */
const PROMPT_MS = 1_000;
const MEDIAN_PROMPT_MS = 100;
const ALARMS = 200;
/** Fills the sockets' buffers of whoever stops reading, so that the gateway feels it. */
const FILLING = 4_000;

let gateway: GatewayProcess;
let ward: Ward;
let bad: BadSubscriber[] = [];

beforeAll(async () => {
  gateway = await GatewayProcess.start();
});

beforeEach(async () => {
  ward = await Ward.open(gateway, 2);
});

afterEach(async () => {
  for (const one of bad) one.end();
  bad = [];
  await ward.close();
});

afterAll(() => gateway.remove());

/** Publishes one alarm after the other; how long each took to reach the good one, sorted. */
async function latenciesMs(nurse: Subscriber, count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let left = count; left > 0; left--) {
    const expected = nurse.received.length + 1;
    const begunMs = performance.now();
    await Promise.all([ward.sensor.alarm(), nurse.untilCount(expected)]);
    latencies.push(performance.now() - begunMs);
  }
  return latencies.sort((one, other) => one - other);
}

async function expectPrompt(): Promise<void> {
  const nurse = await Subscriber.connect(gateway, ward.viewer);
  await nurse.subscribe(ward.alarmFilter);
  const filler = ward.sensors.at(-1);
  await filler?.alarm(FILLING);
  await nurse.untilCount(FILLING);
  const latencies = await latenciesMs(nurse, ALARMS);
  expect(latencies.at(-1)).toBeLessThan(PROMPT_MS);
  expect(latencies[ALARMS / 2]).toBeLessThan(MEDIAN_PROMPT_MS);
  expect(numbersOf(nurse.received, ward.sensor.device.id)).toEqual(range(0, ALARMS));
  await nurse.end();
}

describe('guarantee 5: a subscriber is served promptly beside one that', () => {
  it.each([...BAD_SUBSCRIBERS])('%s', async (_what, begin) => {
    bad = [await begin(gateway, ward.viewer, ward.locationId)];
    await expectPrompt();
  });

  it('does any of that, all of them at once', async () => {
    for (const begin of BAD_SUBSCRIBERS.values()) {
      bad.push(await begin(gateway, ward.viewer, ward.locationId));
    }
    await expectPrompt();
  });
});
