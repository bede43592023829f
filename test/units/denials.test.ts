/**
 * Which denials get a record of their own, which are counted, and which are lost (contract 2, Audit and denials). However
 * they come, and whatever the store does, each is counted in exactly one record, or as lost.
 */
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Denials } from '../../src/site/access/denials.js';
import type { Actor, AuditEntry } from '../../src/site/audit-trail.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';

const STARTED_AT = Date.UTC(2026, 0, 1, 6, 30);
const NOWHERE = { locationId: null, resourceId: null };
const [PER_SECOND, MAX_WAITING, MINUTE_S] = [10, 10_000, 60];

beforeEach(() => void vi.useFakeTimers({ now: STARTED_AT }));
afterEach(() => void vi.useRealTimers());

function token(id: string, address = '192.0.2.7'): Actor {
  return { type: 'access-token', id, address, requestId: null };
}

function anonymous(address: string): Actor {
  return { type: 'anonymous', id: null, address, requestId: null };
}

/** Denials on faked time, with a store that can answer late, or refuse. */
class Run {
  readonly written: AuditEntry[] = [];
  readonly lines: string[] = [];
  readonly headroom = new StoreHeadroom();
  isRefusing = false;
  readonly denials: Denials;
  /** What the store has not answered; undefined: it answers. */
  #unanswered: (() => void)[] | undefined;

  constructor() {
    this.denials = new Denials({
      audit: {
        record: async (batch) => {
          const unanswered = this.#unanswered;
          if (unanswered) await new Promise<void>((resolve) => unanswered.push(resolve));
          if (this.isRefusing) throw new Error('refused');
          this.written.push(...batch);
        },
      },
      headroom: this.headroom,
      log: pino({ level: 'info' }, { write: (line) => this.lines.push(line) }),
      now: () => Date.now(),
      steadyNow: () => Date.now() - STARTED_AT,
    });
    this.denials.start();
  }

  get isHung(): boolean {
    return this.#unanswered !== undefined;
  }

