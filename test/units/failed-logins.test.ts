/**
 * How guessing is slowed down (contract 3, Who may connect). Whatever mix of guesses and logins comes, guesses of an
 * address are heard at a bounded rate, and nobody who knows a generated secret ever waits.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newSecret } from '../../src/domain/credentials.js';
import { FailedLogins } from '../../src/site/access/failed-logins.js';

const FREE = 3;
/** Failures beyond the free ones until a backoff is as long as it gets, and how long that is. */
const [GROWING, LONGEST_MS] = [6, 5_000];
const [OWNER, STRANGER] = ['192.0.2.1', '192.0.2.66'];
const BY_A_PERSON = 'made up by a person';

/** Logins on a clock that the test moves. */
class Run {
  nowMs = 1_000;
  readonly named: string[] = [];
  readonly #logins: FailedLogins;

  constructor() {
    const watch = { exceeded: (quota: string, who: string) => this.named.push(`${quota} ${who}`) };
    this.#logins = new FailedLogins(FREE, watch, () => this.nowMs);
  }

  guess(address: string) {
    return this.#logins.judge({ address, secret: 'guess', isValid: false });
  }

  /** Guesses as fast as the gateway hears them. Returns the backoff after each. */
  guesses(count: number, address: string): number[] {
    return Array.from({ length: count }, () => {
      const { waitMs } = this.guess(address);
      this.nowMs += waitMs;
      return waitMs;
    });
  }

  judge(address: string, secret: string) {
    return this.#logins.judge({ address, secret, isValid: true });
  }

  /** The result of a right login, with a token that a person made up unless said. */
  login(address: string, secret = BY_A_PERSON): string {
    return this.judge(address, secret).result;
  }
}

interface Model {
  /** The times of the guesses that were heard, by address. */
  readonly heard: Map<string, number[]>;
}

class Guess implements fc.Command<Model, Run> {
  constructor(readonly address: string) {}
  check = () => true;
  run({ heard }: Model, real: Run): void {
    const { result, waitMs } = real.guess(this.address);
    expect(result).not.toBe('admitted');
    expect(waitMs).toBeLessThanOrEqual(LONGEST_MS);
    if (result === 'ignored') return;
    const times = [...(heard.get(this.address) ?? []), real.nowMs];
    heard.set(this.address, times);
    // However they are spread: one in the longest backoff, but for the first ones.
    const bound = FREE + GROWING + 1 + (real.nowMs - (times[0] ?? 0)) / LONGEST_MS;
    expect(times.length).toBeLessThanOrEqual(bound);
  }
  toString = () => `guess(${this.address})`;
}

class Login implements fc.Command<Model, Run> {
  constructor(
    readonly address: string,
    readonly secret: string,
  ) {}
  check = () => true;
  run({ heard }: Model, real: Run): void {
    const { address, secret } = this;
    const result = real.login(address, secret);
    // Nobody waits for the failures of others.
    const isQuiet = real.nowMs - (heard.get(address)?.at(-1) ?? -LONGEST_MS) >= LONGEST_MS;
    if (secret !== BY_A_PERSON || isQuiet) expect(result).toBe('admitted');
    else expect(result).not.toBe('failed');
  }
  toString = () => `login(${this.address}, ${this.secret})`;
}

class Wait implements fc.Command<Model, Run> {
  constructor(readonly ms: number) {}
  check = () => true;
  run(_: Model, real: Run): void {
    real.nowMs += this.ms;
  }
  toString = () => `wait(${this.ms} ms)`;
}

const ADDRESSES = [OWNER, STRANGER, '198.51.100.7', '2001:db8:1::1'];
const anyAddress = fc.constantFrom(...ADDRESSES);

it('guesses are heard at a bounded rate, and others are admitted, whatever comes', () => {
  const secret = fc.constantFrom(newSecret(), BY_A_PERSON);
  const guess = anyAddress.map((address) => new Guess(address));
  const steps = fc.commands(
    [
      guess,
      guess,
      fc.tuple(anyAddress, secret).map((args) => new Login(...args)),
      fc.constantFrom(1, 250, 1_000, LONGEST_MS, 3_600_000).map((ms) => new Wait(ms)),
    ],
    { size: '+2' },
  );
  const property = fc.property(steps, (commands) => {
    fc.modelRun(() => ({ model: { heard: new Map() }, real: new Run() }), commands);
  });
  fc.assert(property, { numRuns: 200 });
});

it('the backoff doubles from 250 ms to 5 s', () => {
  const backoffs = new Run().guesses(12, STRANGER);
  expect(backoffs.slice(0, 8)).toEqual([0, 0, 0, 250, 500, 1_000, 2_000, 4_000]);
  // From here on, failures are forgotten about as fast as new ones are made.
  expect(backoffs.slice(8).every((ms) => ms === 4_000 || ms === LONGEST_MS)).toBe(true);
});

it('failures are forgotten one by one', () => {
  const run = new Run();
  run.guesses(20, STRANGER);
  run.nowMs += 15_000;
  expect(run.guess(STRANGER).waitMs).toBeGreaterThan(500);
  run.nowMs += 60_000;
  expect(run.guesses(4, STRANGER)).toEqual([0, 0, 0, 250]);
});

it('no guess is heard before its backoff is over, however many come at once', () => {
  const run = new Run();
  run.guesses(FREE, STRANGER);
  const results = Array.from({ length: 100 }, () => run.guess(STRANGER).result);
  expect(results.filter((result) => result === 'failed')).toHaveLength(1);
  run.nowMs += 249;
  expect(run.guess(STRANGER).result).toBe('ignored');
  run.nowMs += 1;
  expect(run.guess(STRANGER).result).toBe('failed');
});

it('an address that guesses on during its backoff is named', () => {
  const run = new Run();
  run.guesses(20, STRANGER);
  expect(run.named).toEqual([]);
  run.guess(STRANGER);
  run.guess(STRANGER);
  expect(run.named).toEqual([`failed-logins address:${STRANGER}`]);
});

it('the next address of an IPv6 network does not start over, that of another does', () => {
  const run = new Run();
  const backoffs = Array.from({ length: 5 }, (_, number) =>
    run.guesses(1, `2001:db8:0:1::${number}`),
  );
  expect(backoffs.flat()).toEqual([0, 0, 0, 250, 500]);
  expect(run.guess('2001:db8:0:2::1').waitMs).toBe(0);
});

it('a right token that a person made up waits like a guess, a generated one does not', () => {
  const run = new Run();
  expect(run.login(STRANGER)).toBe('admitted');
  run.guesses(FREE, STRANGER);
  const { waitMs } = run.guess(STRANGER);
  // It gets the answer of a guess, and does not shorten the wait.
  expect(run.judge(STRANGER, BY_A_PERSON)).toEqual(run.guess(STRANGER));
  expect(run.login(STRANGER, newSecret())).toBe('admitted');
  expect(run.login(OWNER)).toBe('admitted');
  run.nowMs += waitMs;
  expect(run.login(STRANGER)).toBe('admitted');
});

it('10,000 addresses are remembered', () => {
  const run = new Run();
  expect(run.guesses(4, STRANGER)).toEqual([0, 0, 0, 250]);
  for (let number = 0; number < 10_000; number++) run.guess(`2001:db8:${number}::1`);
  expect(run.guesses(1, STRANGER)).toEqual([0]);
});
