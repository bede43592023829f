/**
 * What a gateway takes of a small box: memory, what it writes to the disk or SD card, and how often it wakes the
 * processor; at rest, and with sensors. All gateways run at the same time, as each has little to do.
 */
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Gateway, storeProcessId } from '../../test/harness/gateway.js';
import { Home } from '../../test/harness/home.js';
import { processorMs, residentBytes } from '../../test/harness/program.js';
import type { Sensor } from '../../test/harness/sensor.js';
import { times } from '../../test/harness/wait.js';
import { withEnds } from '../interrupt.js';
import { printTable } from './table.js';

const [KIB, MIB] = [1024, 1024 * 1024];
const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];
const SENSORS = 200;
/** Before the measure, the start and the creation of the sensors settle. */
const SETTLE_MS = MINUTE_MS;
const PROCESSES = ['gateway', 'store'] as const;

/** What runs beside a gateway: nothing, or sensors that each publish a value a minute at QoS 1. */
interface Setting {
  readonly name: string;
  readonly sensors: number;
  /** Whether values are retained, and so stored. */
  readonly isRetained: boolean;
}

const SETTINGS: readonly Setting[] = [
  { name: 'at rest', sensors: 0, isRetained: false },
  { name: `${SENSORS} sensors`, sensors: SENSORS, isRetained: false },
  { name: `${SENSORS} sensors, retained values`, sensors: SENSORS, isRetained: true },
];

/** Measures all settings for some minutes, and prints a column for each. It has no targets: it resolves to true. */
export function box(minutes: number): Promise<boolean> {
  return withEnds(async (onEnd) => {
    const runs: Run[] = [];
    // One after the other: a start has the machine for itself.
    for (const setting of SETTINGS) runs.push(await begin(setting, onEnd));
    await delay(SETTLE_MS);
    const columns = await Promise.all(runs.map((run) => measured(run, minutes * MINUTE_MS)));
    const titles = columns[0]?.map(([title]) => title) ?? [];
    const rows = titles.map((title, at) => [
      title,
      ...columns.map((column) => column[at]?.[1] ?? ''),
    ]);
    const head = ['', ...SETTINGS.map(({ name }) => name)];
    printTable(`A gateway and its store on a small box, in ${minutes} minutes`, [head, ...rows]);
    return true;
  });
}

interface Run {
  readonly readyMs: number;
  readonly processIds: readonly number[];
}

async function begin(setting: Setting, onEnd: (end: () => unknown) => void): Promise<Run> {
  const gateway = await Gateway.create({ kind: 'process' });
  onEnd(() => gateway.remove());
  const begunMs = performance.now();
  await gateway.start();
  const readyMs = performance.now() - begunMs;
  if (setting.sensors > 0) {
    const home = await Home.at(gateway);
    onEnd(() => home.close());
    await home.nurse({ isDurable: true, filters: [home.filter()], isDescribed: false });
    const sensors = await times(setting.sensors, () => home.sensor({ isDescribed: false }));
    const over = new AbortController();
    const sent = send(sensors, setting.isRetained, over.signal);
    onEnd(() => {
      over.abort();
      return sent;
    });
  }
  return { readyMs, processIds: [gateway.processId, storeProcessId(gateway.dataDir) ?? 0] };
}

/** Each sensor publishes once a minute, one after the other. */
async function send(
  sensors: readonly Sensor[],
  retain: boolean,
  signal: AbortSignal,
): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const value = JSON.stringify({ celsius: 20 + (count % 100) / 10, battery: 81 });
    await sensors[count % sensors.length]?.publish('climate', value, { qos: 1, retain });
    await delay(MINUTE_MS / sensors.length);
  }
}

/** A title and its value for each figure of a run. */
async function measured(
  { readyMs, processIds }: Run,
  forMs: number,
): Promise<(readonly [title: string, value: string])[]> {
  const begunMs = performance.now();
  const before = await Promise.all(processIds.map(figuresOf));
  await delay(forMs);
  const elapsedMs = performance.now() - begunMs;
  const after = await Promise.all(processIds.map(figuresOf));
  const figures = PROCESSES.map((name, at) => {
    const [from, to] = [before[at], after[at]];
    if (from === undefined || to === undefined) throw new Error(`the ${name} has ended`);
    const per = (unitMs: number, figure: (of: Figures) => number) =>
      ((figure(to) - figure(from)) / elapsedMs) * unitMs;
    return [
      [`memory, ${name}`, `${(to.residentBytes / MIB).toFixed(0)} MiB`],
      [`written an hour, ${name}`, shownBytes(per(HOUR_MS, (of) => of.writtenBytes))],
      [`wake-ups a second, ${name}`, per(SECOND_MS, (of) => of.wakeUps).toFixed(1)],
      [`processor, ${name}`, `${(per(1, (of) => of.processorMs) * 100).toFixed(2)} %`],
    ] as const;
  });
  const [ofGateway = [], ofStore = []] = figures;
  const pairs = ofGateway.flatMap((figure, at) => [figure, ofStore[at] ?? figure]);
  return [['ready after', `${(readyMs / SECOND_MS).toFixed(2)} s`], ...pairs];
}

interface Figures {
  readonly residentBytes: number;
  /** What was given to the disk: at least a page for each `fsync`. */
  readonly writtenBytes: number;
  /** How often a thread went to sleep, and so will wake. */
  readonly wakeUps: number;
  readonly processorMs: number;
}

async function figuresOf(processId: number): Promise<Figures> {
  const io = await readFile(`/proc/${processId}/io`, 'utf8');
  const threads = await readdir(`/proc/${processId}/task`);
  const switches = await Promise.all(
    threads.map(async (thread) => {
      const status = await readFile(`/proc/${processId}/task/${thread}/status`, 'utf8');
      return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1]);
    }),
  );
  return {
    residentBytes: await residentBytes(processId),
    writtenBytes: Number(/^write_bytes: (\d+)$/m.exec(io)?.[1]),
    wakeUps: switches.reduce((sum, count) => sum + count, 0),
    processorMs: await processorMs(processId),
  };
}

function shownBytes(bytes: number): string {
  return bytes < MIB ? `${(bytes / KIB).toFixed(0)} KiB` : `${(bytes / MIB).toFixed(1)} MiB`;
}
