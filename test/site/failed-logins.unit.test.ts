import { describe, expect, it } from 'vitest';
import { newSecret } from '../../src/domain/credentials.js';
import { FailedLogins, type LoginAttempt } from '../../src/site/access/failed-logins.js';

const FREE = 3;
const OWNER = '192.0.2.1';
const STRANGER = '192.0.2.66';
const HOUR_MS = 3_600_000;

/** Logins on a clock that the test moves, by default with a token that a person made up. */
class World {
  nowMs = 1_000;
  readonly named: string[] = [];
  readonly #logins: FailedLogins;

  constructor({ isBehindProxy = false } = {}) {
    const watch = { exceeded: (quota: string, who: string) => this.named.push(`${quota} ${who}`) };
    this.#logins = new FailedLogins({ free: FREE, isBehindProxy, watch, now: () => this.nowMs });
  }

  guess(address: string, name: string | undefined = 'admin') {
    return this.#logins.judge({ address, name, secret: 'guess', isValid: false });
  }

  /** Guesses as fast as the gateway hears them. Returns the backoff after each. */
  guesses(count: number, address: string, name?: string): number[] {
    return Array.from({ length: count }, () => {
      const { waitMs } = this.guess(address, name);
      this.nowMs += waitMs;
      return waitMs;
    });
  }

  login(address: string, attempt: Partial<LoginAttempt> = {}): string {
    const made = { name: 'admin', secret: 'made up by a person', isValid: true };
    return this.#logins.judge({ address, ...made, ...attempt }).result;
  }
}

describe('the backoff after failed logins', () => {
  it('is exponential and bounded', () => {
    const backoffs = new World().guesses(12, STRANGER);
    expect(backoffs.slice(0, 8)).toEqual([0, 0, 0, 250, 500, 1_000, 2_000, 4_000]);
    // From here on, failures are forgotten about as fast as new ones are made.
    expect(backoffs.slice(8).every((ms) => ms === 4_000 || ms === 5_000)).toBe(true);
  });

  it('is forgotten one failure at a time', () => {
    const world = new World();
    world.guesses(20, STRANGER);
    world.nowMs += 15_000;
    expect(world.guess(STRANGER).waitMs).toBeGreaterThan(500);
    world.nowMs += 60_000;
    expect(world.guesses(4, STRANGER)).toEqual([0, 0, 0, 250]);
  });

  it('lets no guess through before it is over, however many arrive at once', () => {
    const world = new World();
    world.guesses(FREE, STRANGER);
    const results = Array.from({ length: 100 }, () => world.guess(STRANGER).result);
    expect(results.filter((result) => result === 'failed')).toHaveLength(1);
    world.nowMs += 249;
    expect(world.guess(STRANGER).result).toBe('ignored');
    world.nowMs += 1;
    expect(world.guess(STRANGER).result).toBe('failed');
  });

  it('answers every half second, and leaves those unanswered who would wait longer than it lasts', () => {
    const world = new World();
    world.guesses(FREE, STRANGER);
    const verdicts = Array.from({ length: 100 }, () => world.guess(STRANGER));
    const answered = verdicts.filter(({ isAnswered }) => isAnswered).map(({ waitMs }) => waitMs);
    expect(answered).toEqual(Array.from({ length: 10 }, (_, turn) => 250 + 500 * turn));
    const unanswered = verdicts.filter(({ isAnswered }) => !isAnswered);
    expect(new Set(unanswered.map(({ waitMs }) => waitMs))).toEqual(new Set([5_000]));
  });

  it('names an address that does not wait for its end', () => {
    const world = new World();
    world.guesses(20, STRANGER);
    expect(world.named).toEqual([]);
    world.guess(STRANGER);
    world.guess(STRANGER);
    expect(world.named).toEqual([`failed-logins address:${STRANGER}`]);
  });

  it('S12: is not ended by a login from the address in between', () => {
    const world = new World();
    for (let time = 1; time <= 180; time++) {
      world.guess(STRANGER);
      expect(world.login(STRANGER, { name: 'own', secret: newSecret() })).toBe('admitted');
    }
    expect(world.guess(STRANGER).result).toBe('ignored');
  });

  it('does not start over with the next address of the same IPv6 network', () => {
    const world = new World();
    const backoffs = Array.from({ length: 5 }, (_, number) => {
      const [backoffMs = 0] = world.guesses(1, `2001:db8:0:1::${number}`, `name ${number}`);
      return backoffMs;
    });
    expect(backoffs).toEqual([0, 0, 0, 250, 500]);
    expect(world.guess('2001:db8:0:2::1', 'another').waitMs).toBe(0);
  });
});

