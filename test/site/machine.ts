import { Redis } from 'ioredis';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { newId } from '../../src/domain/notation.js';
import { SteadyClock } from '../../src/site/clock/steady-clock.js';
import { Health } from '../../src/site/health/health.js';
import { ClockStoreRedis } from '../../src/store/clock-store-redis.js';
import { keysOf } from '../../src/store/keys.js';
import { Store } from '../../src/store/store.js';
import { faultTexts } from '../harness/described/fault-texts.js';

export const START_MS = Date.UTC(2026, 10, 21);
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A machine with a store, on which tests start, stop and kill the gateway. */
export class Machine {
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
      new ClockStoreRedis(new Store(this.redis), new Store(this.redis), this.keys, this.#log),
    );
    clock.startSaving();
    onTestFinished(() => clock.suspend());
    return new Run(this, clock, health);
  }
}

/** One run of the gateway. */
export class Run {
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
    return faultTexts(this.health.faults());
  }
}
