import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Health } from '../../src/site/health.js';
import { SteadyClock } from '../../src/site/steady-clock.js';

const START_MS = Date.UTC(2026, 10, 21);

function start() {
  const lines: string[] = [];
  const machine = { nowMs: START_MS, elapsedMs: 7_000 };
  const health = new Health();
  const clock = new SteadyClock({
    now: () => machine.nowMs,
    elapsed: () => machine.elapsedMs,
    health,
    log: pino({ level: 'info' }, { write: (line: string) => lines.push(line) }),
  });
  const pass = (milliseconds: number) => {
    machine.nowMs += milliseconds;
    machine.elapsedMs += milliseconds;
    clock.check();
  };
  return { clock, health, lines, machine, pass };
}

it('guarantee 7: a clock that jumps is told of, and changes no age', () => {
  for (const jumpMs of [86_400_000, -3_600_000]) {
    const { clock, health, lines, machine, pass } = start();
    pass(1_000);
    machine.nowMs += jumpMs;
    pass(1_000);
    expect(clock.now()).toBe(START_MS + 2_000);
    expect(health.faults()).toEqual([
      `The clock of this machine has jumped by ${jumpMs / 1000} s.`,
    ]);
    expect(lines.join('')).toContain(`"jumpMs":${jumpMs}`);
    pass(30_000);
    expect(health.ready()).toBe(false);
    pass(40_000);
    expect(health.faults()).toEqual([]);
    expect(lines).toHaveLength(1);
  }
});

it('a clock that is set by little at a time is none that jumps', () => {
  const { health, lines, machine, pass } = start();
  for (let second = 0; second < 60; second++) {
    machine.nowMs += 500;
    pass(1_000);
  }
  expect([health.faults(), lines]).toEqual([[], []]);
});
