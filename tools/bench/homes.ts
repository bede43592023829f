import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { OwnRedis } from '../../test/chaos/faults/own-redis.js';
import { processorMs } from '../../test/former/gateway/process-usage.js';
import { BusyHome, type HomeLoad } from './busy-home.js';
import { milliseconds, quantile, table } from './report.js';
import { storeProcessorMs, usedBytes } from './store-usage.js';

const MIB = 1024 * 1024;
const KIB = 1024;

/** What this many homes on one store cost. */
interface Cost {
  readonly homes: number;
  /** Per home, in its gateway; memory that processes share is divided among them. */
  readonly gatewayBytes: number;
  /** Per home, in the store. */
  readonly storeBytes: number;
  /** Fractions of a processor that all gateways, and the store, take. */
  readonly gatewaysPart: number;
  readonly storePart: number;
  readonly latenciesMs: readonly number[];
  readonly missing: number;
}

/** Measures the cost of homes that share one store; each has its own gateway, devices and nurse-call system. */
export async function homes(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      homes: { type: 'string', default: '1,10,25,50' },
      devices: { type: 'string', default: '40' },
      seconds: { type: 'string', default: '30' },
    },
  });
  const load: HomeLoad = { devices: Number(values.devices), seconds: Number(values.seconds) };
  const store = await OwnRedis.create();
  await store.start();
  const emptyBytes = await usedBytes(store);
  const opened: BusyHome[] = [];
  const costs: Cost[] = [];
  try {
    for (const count of values.homes.split(',').map(Number)) {
      while (opened.length < count) {
        opened.push(await BusyHome.open(store.url, opened.length, load));
      }
      costs.push(await costOf(opened, store, load, emptyBytes));
    }
  } finally {
    await Promise.all(opened.map((home) => home.close()));
    await store.remove();
  }
  show(costs, load);
}

async function costOf(
  opened: readonly BusyHome[],
  store: OwnRedis,
  load: HomeLoad,
  emptyBytes: number,
): Promise<Cost> {
  const gatewaysMs = () =>
    Promise.all(opened.map(({ processId }) => processorMs(processId))).then(sumOf);
  const before = { gateways: await gatewaysMs(), store: await storeProcessorMs(store) };
  const begunMs = performance.now();
  const reports = await Promise.all(opened.map((home) => home.run(load)));
  const elapsedMs = performance.now() - begunMs;
  const gatewayBytes = await Promise.all(
    opened.map(({ processId }) => proportionalBytes(processId)),
  );
  return {
    homes: opened.length,
    gatewayBytes: sumOf(gatewayBytes) / opened.length,
    storeBytes: ((await usedBytes(store)) - emptyBytes) / opened.length,
    gatewaysPart: ((await gatewaysMs()) - before.gateways) / elapsedMs,
    storePart: ((await storeProcessorMs(store)) - before.store) / elapsedMs,
    latenciesMs: reports.flatMap(({ latenciesMs }) => latenciesMs),
    missing: sumOf(reports.map(({ missing }) => missing)),
  };
}

function show(costs: readonly Cost[], { devices, seconds }: HomeLoad): void {
  const title =
    `Homes of ${devices} devices on one store, each with a value from every device in ten seconds ` +
    `and an alarm every two, for ${seconds} s`;
  table(title, [
    ['homes', 'gateway', 'store', 'gateways', 'store', 'alarms', 'median', 'p99', 'missing'],
    ['', 'MiB each', 'KiB each', 'processors', 'processors', '', '', '', ''],
    ...costs.map((cost) => [
      String(cost.homes),
      (cost.gatewayBytes / MIB).toFixed(1),
      (cost.storeBytes / KIB).toFixed(0),
      cost.gatewaysPart.toFixed(3),
      cost.storePart.toFixed(3),
      String(cost.latenciesMs.length),
      milliseconds(quantile(cost.latenciesMs, 0.5)),
      milliseconds(quantile(cost.latenciesMs, 0.99)),
      String(cost.missing),
    ]),
  ]);
}

/** The memory of a process, including its part of shared memory, which is mainly the program. */
async function proportionalBytes(processId: number): Promise<number> {
  const text = await readFile(`/proc/${processId}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1]) * KIB;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
