import { setTimeout as delay } from 'node:timers/promises';
import { Gateway } from '../../test/harness/gateway.js';
import { Home } from '../../test/harness/home.js';
import type { Sensor } from '../../test/harness/sensor.js';
import { Mosquitto } from '../../test/harness/upstream.js';
import { times } from '../../test/harness/wait.js';
import { withEnds } from '../interrupt.js';
import { printTable, verdict } from './table.js';

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
const TICK_MS = 100;
const [DEVICES, ALARMS_PER_SECOND, VALUES_PER_SECOND] = [50, 30, 40];
const NOTE = 'The resident has left the bed and has not come back. '.repeat(5);
/** Until then, caches fill and code is compiled. */
const LEVEL_FROM_MINUTE = 5;
const [MAX_GROWTH_MIB_PER_MINUTE, MAX_RESIDENT_MIB] = [0.5, 200];
/** `buffers` is everything that V8 counts outside its heap. */
const COLUMNS = {
  resident: 'process_resident_memory_bytes',
  heap: 'nodejs_heap_size_used_bytes',
  buffers: 'nodejs_external_memory_bytes',
} as const;

/** Whether the memory of the gateway stays level under a long, light load, with a bridge and an absent nurse. */
export async function memory(minutes: number): Promise<boolean> {
  return withEnds(async (onEnd) => {
    const upstream = await Mosquitto.start();
    onEnd(() => upstream.remove());
    const config = { bridges: [{ name: 'nurse-call', url: upstream.url }] };
    const gateway = await Gateway.start({ kind: 'process', config });
    onEnd(() => gateway.remove());
    const home = await Home.at(gateway);
    onEnd(() => home.close());
    await home.nurse({ isDurable: true, filters: [home.filter()], isDescribed: false });
    const away = await home.nurse({ isDurable: true, filters: [home.filter()] });
    await away.leave();
    const sensors = await times(DEVICES, () => home.sensor({ isDescribed: false }));
    const over = new AbortController();
    const sending = send(sensors, over.signal);
    const samples = [await sampleOf(home)];
    for (let minute = 1; minute <= minutes; minute++) {
      await delay(MINUTE_MS);
      samples.push(await sampleOf(home));
    }
    over.abort();
    await sending;
    const head = ['minute', ...Object.keys(COLUMNS)];
    const rows = samples.map((sample, at) => [String(at), ...sample.map((mib) => mib.toFixed(1))]);
    printTable('Memory of the gateway in MiB', [head, ...rows]);
    const resident = samples.map(([mib = 0]) => mib);
    const peak = Math.max(...resident);
    const growth = slope(resident.slice(LEVEL_FROM_MINUTE));
    const grows = `from minute ${LEVEL_FROM_MINUTE} on it grows by ${growth.toFixed(2)} MiB a minute`;
    const isLevel =
      resident.length <= LEVEL_FROM_MINUTE + 1 ||
      verdict(
        `${grows}, at most ${MAX_GROWTH_MIB_PER_MINUTE}`,
        growth <= MAX_GROWTH_MIB_PER_MINUTE,
      );
    const target = `${peak.toFixed(0)} MiB at most, below ${MAX_RESIDENT_MIB}`;
    return verdict(target, peak < MAX_RESIDENT_MIB) && isLevel;
  });
}

async function send(sensors: readonly Sensor[], signal: AbortSignal): Promise<void> {
  const begunMs = performance.now();
  for (let [alarms, values] = [0, 0]; !signal.aborted; ) {
    const elapsedSeconds = (performance.now() - begunMs) / 1000;
    for (; alarms < elapsedSeconds * ALARMS_PER_SECOND; alarms++) {
      sensors[alarms % DEVICES]?.alarm({ kind: 'outOfBed', note: NOTE });
    }
    for (; values < elapsedSeconds * VALUES_PER_SECOND; values++) {
      const value = JSON.stringify({ kilograms: values % 100 });
      sensors[values % DEVICES]?.publish('weight', value, { qos: 1, retain: true });
    }
    await delay(TICK_MS);
  }
}

async function sampleOf(home: Home): Promise<number[]> {
  const { text } = await home.must('GET', '/metrics');
  return Object.values(COLUMNS).map(
    (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]) / MIB,
  );
}

/** The slope of the line of best fit, from one value to the next. */
function slope(values: readonly number[]): number {
  const meanAt = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let [covariance, variance] = [0, 0];
  for (const [at, value] of values.entries()) {
    covariance += (at - meanAt) * (value - mean);
    variance += (at - meanAt) ** 2;
  }
  return covariance / variance;
}
