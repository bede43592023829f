import { setTimeout as delay } from 'node:timers/promises';
import { Home } from '../../test/harness/home.js';
import type { Plan, Report } from '../../test/harness/load/plan.js';
import { LoadProcess } from '../../test/harness/load/process.js';
import { residentBytes } from '../../test/harness/program.js';
import { times } from '../../test/harness/wait.js';
import { withEnds } from '../interrupt.js';
import { startGateway } from './contestants.js';
import {
  DEVICES,
  isLevel,
  type Part,
  planOf,
  receivedBySlowest,
  reportWhen,
  withLoad,
} from './measure.js';
import { printTable, verdict } from './table.js';

const MIB = 1024 * 1024;
const SATURATION_WINDOW = 10;
/** Fewer than there are packet identifiers: with this window only the socket slows a device. */
const UNLIMITED_WINDOW = 60_000;
const TIMES_OFFERED = 3;
const PROBES = { perSecond: 100, window: UNLIMITED_WINDOW } as const;
const FIRST_PROBE_NUMBER = 90;
const LEVEL_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 50;
const [MIN_RATIO, MAX_PROBE_P99_MS, MAX_RESIDENT_MIB] = [0.8, 250, 512];

const CASES = [
  { name: 'alarms, 1 durable', options: { readers: 1 } },
  { name: 'alarms, 5 durable', options: { readers: 5 } },
  { name: 'values at QoS 1, 1 durable', options: { kind: 'telemetry' } },
] as const;

/** Offers three times what can be forwarded, while two devices of another home send 100 alarms a second. */
export const overload: Part = async ({ seconds }) => {
  const rows: string[][] = [];
  let isMet = true;
  for (const { name, options } of CASES) {
    const found = await measure(options, seconds * 1_000);
    const ratio = found.offeredPerSecond / found.saturationPerSecond;
    rows.push([
      name,
      `${Math.round(found.saturationPerSecond)} /s`,
      `${Math.round(found.offeredPerSecond)} /s`,
      ratio.toFixed(2),
      `${found.quietP99Ms.toFixed(1)} ms`,
      `${found.probeP99Ms.toFixed(1)} ms`,
      `${Math.round(found.residentMib)} MiB`,
      `${found.lost}`,
    ]);
    isMet =
      verdict(
        `${name}: ${ratio.toFixed(2)} of its rate at saturation, at least ${MIN_RATIO}`,
        ratio >= MIN_RATIO,
      ) &&
      verdict(
        `the other home's p99 below ${MAX_PROBE_P99_MS} ms`,
        found.probeP99Ms < MAX_PROBE_P99_MS,
      ) &&
      verdict(`below ${MAX_RESIDENT_MIB} MiB`, found.residentMib < MAX_RESIDENT_MIB) &&
      verdict('no alarm lost, no connection closed', found.lost === 0 && found.closed === 0) &&
      isMet;
  }
  const head = ['', 'saturated', 'overloaded', 'ratio', 'p99 quiet', 'p99', 'memory', 'lost'];
  printTable(`${TIMES_OFFERED} times the load, from ${DEVICES} devices`, [head, ...rows]);
  return isMet;
};

async function measure(options: Parameters<typeof planOf>[1], durationMs: number) {
  return withEnds(async (onEnd) => {
    const broker = await startGateway(DEVICES);
    onEnd(() => broker.remove());
    const probe = await LoadProcess.open(await probePlan(await Home.at(broker.gateway)));
    onEnd(() => probe.kill());
    return await withLoad(planOf(broker, options), async (load) => {
      const quiet = await probe.offer({ ...PROBES, durationMs: durationMs / 4 });
      const begun = await load.offer({
        window: SATURATION_WINDOW,
        underWayTo: 'readers',
        durationMs: durationMs / 4,
      });
      const saturated = await load.offer({
        window: SATURATION_WINDOW,
        underWayTo: 'readers',
        durationMs,
      });
      const saturationPerSecond = ratePerSecond(begun, saturated, durationMs);
      await reportWhen(load, isLevel, LEVEL_WITHIN_MS);
      const before = await load.report();
      const perSecond = TIMES_OFFERED * saturationPerSecond;
      const [during, probed] = await Promise.all([
        load.offer({ perSecond, window: UNLIMITED_WINDOW, durationMs }),
        probe.offer({ ...PROBES, durationMs }),
      ]);
      // Otherwise the load would end only once the kernel has sent everything offered.
      await load.powerOff();
      const [reader] = (await reportWhen(probe, isLevel, LEVEL_WITHIN_MS)).readers;
      const lost = options?.kind === 'telemetry' ? 0 : await lostOf(load);
      return {
        saturationPerSecond,
        offeredPerSecond: ratePerSecond(before, during, durationMs),
        quietP99Ms: quiet.readers[0]?.latencyMs.p99 ?? Number.NaN,
        probeP99Ms: reader?.latencyMs.p99 ?? Number.NaN,
        residentMib: (await residentBytes(broker.gateway.processId, 'VmHWM')) / MIB,
        closed: during.closedDevices + probed.closedDevices,
        lost: lost + probed.sent - (reader?.received ?? 0),
      };
    });
  });
}

/** Acknowledged alarms that have not come once nothing more comes. */
async function lostOf(load: LoadProcess): Promise<number> {
  const report = await reportWhen(load, isLevel, LEVEL_WITHIN_MS);
  await delay(LOOK_EVERY_MS);
  return Math.max(0, report.acknowledged - receivedBySlowest(report));
}

function ratePerSecond(before: Report, after: Report, durationMs: number): number {
  return ((receivedBySlowest(after) - receivedBySlowest(before)) * 1_000) / durationMs;
}

async function probePlan(home: Home): Promise<Plan> {
  const devices = await times(2, () => home.device());
  const { id, token } = home.viewer;
  return {
    port: home.gateway.mqttPort,
    kind: 'alarms',
    qos: 1,
    firstNumber: FIRST_PROBE_NUMBER,
    filter: home.filter(undefined, 'alarms/#'),
    devices: devices.map((one) => ({ clientId: one.id, username: one.id, password: one.secret })),
    readers: [{ clientId: 'probe', username: id, password: token, isClean: true }],
  };
}
