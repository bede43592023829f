/** The clock that ages are counted by, across jumps and restarts of the machine. */
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { newId } from '../../src/domain/ids.js';
import { SteadyClock } from '../../src/site/clock/steady-clock.js';
import { Health } from '../../src/site/health/health.js';
import { keysOf } from '../../src/store/keys.js';
import { ClockStoreRedis } from '../../src/store/site/kept.js';
import { Store } from '../../src/store/store.js';
import { faultTexts } from '../harness/described/fault-texts.js';
import { expect, test } from '../harness/index.js';

const START_MS = Date.UTC(2026, 10, 21);
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A machine with a store, on which tests start, stop and kill the gateway. */
class Machine {
  readonly redis: Redis;
  readonly keys = keysOf(newId());
  readonly lines: string[] = [];
  readonly #log = pino({ level: 'info' }, { write: (line: string) => this.lines.push(line) });
  nowMs = START_MS;
  elapsedMs = 7_000;

  constructor({ socketPath }: { readonly socketPath: string }) {
    this.redis = new Redis({ path: socketPath });
    onTestFinished(() => this.redis.disconnect());
  }

  async boot(wallMs = this.nowMs): Promise<Run> {
    this.nowMs = wallMs;
    const health = new Health();
    health.started();
    const clock = new SteadyClock({
      now: () => this.nowMs,
      elapsed: () => this.elapsedMs,
      health,
      log: this.#log,
    });
    await clock.resume(
      new ClockStoreRedis(
        new Store(this.redis, this.keys.sitePrefix),
        new Store(this.redis, this.keys.sitePrefix),
        this.keys,
        this.#log,
      ),
    );
    clock.startSaving();
    onTestFinished(() => clock.suspend());
    return new Run(this, clock, health);
  }
}

/** One run of the gateway. */
class Run {
  readonly clock: SteadyClock;
  readonly health: Health;
  readonly #machine: Machine;

  constructor(machine: Machine, clock: SteadyClock, health: Health) {
    this.#machine = machine;
    this.clock = clock;
    this.health = health;
  }

  pass(milliseconds: number): void {
    this.#machine.nowMs += milliseconds;
    this.#machine.elapsedMs += milliseconds;
    this.clock.check();
  }

  jump(milliseconds: number): void {
    this.#machine.nowMs += milliseconds;
    this.pass(SECOND_MS);
  }

  get faults(): readonly string[] {
    return faultTexts(this.health.shown());
  }
}

/** The most that a downtime may count for. */
const SAVE_INTERVAL_MS = 30_000;

test('guarantee 7: reports a clock that jumps, and changes no age', async ({ redis: place }) => {
  for (const jumpMs of [DAY_MS, 400 * DAY_MS, -HOUR_MS]) {
    const machine = new Machine(place);
    const run = await machine.boot();
    run.pass(SECOND_MS);
    run.jump(jumpMs);
    expect(run.clock.now()).toBe(START_MS + 2 * SECOND_MS);
    expect(run.faults).toEqual([`The clock of this machine has jumped by ${jumpMs / 1000} s.`]);
    expect(machine.lines.join('')).toContain(`"jumpMs":${jumpMs}`);
    run.pass(30 * SECOND_MS);
    expect(run.health.ready()).toBe(false);
    run.pass(40 * SECOND_MS);
    expect(run.health.ready()).toBe(true);
    expect(machine.lines).toHaveLength(1);
  }
});

test('reports no doubt about a clock that was corrected within a minute', async ({
  redis: place,
}) => {
  for (const jumpMs of [HOUR_MS, 400 * DAY_MS, -400 * DAY_MS]) {
    const run = await new Machine(place).boot();
    run.pass(SECOND_MS);
    run.jump(jumpMs);
    run.pass(30 * SECOND_MS);
    run.jump(-jumpMs);
    run.pass(70 * SECOND_MS);
    expect(run.faults).toEqual([]);
  }
});

test('reports no jump of a clock that is adjusted gradually', async ({ redis: place }) => {
  const machine = new Machine(place);
  const run = await machine.boot();
  for (let second = 0; second < 60; second++) {
    machine.nowMs += 500;
    run.pass(SECOND_MS);
  }
  expect([run.faults, machine.lines]).toEqual([[], []]);
});

test.for([
  { wrong: '400 days ahead', offMs: 400 * DAY_MS },
  { wrong: '8 days behind', offMs: -8 * DAY_MS },
  { wrong: 'in 1970', offMs: MINUTE_MS - START_MS },
])(
  'continues from its end when the clock of the next start is $wrong',
  async ({ offMs }, { redis: place }) => {
    const machine = new Machine(place);
    const first = await machine.boot();
    first.pass(HOUR_MS);
    const endMs = first.clock.now();
    await first.clock.suspend();
    const second = await machine.boot(machine.nowMs + offMs);
    expect(second.clock.now() - endMs).toBeGreaterThanOrEqual(0);
    expect(second.clock.now() - endMs).toBeLessThanOrEqual(SAVE_INTERVAL_MS);
    second.jump(-offMs);
    const laterMs = second.clock.now();
    expect(laterMs - endMs).toBeLessThanOrEqual(SAVE_INTERVAL_MS + SECOND_MS);
    await second.clock.suspend();
    const third = await machine.boot();
    expect(third.clock.now()).toBe(laterMs);
  },
);

test('continues no earlier than the kill of the first run when the clock is right', async ({
  redis: place,
}) => {
  const machine = new Machine(place);
  const first = await machine.boot();
  first.pass(20 * SECOND_MS);
  const stampMs = first.clock.now();
  const second = await machine.boot(machine.nowMs + SECOND_MS);
  expect(second.clock.now()).toBe(stampMs + SECOND_MS);
});

