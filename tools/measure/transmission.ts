import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Gateway } from '../../test/harness/gateway.js';
import { Home } from '../../test/harness/home.js';
import type { Sensor } from '../../test/harness/sensor.js';
import { withEnds } from '../interrupt.js';
import type { Part } from './measure.js';
import { printTable, verdict } from './table.js';

const ALARMS = 600;
const EVERY_MS = 50;
const FREEZES = 20;
const KILLS = 10;
const SILENT_DEVICES = 20;
const SILENT_AFTER_SECONDS = 60;
/** `GET /faults` names up to three clients with the same fault. */
const LOST_SUBSCRIBERS = 3;
/** So that the gateway's own intervals are met at different moments. */
const APART_MS = 370;
const LOOK_EVERY_MS = 100;
const LIVE_WITHIN_MS = 1_000;

const faultsSchema = z.array(
  z.object({ code: z.string(), subject: z.object({ id: z.string() }).nullish() }),
);

type Times = readonly number[];

/** How long what a supervising station asks about takes: the built gateway with its own store, one sensor at a time. */
export const transmission: Part = () =>
  withEnds(async (onEnd) => {
    const gateway = await Gateway.start({ kind: 'process' });
    onEnd(() => gateway.remove());
    const home = await Home.at(gateway);
    onEnd(() => home.close());
    // Its subscriber is away afterwards, and must not be owed the alarms of the others.
    const [acknowledged, durable, live] = await alarmTimes(await Home.at(gateway));
    const [silences, losses] = await Promise.all([silenceTimes(home), lossTimes(home)]);
    const copies = await frozenStoreTimes(home);
    const restarts = await killTimes(gateway, home);
    printTable('In milliseconds; silence beyond the time that is set', [
      ['', 'median', 'worst', 'of'],
      row('alarm to its acknowledgement (stored)', acknowledged),
      row('alarm to a durable subscriber', durable),
      row('alarm to a live subscriber', live),
      row('alarm to a live subscriber, store frozen', copies),
      row('gateway killed and started again, to the next acknowledgement', restarts),
      row('silence of a device to its event', silences),
      row('alarm for a lost subscriber to the fault', losses),
    ]);
    const worst = Math.max(...durable, ...live, ...copies);
    return verdict('each alarm at its subscribers within a second', worst <= LIVE_WITHIN_MS);
  });

async function alarmTimes(home: Home): Promise<[Times, Times, Times]> {
  const sensor = await home.sensor();
  const station = await home.nurse({ isDurable: true });
  const wall = await home.nurse();
  const acknowledged: number[] = [];
  const sentAt: number[] = [];
  for (let n = 0; n < ALARMS; n++) {
    const sent = sensor.alarm();
    sentAt.push(sent.atMs);
    void sensor.untilAcknowledged().then(() => acknowledged.push(performance.now() - sent.atMs));
    await delay(EVERY_MS);
  }
  await sensor.untilAcknowledged();
  await station.untilRecords(ALARMS);
  await wall.untilCount(ALARMS);
  await home.settled();
  /** From each alarm to the first time that it came. */
  const arrivals = ({ received }: typeof wall) => {
    const first = new Map<unknown, number>();
    for (const { text, atMs } of received) {
      const { n } = JSON.parse(text).data;
      if (!first.has(n)) first.set(n, atMs);
    }
    return sentAt.map((atMs, n) => (first.get(n) ?? Number.NaN) - atMs);
  };
  const times: [Times, Times, Times] = [acknowledged, arrivals(station), arrivals(wall)];
  await home.close();
  return times;
}

async function frozenStoreTimes(home: Home): Promise<Times> {
  const sensor = await home.sensor();
  const wall = await home.nurse();
  const store = await home.store();
  const times: number[] = [];
  for (let n = 0; n < FREEZES; n++) {
    store.freeze();
    const sent = sensor.alarm();
    await wall.until(sent);
    times.push(performance.now() - sent.atMs);
    store.thaw();
    await sensor.untilAcknowledged();
    await delay(APART_MS);
  }
  await wall.leave();
  return times;
}

async function killTimes(gateway: Gateway, home: Home): Promise<Times> {
  const sensor: Sensor = await home.sensor();
  const times: number[] = [];
  for (let n = 0; n < KILLS; n++) {
    await sensor.raise();
    const begunMs = performance.now();
    await gateway.kill();
    sensor.alarm();
    await gateway.start();
    await sensor.untilAcknowledged();
    times.push(performance.now() - begunMs);
  }
  return times;
}

async function silenceTimes(home: Home): Promise<Times> {
  const watcher = await home.nurse({ filters: [home.filter(undefined, 'supervision')] });
  const lastMs = new Map<string, number>();
  for (let n = 0; n < SILENT_DEVICES; n++) {
    const sensor = await home.sensor();
    const json = { supervision: { silentAfterSeconds: SILENT_AFTER_SECONDS } };
    await home.must('PATCH', `./devices/${sensor.device.id}`, { json });
    await sensor.raise();
    lastMs.set(sensor.device.id, performance.now());
    await sensor.end();
    await delay(APART_MS);
  }
  // Longer than the harness waits.
  while (watcher.records.length < SILENT_DEVICES) await delay(LOOK_EVERY_MS);
  return watcher.records.map(({ text, atMs }) => {
    const { device } = JSON.parse(text);
    return atMs - (lastMs.get(device.id) ?? Number.NaN) - SILENT_AFTER_SECONDS * 1_000;
  });
}

async function lossTimes(home: Home): Promise<Times> {
  const sensor = await home.sensor();
  const waiting = new Map<string, number>();
  for (let n = 0; n < LOST_SUBSCRIBERS; n++) {
    const station = await home.nurse({
      filters: [home.filter(sensor.device, 'alarms/#')],
      isDurable: true,
    });
    station.vanish();
    waiting.set(station.clientId, (await sensor.raise())[0]?.atMs ?? Number.NaN);
    await delay(APART_MS);
  }
  const times: number[] = [];
  while (waiting.size > 0) {
    const faults = faultsSchema.parse((await home.must('GET', '/faults')).json);
    for (const { code, subject } of faults) {
      const begunMs = waiting.get(subject?.id ?? '');
      if (code !== 'alarms-waiting' || begunMs === undefined) continue;
      waiting.delete(subject?.id ?? '');
      times.push(performance.now() - begunMs);
    }
    await delay(LOOK_EVERY_MS);
  }
  return times;
}

function row(title: string, times: Times): string[] {
  const sorted = times.toSorted((one, other) => one - other);
  const figures = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return [title, ...figures.map((ms) => (ms ?? Number.NaN).toFixed(0)), String(sorted.length)];
}
