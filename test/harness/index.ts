/**
 * What a test imports. `test` gives it what it names: a `home` of its own in a gateway that the worker's files share,
 * or, with `own`, a gateway, a store or a proxy that no other test has.
 *
 * Everything ends with the test. A message or an answer that does not match the described interface fails it.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { Gateway, type GatewayOptions, NO_LIMITS } from './gateway.js';
import { Home } from './home.js';
import { CutProxy } from './proxy.js';
import { RedisProgram, SAFE_SETTINGS } from './redis.js';

export { describe, expect, it, vi } from 'vitest';
export * from './gateway.js';
export * from './home.js';
export * from './http.js';
export * from './mqtt.js';
export * from './nurse.js';
export * from './sensor.js';
export * from './wait.js';

/** Makes things that end with their test, the last first. */
export class Own {
  readonly #cleanups: (() => unknown)[] = [];

  /** A gateway that no other test has. */
  gateway(options?: GatewayOptions): Promise<Gateway> {
    return this.keep(Gateway.start(options), (one) => one.remove());
  }

  /** A gateway that is not started. */
  gatewayOff(options?: GatewayOptions): Promise<Gateway> {
    return this.keep(Gateway.create(options), (one) => one.remove());
  }

  /** A home in a gateway that no other test has. */
  async home(options?: GatewayOptions): Promise<Home> {
    return this.homeAt(await this.gateway(options));
  }

  homeAt(gateway: Gateway, name?: string): Promise<Home> {
    return this.keep(Home.at(gateway, name), (one) => one.close());
  }

  /** A store with which a gateway reports no fault, unless other settings are given. */
  redis(settings: readonly string[] = SAFE_SETTINGS): Promise<RedisProgram> {
    return this.keep(RedisProgram.start(settings), (one) => one.remove());
  }

  proxy(target: number | string, at?: number | string): Promise<CutProxy> {
    return this.keep(CutProxy.start(target, at), (one) => one.close());
  }

  directory(): string {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-test-'));
    this.onEnd(() => rm(directory, { recursive: true, force: true }));
    return directory;
  }

  async keep<T>(made: Promise<T>, release: (one: T) => unknown): Promise<T> {
    const one = await made;
    this.onEnd(() => release(one));
    return one;
  }

  onEnd(work: () => unknown): void {
    this.#cleanups.push(work);
  }

  async release(): Promise<void> {
    for (const work of this.#cleanups.splice(0).reverse()) await work();
  }
}

interface TestFixtures {
  /** A care home in the shared gateway. */
  readonly home: Home;
  readonly own: Own;
}

interface SharedFixtures {
  /** The gateway of `home`. */
  readonly gateway: Gateway;
  /** A Redis for tests of parts; each takes a site of its own. */
  readonly redis: RedisProgram;
}

type Use<T> = (fixture: T) => Promise<void>;

/** Vitest reads from the pattern of a fixture's first parameter which others it needs: `{}` is none. */
type Nothing = Record<never, never>;

function gatewayWith(options: GatewayOptions) {
  return async ({}: Nothing, use: Use<Gateway>) => {
    const gateway = await Gateway.start(options);
    await use(gateway);
    await gateway.remove();
  };
}

async function redis({}: Nothing, use: Use<RedisProgram>) {
  const program = await RedisProgram.start();
  await use(program);
  await program.remove();
}

async function home({ gateway }: SharedFixtures, use: Use<Home>) {
  const one = await Home.at(gateway, `Haus ${randomUUID().slice(0, 8)}`);
  await use(one);
  await one.close();
}

async function own({}: Nothing, use: Use<Own>) {
  const one = new Own();
  await use(one);
  await one.release();
}

/** A home in a gateway that all files of a worker share, without budgets that slow a device down. */
export const test = base.extend<{ $test: TestFixtures; $worker: SharedFixtures }>({
  gateway: [
    gatewayWith({ env: { ...NO_LIMITS, GATEWAY_LOG_LEVEL: 'debug' } }),
    { scope: 'worker' },
  ],
  redis: [redis, { scope: 'worker' }],
  home,
  own,
});

/** `test` with a gateway of the file's own, for one that needs other options. */
export function testWith(options: GatewayOptions) {
  return base.extend<{ $test: TestFixtures; $file: SharedFixtures }>({
    gateway: [gatewayWith(options), { scope: 'file' }],
    redis: [redis, { scope: 'file' }],
    home,
    own,
  });
}