describe('guesses at one name from many addresses', () => {
  it('share one backoff, except for the first from each address', () => {
    const world = new World();
    const addresses = Array.from({ length: 200 }, (_, number) => `198.51.100.${number}`);
    const heard = () => addresses.filter((address) => world.guess(address).result === 'failed');
    expect(heard()).toHaveLength(200);
    expect(heard()).toEqual([]);
    world.nowMs += 5_000;
    expect(heard()).toHaveLength(1);
    world.nowMs += HOUR_MS;
    expect(heard()).toHaveLength(200);
  });

  it('share their answers, too', () => {
    const world = new World();
    let answered = 0;
    for (let number = 0; number < 200; number++) {
      if (world.guess(`198.51.100.${number}`).isAnswered) answered++;
    }
    expect(answered).toBeLessThanOrEqual(FREE + 10);
  });

  it('are not counted beyond the longest backoff', () => {
    const world = new World();
    for (let number = 0; number < 200; number++) world.guess(`198.51.100.${number}`);
    world.nowMs += 60_000;
    expect(world.guess(STRANGER)).toMatchObject({ result: 'failed', waitMs: 0 });
  });

  it('do not lock out the owner of the name', () => {
    const world = new World();
    world.guesses(50, STRANGER);
    world.guess(STRANGER);
    expect(world.login(OWNER)).toBe('admitted');
    expect(world.login(STRANGER)).toBe('ignored');
  });

  it('do not affect another name', () => {
    const world = new World();
    world.guesses(50, STRANGER);
    world.guess(OWNER, 'other');
    expect(world.login(OWNER, { name: 'other' })).toBe('admitted');
  });
});

describe('a correct credential', () => {
  it('generated by the gateway is admitted at any time, even from the guessing address', () => {
    const world = new World();
    world.guesses(50, STRANGER);
    world.guess(STRANGER);
    expect(world.login(STRANGER, { secret: newSecret() })).toBe('admitted');
  });

  it('made up by a person is ignored during the backoff, and admitted after it', () => {
    const world = new World();
    world.guesses(FREE, STRANGER);
    const { waitMs } = world.guess(STRANGER);
    expect(world.login(STRANGER)).toBe('ignored');
    world.nowMs += waitMs;
    expect(world.login(STRANGER)).toBe('admitted');
  });

  it('is admitted for an hour from where it was used before', () => {
    const world = new World();
    expect(world.login(OWNER)).toBe('admitted');
    world.guesses(50, OWNER);
    world.guess(OWNER);
    expect(world.login(OWNER)).toBe('admitted');
    world.nowMs += HOUR_MS;
    world.guesses(50, OWNER);
    world.guess(OWNER);
    expect(world.login(OWNER)).toBe('ignored');
  });
});

describe('failures of this machine', () => {
  it('count for the name only behind a proxy, where anybody may come from it', () => {
    const world = new World({ isBehindProxy: true });
    world.login('127.0.0.1');
    world.guesses(FREE, '127.0.0.1');
    world.guess('127.0.0.1');
    expect(world.login('127.0.0.1')).toBe('ignored');
    expect(world.login('127.0.0.1', { name: undefined })).toBe('admitted');
  });

  it('count for its address without a proxy', () => {
    const world = new World();
    world.guesses(FREE, '127.0.0.1', 'one');
    world.guess('127.0.0.1', 'one');
    expect(world.login('127.0.0.1', { name: 'other' })).toBe('ignored');
  });
});

it('remembers a bounded number of addresses', () => {
  const world = new World();
  expect(world.guesses(4, STRANGER, 'x')).toEqual([0, 0, 0, 250]);
  for (let number = 0; number < 10_000; number++) world.guess(`2001:db8:${number}::1`, 'y');
  expect(world.guesses(1, STRANGER, 'z')).toEqual([0]);
});
