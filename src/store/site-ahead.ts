import type { Redis } from 'ioredis';
import { repeat } from '../repeat.js';
import type { SiteState } from '../site/site-findings.js';
import type { Keys } from './keys.js';
import { SiteLoader } from './site-loader.js';

/** A home changes rarely, and when it does, many times in a row. */
const INTERVAL_MS = 3_000;

/**
 * Reads the site of a gateway that stands by, so that its start need not.
 *
 * Each change of the site has a number: what was read holds as long as the number is the same, in the same store.
 */
export class SiteAhead {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #loader: SiteLoader;
  #version = '';
  #state: SiteState | undefined;
  #stop: () => void = () => undefined;

  /** @param redis takes no writes: a reader must not repair what another gateway has in hand */
  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
    this.#loader = new SiteLoader(redis, keys);
  }

  start(): void {
    this.#stop = repeat(() => this.refresh(), INTERVAL_MS);
  }

  stop(): void {
    this.#stop();
  }

  /** Reads the site if it has changed. */
  async refresh(): Promise<void> {
    const version = await this.#versionOf(this.#redis);
    if (version === this.#version) return;
    this.#state = await this.#loader.load();
    this.#version = version;
  }

  /**
   * The site as it is, unless it must be read; once.
   *
   * @param redis of the gateway that starts
   */
  async take(redis: Redis): Promise<SiteState | undefined> {
    const [version, state] = [this.#version, this.#state];
    this.#version = '';
    this.#state = undefined;
    // What is wrong is looked at, and repaired, by the gateway that serves.
    if (state === undefined || state.findings.some(({ ids }) => ids.length > 0)) return undefined;
    return version === (await this.#versionOf(redis)) ? state : undefined;
  }

  async #versionOf(redis: Redis): Promise<string> {
    const [identity, revision] = await redis.mget(this.#keys.identity, this.#keys.siteRevision);
    return `${identity} ${revision}`;
  }
}
