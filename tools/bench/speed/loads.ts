import { setTimeout as delay } from 'node:timers/promises';
import { LoadProcess } from '../../../test/former/load-process.js';
import type { Plan, Report } from '../../../test/harness/load/plan.js';
import type { Cleanups } from './cleanups.js';
import type { Broker } from './contestants/contestant.js';

export const DEVICES = 50;
/** How many publishes of one device are under way at a time. */
export const WINDOW = 10;
const FIRST_NUMBER = 10;
const LOOK_EVERY_MS = 20;

export interface LoadOptions {
  readonly kind: 'falls' | 'telemetry';
  readonly qos: 0 | 1;
  readonly isClean: boolean;
  readonly readers: number;
}

/**
 * Opens the load: all devices of the broker, and its subscribers, in one process.
 *
 * Devices and subscribers share a process because of two cores: a broker and one generator have a core
 * each, and a second generator would take time from the broker. With subscribers in their own process, this
 * gateway and Aedes forwarded the same, Mosquitto a third less.
 */
export function openLoad(
  broker: Broker,
  options: LoadOptions,
  cleanups: Cleanups,
): Promise<LoadProcess> {
  const { kind, qos, isClean, readers } = options;
  const { publish: topic, filter } = broker[kind];
  return openPlan(
    {
      port: broker.port,
      kind,
      qos,
      topic,
      filter,
      firstNumber: FIRST_NUMBER,
      devices: [...broker.devices],
      readers: Array.from({ length: readers }, (_, index) => ({
        ...broker.subscriber(`reader-${index}`),
        isClean,
      })),
    },
    cleanups,
  );
}

export async function openPlan(plan: Plan, cleanups: Cleanups): Promise<LoadProcess> {
  const load = await LoadProcess.open(plan);
  cleanups.onEnd(() => load.kill());
  return load;
}

/** Polls until a report is right or the time is over; returns the newest. */
export async function reportWhen(
  load: LoadProcess,
  isRight: (report: Report) => boolean,
  withinMs: number,
): Promise<Report> {
  const begunMs = performance.now();
  for (;;) {
    const report = await load.report();
    if (isRight(report) || performance.now() - begunMs > withinMs) return report;
    await delay(LOOK_EVERY_MS);
  }
}

/** Whether every subscriber has the newest publish of every device. */
export function isLevel(report: Report): boolean {
  return report.readers.every((reader) => reader.isLevel);
}

/** How many publishes the slowest subscriber has received. */
export function receivedBySlowest(report: Report): number {
  return Math.min(...report.readers.map(({ received }) => received));
}
