import type { LoadProcess } from '../../../../test/former/load-process.js';
import type { Report } from '../../../../test/harness/load/plan.js';
import type { Cleanups } from '../cleanups.js';
import { AEDES, AEDES_REDIS } from '../contestants/aedes.js';
import type { Broker, Contestant } from '../contestants/contestant.js';
import { GATEWAY } from '../contestants/gateway.js';
import { MOSQUITTO } from '../contestants/mosquitto.js';
import { DEVICES, openLoad, openPlan, receivedBySlowest, reportWhen } from '../loads.js';
import type { Measure, Trial } from '../measure.js';
import type { Scale } from '../scale.js';
import { count, duration } from '../show.js';

const FILL_WINDOW = 100;
const FILLED_WITHIN_MS = 60_000;
const GIVEN_UP_AFTER_MS = 45_000;
const STALLED_AFTER_MS = 10_000;
const SECOND_MS = 1000;
/** Stock Aedes with Redis sends them one by one, each after an fsynced write: more would take minutes. */
const MAX_FOR_REDIS = 10_000;

/** The name of the case with this many alarms. */
export function caseOf(backlog: number): string {
  return `${count(backlog)} waiting`;
}

/** Measures from CONNECT to the last alarm. */
export const DRAIN: Measure = {
  name: 'drain',
  title: 'A backlog drained to one durable subscriber',
  maxRounds: 2,
  metrics: [
    { key: 'perSecond', title: 'alarms/s', better: 'more', show: count },
    { key: 'durationMs', title: 'takes', better: 'less', show: duration },
  ],
  trials: (scale) =>
    scale.backlogs.flatMap((backlog) =>
      contestants(backlog, scale).map((contestant) => trial(contestant, backlog)),
    ),
};

function contestants(backlog: number, { isQuick }: Scale): readonly Contestant[] {
  if (isQuick) return [GATEWAY];
  const inMemory = [GATEWAY, AEDES, MOSQUITTO];
  return backlog > MAX_FOR_REDIS ? inMemory : [...inMemory, AEDES_REDIS];
}

function trial(contestant: Contestant, backlog: number): Trial {
  return {
    contestant: contestant.name,
    run: async (cleanups) => {
      const broker = await contestant.start(DEVICES, cleanups);
      const absent = await openReader(broker, cleanups, broker.falls.filter);
      await absent.end();
      await fill(broker, backlog, cleanups);
      const reader = await openReader(broker, cleanups);
      const report = await drained(reader, backlog);
      const received = receivedBySlowest(report);
      const durationMs = report.readers[0]?.newestAfterMs ?? Number.NaN;
      const values = { perSecond: received / (durationMs / SECOND_MS), durationMs };
      const missing = backlog - received;
      const notes = missing > 0 ? [`given up: ${count(missing)} had not come`] : [];
      return [{ case: caseOf(backlog), values, notes }];
    },
  };
}

/** @param filter omitted if the session has its subscription already */
function openReader(broker: Broker, cleanups: Cleanups, filter = ''): Promise<LoadProcess> {
  const nothing = { kind: 'falls', qos: 1, firstNumber: 0 } as const;
  const readers = [{ ...broker.subscriber('reader-0'), isClean: false }];
  return openPlan({ ...nothing, port: broker.port, filter, devices: [], readers }, cleanups);
}

async function fill(broker: Broker, backlog: number, cleanups: Cleanups): Promise<void> {
  const load = await openLoad(
    broker,
    { kind: 'falls', qos: 1, isClean: true, readers: 0 },
    cleanups,
  );
  const maxEach = backlog / DEVICES;
  await load.offer({ window: FILL_WINDOW, maxEach, durationMs: FILLED_WITHIN_MS });
  const { acknowledged } = await reportWhen(
    load,
    ({ unacknowledged }) => unacknowledged === 0,
    FILLED_WITHIN_MS,
  );
  if (acknowledged < backlog) throw new Error(`only ${count(acknowledged)} were taken`);
  await load.end();
}

/** The report once everything has arrived, or nothing more arrives. */
async function drained(reader: LoadProcess, backlog: number): Promise<Report> {
  let received = 0;
  let newestMs = performance.now();
  const isOver = (report: Report) => {
    if (receivedBySlowest(report) > received) newestMs = performance.now();
    received = receivedBySlowest(report);
    return received >= backlog || performance.now() - newestMs > STALLED_AFTER_MS;
  };
  return reportWhen(reader, isOver, GIVEN_UP_AFTER_MS);
}
