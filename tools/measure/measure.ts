import { setTimeout as delay } from 'node:timers/promises';
import type { Plan, Report } from '../../test/harness/load/plan.js';
import { LoadProcess } from '../../test/harness/load/process.js';
import type { Broker, Contestant } from './contestants.js';

export const DEVICES = 50;
const FIRST_NUMBER = 10;
const LOOK_EVERY_MS = 20;

export interface Scale {
  /** How long each load lasts. */
  readonly seconds: number;
  readonly rounds: number;
}

/** A figure of one contestant in one round. */
export interface Figure {
  readonly title: string;
  readonly value: number;
  readonly unit: string;
  readonly better: 'more' | 'less';
}

/** Something to measure for contestants in turn. */
export interface Measure {
  readonly name: string;
  readonly title: string;
  readonly contestants: readonly Contestant[];
  /** How many devices the home has. */
  readonly devices?: number;
  /** Each has a new broker: none finds the sessions of another. */
  readonly runs: readonly Run[];
}

type Run = (broker: Broker, scale: Scale) => Promise<readonly Figure[]>;

/** Something that only the gateway is measured for. Resolves to whether it met its targets. */
export type Part = (scale: Scale) => Promise<boolean>;

/** What is opened ends with the work. */
export async function withLoad<T>(plan: Plan, work: (load: LoadProcess) => Promise<T>): Promise<T> {
  const load = await LoadProcess.open(plan);
  try {
    return await work(load);
  } finally {
    await load.kill();
  }
}

/**
 * The load: all devices of the broker, and its subscribers, in one process.
 *
 * Devices and subscribers share a process because of two cores: a broker and one generator have a core each, and a
 * second generator would take time from the broker.
 */
export function planOf(
  broker: Broker,
  { kind = 'falls', qos = 1, isClean = false, readers = 1 }: PlanOptions = {},
): Plan {
  const names = Array.from({ length: readers }, (_, index) => `reader-${index}`);
  return {
    port: broker.port,
    kind,
    qos,
    ...broker[kind],
    firstNumber: FIRST_NUMBER,
    devices: broker.devices.slice(0, DEVICES),
    readers: names.map((name) => ({ ...broker.subscriber(name), isClean })),
  };
}

interface PlanOptions {
  readonly kind?: 'falls' | 'telemetry';
  readonly qos?: 0 | 1;
  readonly isClean?: boolean;
  readonly readers?: number;
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
export function isLevel({ readers, unacknowledged }: Report): boolean {
  return unacknowledged === 0 && readers.every((reader) => reader.isLevel);
}

/** How many publishes the slowest subscriber has received. */
export function receivedBySlowest({ readers }: Report): number {
  return Math.min(...readers.map(({ received }) => received));
}