test('starts over, and logs it, when its stored record is unreadable', async ({ redis: place }) => {
  const machine = new Machine(place);
  await machine.redis.hset(machine.keys.clock, { steadyMs: 'soon', starts: '{' });
  expect((await machine.boot()).clock.now()).toBe(START_MS);
  expect(machine.lines.join('')).toContain('failed to read the stored clock');
});

test('never starts in 1970, when nothing would ever be too old', async ({ redis: place }) => {
  const machine = new Machine(place);
  expect((await machine.boot(MINUTE_MS)).clock.now()).toBe(Date.UTC(2020, 0, 1));
});

test('estimates the real age of a stamp across several starts', async ({ redis: place }) => {
  const machine = new Machine(place);
  const first = await machine.boot();
  const stampMs = first.clock.now();
  first.pass(HOUR_MS);
  expect(first.clock.elapsedSinceMs(stampMs)).toBe(HOUR_MS);
  await first.clock.suspend();
  const second = await machine.boot(machine.nowMs + 2 * HOUR_MS);
  expect(second.clock.elapsedSinceMs(stampMs)).toBe(3 * HOUR_MS);
  expect(second.clock.wallTimeOf(stampMs)).toBe(START_MS);
  const secondStampMs = second.clock.now();
  second.pass(MINUTE_MS);
  expect(second.clock.elapsedSinceMs(secondStampMs)).toBe(MINUTE_MS);
  await second.clock.suspend();
  // The clock of a box without a battery is set right a moment later.
  const third = await machine.boot(machine.nowMs - 5 * DAY_MS);
  expect(third.clock.elapsedSinceMs(secondStampMs)).toBe(MINUTE_MS);
  third.jump(5 * DAY_MS + HOUR_MS);
  expect(third.clock.elapsedSinceMs(secondStampMs)).toBe(HOUR_MS + MINUTE_MS + SECOND_MS);
  // Only the last downtime is known; of an earlier one, what the steady clock has counted.
  const ranMs = HOUR_MS + MINUTE_MS + SECOND_MS;
  expect(third.clock.elapsedSinceMs(stampMs)).toBe(ranMs + SAVE_INTERVAL_MS + HOUR_MS);
  expect(third.clock.elapsedSinceMs(third.clock.now() + DAY_MS)).toBe(0);
});

const NOT_SET = 'The clock of this machine is not set: it shows a time before 2020.';

test('reports a clock that is not set, until it is', async ({ redis: place }) => {
  const machine = new Machine(place);
  const run = await machine.boot(MINUTE_MS);
  run.pass(SECOND_MS);
  expect(run.faults).toEqual([NOT_SET]);
  run.pass(2 * DAY_MS);
  expect(run.faults).toEqual([NOT_SET]);
  expect(run.health.ready()).toBe(true);
  run.jump(START_MS - MINUTE_MS);
  expect(run.faults).toEqual([expect.stringContaining('has jumped')]);
  run.pass(70 * SECOND_MS);
  expect(run.faults).toEqual([]);
});

test('reports a clock that is behind until it is corrected, and for a minute more', async ({
  redis: place,
}) => {
  const machine = new Machine(place);
  const first = await machine.boot();
  first.pass(HOUR_MS);
  await first.clock.suspend();
  const run = await machine.boot(machine.nowMs - 5 * DAY_MS);
  const behind = [
    'The clock of this machine is behind: it has shown 2026-11-21T01:00:00.000Z before.',
  ];
  expect(run.faults).toEqual(behind);
  expect(run.health.ready()).toBe(true);
  expect(machine.lines.join('')).toContain('is behind');
  run.pass(23 * HOUR_MS);
  expect(run.faults).toEqual(behind);
  run.jump(5 * DAY_MS);
  run.pass(50 * SECOND_MS);
  expect(run.faults).toEqual([expect.stringContaining('has jumped')]);
  run.pass(10 * SECOND_MS);
  expect(run.faults).toEqual([]);
});

test('trusts, after a day, a clock that is behind a run whose clock was ahead', async ({
  redis: place,
}) => {
  const machine = new Machine(place);
  const first = await machine.boot(START_MS + 400 * DAY_MS);
  await first.clock.suspend();
  const run = await machine.boot(START_MS);
  run.pass(23 * HOUR_MS);
  expect(run.faults).toEqual([expect.stringContaining('is behind')]);
  run.pass(2 * HOUR_MS);
  expect(run.faults).toEqual([]);
});

test('accuses no clock of a box that was off for a week', async ({ redis: place }) => {
  const machine = new Machine(place);
  await (await machine.boot()).clock.suspend();
  const run = await machine.boot(machine.nowMs + 7 * DAY_MS);
  run.pass(MINUTE_MS);
  expect([run.faults, machine.lines]).toEqual([[], []]);
});

test('counts the time that the gateway certainly ran without any downtime, over several starts', async ({
  redis: place,
}) => {
  const machine = new Machine(place);
  const first = await machine.boot();
  const beganMs = first.clock.runningNow();
  first.pass(10 * SECOND_MS);
  await first.clock.suspend();
  for (const downtimeMs of [20 * SECOND_MS, HOUR_MS]) {
    const next = await machine.boot(machine.nowMs + downtimeMs);
    next.pass(5 * SECOND_MS);
    await next.clock.suspend();
  }
  const last = await machine.boot();
  expect(last.clock.runningNow() - beganMs).toBe(20 * SECOND_MS);
});
