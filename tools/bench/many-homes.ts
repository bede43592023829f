import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { OwnRedis } from '../../test/chaos/faults/own-redis.js';
import { siteOf } from './busy-home.js';
import { type RecordedHome, recordHome } from './recorded-home.js';
import { milliseconds, quantile, table } from './report.js';
import { storeProcessorMs, usedBytes } from './store-usage.js';

const KIB = 1024;
/** Homes start within this time. In it, each does everything once that it does regularly. */
const SPREAD_MS = 2_000;

/** What one store did for this many homes. */
interface Step {
  readonly homes: number;
  readonly commandsPerSecond: number;
  /** The fraction of a processor that the store took. */
  readonly storePart: number;
  readonly homeBytes: number;
  readonly answersMs: readonly number[];
  /** How late commands were sent: if the simulation cannot keep its pace, its figures mean nothing. */
  readonly lateMs: readonly number[];
  readonly refused: number;
}

/**
 * Measures how many homes one store supports.
 *
 * Hundreds of gateways need more processors than a machine has. So it records the commands of one gateway
 * and replays them for every home, each with its own keys and connections.
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
  // From here on all of them are under way, until the first ends.
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

/** Sends the store the commands that the gateway of a home would send. */
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

  /** Puts the home into the store, in the recorded home's initial state. */
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

  /** Discards the measurements. */
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
