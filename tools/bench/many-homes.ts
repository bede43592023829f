import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { OwnRedis } from '../../test/chaos/faults/faults.js';
import { siteOf } from './busy-home.js';
import { type RecordedHome, recordHome } from './recorded-home.js';
import { milliseconds, quantile, table } from './report.js';
import { storeProcessorMs, usedBytes } from './store-usage.js';

const KIB = 1024;
/** Homes begin within this time, in which each of them has done everything once that it does often. */
const SPREAD_MS = 2_000;

/** What one store did for so many homes. */
interface Step {
  readonly homes: number;
  readonly commandsPerSecond: number;
  /** The part of a processor that the store took. */
  readonly storePart: number;
  readonly homeBytes: number;
  readonly answersMs: readonly number[];
  /** How late commands were sent: above the pace of the simulation itself, its figures mean nothing. */
  readonly lateMs: readonly number[];
  readonly refused: number;
}

/**
 * Finds out how many homes one store carries.
 *
 * Hundreds of gateways need more processors than a machine has. So the commands of one gateway are recorded,
 * and said to the store for every home, each with its own keys and connections.
 */
export async function manyHomes(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      homes: { type: 'string', default: '1,50,100,200,400' },
      devices: { type: 'string', default: '40' },
      seconds: { type: 'string', default: '20' },
    },
  });
  const load = { devices: Number(values.devices), seconds: Number(values.seconds) };
  const store = await OwnRedis.create();
  await store.start();
  const steps: Step[] = [];
  try {
    const recorded = await recordHome(store, load);
    console.log(`  a gateway has ${recorded.connections} connections to its store`);
    for (const homes of values.homes.split(',').map(Number)) {
      steps.push(await simulate(store, recorded, homes, load.seconds * 1_000));
    }
  } finally {
    await store.remove();
  }
  show(steps, load.devices);
}

async function simulate(
  store: OwnRedis,
  recorded: RecordedHome,
  count: number,
  durationMs: number,
): Promise<Step> {
  const before = await usedBytes(store);
  const homes: SimulatedHome[] = [];
  for (let number = 1; number <= count; number++) {
    homes.push(await SimulatedHome.open(store, recorded, siteOf(number)));
  }
  const homeBytes = ((await usedBytes(store)) - before) / count;
  const ends = homes.map((home, index) => home.run((index / count) * SPREAD_MS));
  // All of them are under way from here on, until the first has ended.
  await delay(SPREAD_MS);
  const from = { atMs: performance.now(), usedMs: await storeProcessorMs(store) };
  for (const home of homes) home.reset();
  await delay(durationMs - SPREAD_MS);
  const elapsedMs = performance.now() - from.atMs;
  const storePart = ((await storeProcessorMs(store)) - from.usedMs) / elapsedMs;
  const answersMs = homes.flatMap((home) => home.answersMs);
  const lateMs = homes.flatMap((home) => home.lateMs);
  await Promise.all(ends);
  const refused = homes.reduce((sum, home) => sum + home.refused, 0);
  for (const home of homes) home.close();
  await store.redis.flushall();
  const commandsPerSecond = (answersMs.length * 1_000) / elapsedMs;
  return { homes: count, commandsPerSecond, storePart, homeBytes, answersMs, lateMs, refused };
}

/** Says to the store what the gateway of a home would say. */
class SimulatedHome {
  answersMs: number[] = [];
  lateMs: number[] = [];
  refused = 0;
  readonly #recorded: RecordedHome;
  readonly #site: string;
  readonly #connections: readonly Redis[];

  private constructor(recorded: RecordedHome, site: string, connections: readonly Redis[]) {
    this.#recorded = recorded;
    this.#site = site;
    this.#connections = connections;
  }

  /** Brings the home into the store as the recorded one was at the beginning. */
  static async open(store: OwnRedis, recorded: RecordedHome, site: string): Promise<SimulatedHome> {
    const restoring = store.redis.pipeline();
    for (const { key, dump } of recorded.keys) restoring.restore(key.of(site), 0, dump.of(site));
    for (const [error] of (await restoring.exec()) ?? []) if (error !== null) throw error;
    const connections = Array.from(
      { length: recorded.connections },
      () => new Redis(store.port, { lazyConnect: true, enableReadyCheck: false }),
    );
    await Promise.all(connections.map((connection) => connection.connect()));
    return new SimulatedHome(recorded, site, connections);
  }

  /** Forgets what was measured. */
  reset(): void {
    this.answersMs = [];
    this.lateMs = [];
  }

  async run(afterMs: number): Promise<void> {
    const begunMs = performance.now() + afterMs;
    const underWay: Promise<void>[] = [];
    for (const { atMs, connection, name, args } of this.#recorded.commands) {
      const waitMs = begunMs + atMs - performance.now();
      if (waitMs >= 1) await delay(waitMs);
      const sentMs = performance.now();
      this.lateMs.push(sentMs - begunMs - atMs);
      const own = args.map((arg) => arg.of(this.#site));
      const answer = this.#connections[connection]?.call(name, ...own);
      underWay.push(this.#answered(answer, sentMs));
    }
    await Promise.all(underWay);
  }

  async #answered(answer: Promise<unknown> | undefined, sentMs: number): Promise<void> {
    try {
      await answer;
    } catch {
      this.refused++;
    }
    this.answersMs.push(performance.now() - sentMs);
  }

  close(): void {
    for (const connection of this.#connections) connection.disconnect();
  }
}

function show(steps: readonly Step[], devices: number): void {
  table(`Homes of ${devices} devices on one store, with the commands of a recorded gateway`, [
    ['homes', 'commands/s', 'store', 'a home', 'answer', 'p99', 'refused', 'late, p99'],
    ['', '', 'processors', 'KiB', '', '', '', ''],
    ...steps.map((step) => [
      String(step.homes),
      step.commandsPerSecond.toFixed(0),
      step.storePart.toFixed(3),
      (step.homeBytes / KIB).toFixed(0),
      milliseconds(quantile(step.answersMs, 0.5)),
      milliseconds(quantile(step.answersMs, 0.99)),
      String(step.refused),
      milliseconds(quantile(step.lateMs, 0.99)),
    ]),
  ]);
}