  /** The store answers nothing until this ends. */
  hang(isHung: boolean): void {
    for (const answer of this.#unanswered ?? []) answer();
    this.#unanswered = isHung ? [] : undefined;
  }

  /** Denies the paths `/0`, `/1`, … */
  deny(who: Actor, count: number): void {
    for (let index = 0; index < count; index++) {
      this.denials.addDeniedPermission(who, NOWHERE, { path: `/${index}` });
    }
  }

  async pass(seconds: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(seconds * 1_000);
  }

  /** The records since the last call. */
  async recorded(): Promise<AuditEntry[]> {
    await vi.advanceTimersByTimeAsync(0);
    return this.written.splice(0);
  }
}

function countOf(entries: readonly AuditEntry[]): number {
  return entries.reduce((sum, { details }) => sum + Number(details['count'] ?? 1), 0);
}

function paths(entries: readonly AuditEntry[]): unknown[] {
  return entries.map(({ details }) => details['path']);
}

interface Model {
  denied: number;
  seconds: number;
}

class Deny implements fc.AsyncCommand<Model, Run> {
  constructor(
    readonly who: number,
    readonly count: number,
  ) {}
  check = () => true;
  async run(model: Model, real: Run): Promise<void> {
    real.deny(token(`t${this.who}`), this.count);
    model.denied += this.count;
  }
  toString = () => `deny(t${this.who}, ${this.count})`;
}

class Pass implements fc.AsyncCommand<Model, Run> {
  constructor(readonly seconds: number) {}
  check = () => true;
  async run(model: Model, real: Run): Promise<void> {
    await real.pass(this.seconds);
    model.seconds += this.seconds;
    // After a minute everything that was denied before is written, or lost, or waits for the store.
    if (this.seconds <= MINUTE_S || real.isHung) return;
    expect(countOf(real.written) + real.denials.lost).toBe(model.denied);
  }
  toString = () => `pass(${this.seconds} s)`;
}

class Store implements fc.AsyncCommand<Model, Run> {
  constructor(readonly state: 'hung' | 'there' | 'short') {}
  check = () => true;
  async run(_: Model, real: Run): Promise<void> {
    real.hang(this.state === 'hung');
    real.headroom.set('memory', this.state === 'short' ? 'short' : 'ample');
  }
  toString = () => `store(${this.state})`;
}

const STEPS = fc.commands(
  [
    fc
      .tuple(fc.nat(2), fc.integer({ min: 1, max: 60 }))
      .map(([who, count]) => new Deny(who, count)),
    fc.constantFrom(1, 2, 30, MINUTE_S + 1).map((seconds) => new Pass(seconds)),
    fc.constantFrom('hung' as const, 'there' as const, 'short' as const).map((to) => new Store(to)),
  ],
  { size: '+1' },
);

it('each is in exactly one record, in order, or lost, whatever the store does', async () => {
  const property = fc.asyncProperty(STEPS, async (steps) => {
    const model = { denied: 0, seconds: 0 };
    const run = new Run();
    await fc.asyncModelRun(() => ({ model, real: run }), steps);
    run.hang(false);
    await run.pass(1);
    await run.denials.stop();
    expect(countOf(run.written) + run.denials.lost).toBe(model.denied);
    for (const id of ['t0', 't1', 't2']) {
      const own = run.written.filter(({ actor }) => actor.id === id);
      const counted = own.filter(({ details }) => details['count'] !== undefined);
      const singles = own.length - counted.length;
      expect(singles).toBeLessThanOrEqual(PER_SECOND * (model.seconds + 2));
      expect(counted.length).toBeLessThanOrEqual(model.seconds / MINUTE_S + 2);
    }
  });
  await fc.assert(property, { numRuns: 100 });
});

it('200 at once get ten records, and within a minute one for the rest', async () => {
  const run = new Run();
  run.deny(token('a'), 200);
  const singles = await run.recorded();
  expect(paths(singles)).toEqual(Array.from({ length: PER_SECOND }, (_, index) => `/${index}`));
  await run.pass(MINUTE_S - 1);
  expect(await run.recorded()).toEqual([]);
  await run.pass(1);
  const [firstAt, lastAt] = Array(2).fill(new Date(STARTED_AT).toISOString());
  const rest = { path: '/199', count: '190', firstAt, lastAt, firstPath: '/10' };
  const entry = { action: 'permission.refused', actor: token('a'), atMs: STARTED_AT, ...NOWHERE };
  expect(await run.recorded()).toEqual([{ ...entry, details: rest }]);
  await run.pass(2 * MINUTE_S);
  expect(await run.recorded()).toEqual([]);
});

it('at ten a second all get a record; a flood gets these and one more a minute', async () => {
  const run = new Run();
  for (let index = 0; index < 300; index++) {
    run.deny(token('slow'), 1);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(await run.recorded()).toHaveLength(300);
  for (let second = 0; second < 3 * MINUTE_S; second++) {
    run.deny(token('flood'), 50);
    await run.pass(1);
  }
  await run.pass(MINUTE_S);
  const entries = await run.recorded();
  expect(entries.filter(({ details }) => details['count'] !== undefined)).toHaveLength(3);
  expect([entries.length, countOf(entries)]).toEqual([3 * MINUTE_S * PER_SECOND + 3, 9_000]);
});

it('what is counted shows the first and the last time, and the place that all had', async () => {
  const run = new Run();
  const at = (resourceId: string, topic: string) =>
    run.denials.addDeniedPermission(token('a'), { locationId: 'home', resourceId }, { topic });
  for (let index = 0; index < 11; index++) at('one', 'x/first');
  await vi.advanceTimersByTimeAsync(30);
  at('two', 'x/last');
  await run.recorded();
  await run.pass(MINUTE_S);
  const firstAt = new Date(STARTED_AT).toISOString();
  const lastAt = new Date(STARTED_AT + 30).toISOString();
  const details = { topic: 'x/last', firstTopic: 'x/first', count: '2', firstAt, lastAt };
  const place = { atMs: STARTED_AT + 30, locationId: 'home', resourceId: null };
  expect(await run.recorded()).toMatchObject([{ ...place, details }]);
});

/** Who shares the ten records a second. */
const GROUPED: readonly (readonly [what: string, one: Actor, other: Actor, isShared: boolean])[] = [
  ['a principal at two addresses', token('a', '192.0.2.1'), token('a', '192.0.2.9'), true],
  ['two principals at one address', token('a'), token('b'), false],
  ['a principal and nobody', token('a', '192.0.2.1'), anonymous('192.0.2.1'), false],
  ['two addresses', anonymous('192.0.2.1'), anonymous('192.0.2.2'), false],
  ['an IPv6 network', anonymous('2001:db8:0:1::1'), anonymous('2001:db8:0:1:ffff::2'), true],
  ['two IPv6 networks', anonymous('2001:db8:0:1::1'), anonymous('2001:db8:0:2::1'), false],
];

it.each(GROUPED)('grouped: %s', async (_, one, other, isShared) => {
  const run = new Run();
  for (const who of [one, other]) run.deny(who, PER_SECOND);
  expect(await run.recorded()).toHaveLength(isShared ? PER_SECOND : 2 * PER_SECOND);
});

it('failed logins are counted separately from denied permissions', async () => {
  const run = new Run();
  run.deny(anonymous('192.0.2.1'), PER_SECOND);
  for (let index = 0; index < 15; index++) {
    run.denials.addFailedLogin(anonymous('192.0.2.1'), { clientId: `${index}` });
  }
  expect(await run.recorded()).toHaveLength(2 * PER_SECOND);
  await run.pass(MINUTE_S);
  const counted = {
    action: 'authentication.refused',
    details: { count: '5', firstClientId: '10' },
  };
  expect(await run.recorded()).toMatchObject([counted]);
});

it('at most 256 characters of what a client made up are recorded', async () => {
  const run = new Run();
  const path = 'x'.repeat(5_000);
  run.denials.addDeniedPermission(token('a'), NOWHERE, { path, topic: null });
  expect(await run.recorded()).toMatchObject([
    { details: { path: path.slice(0, 256), topic: null } },
  ]);
});

it('10,000 addresses are remembered: the one denied longest ago gets its record early', async () => {
  const run = new Run();
  for (const [address, count] of [
    ['first', 12],
    ['second', 13],
    ['first', 1],
  ] as const) {
    run.deny(anonymous(address), count);
  }
  for (let index = 0; index < 9_998; index++) run.deny(anonymous(`other-${index}`), 1);
  await run.recorded();
  run.deny(anonymous('one more'), 1);
  expect(await run.recorded()).toMatchObject([
    { actor: { address: 'second' }, details: { count: '3' } },
    { actor: { address: 'one more' } },
  ]);
});

it('10,000 records wait for the store; with more, all that a record stands for is lost', async () => {
  const run = new Run();
  run.hang(true);
  for (let index = 0; index < MAX_WAITING / PER_SECOND; index++)
    run.deny(token(`t${index}`), PER_SECOND);
  expect(run.denials.lost).toBe(0);
  run.deny(token('last'), PER_SECOND + 25);
  expect(run.denials.lost).toBe(PER_SECOND);
  await run.pass(MINUTE_S);
  expect(run.denials.lost).toBe(PER_SECOND + 25);
  expect(run.lines.filter((line) => line.includes('denials are lost'))).toHaveLength(1);
  run.hang(false);
  await run.pass(1);
  expect(run.written).toHaveLength(MAX_WAITING);
});

it('what the store refuses is written once it does not, once and in order', async () => {
  vi.useRealTimers();
  const run = new Run();
  run.isRefusing = true;
  for (let index = 0; index < 30; index++) run.deny(token(`t${index}`), 1);
  await expect.poll(() => run.lines.join('')).toContain('failed to record denials, retrying');
  run.isRefusing = false;
  await expect.poll(() => run.written.length).toBe(30);
  await run.denials.stop();
  const ids = run.written.map(({ actor }) => actor.id);
  expect(ids).toEqual(Array.from({ length: 30 }, (_, index) => `t${index}`));
});

it.each([false, true])('the stop tries once more; store refusing: %s', async (isRefusing) => {
  const run = new Run();
  run.isRefusing = true;
  run.deny(token('a'), 17);
  await run.pass(0.1);
  run.isRefusing = isRefusing;
  await run.denials.stop();
  expect(countOf(run.written)).toBe(isRefusing ? 0 : 17);
  const reported = run.lines.filter((line) => line.includes('before the stop'));
  expect(reported.map((line) => JSON.parse(line).lost)).toEqual(isRefusing ? [11] : []);
});
