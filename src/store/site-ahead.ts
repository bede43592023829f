import type { Redis } from 'ioredis';
import { repeat } from '../repeat.js';
import type { SiteState } from '../site/site-findings.js';
import type { Keys } from './keys.js';
import { infoField } from './server-info.js';
import { SiteLoader } from './site-loader.js';

/** A home changes rarely, and when it does, many times in a row. */
const INTERVAL_MS = 3_000;

/**
 * Reads the site of a gateway that stands by, so that its start need not.
 *
 * Each change of the site has a number: what was read holds as long as the number is the same, in the same store, and
 * no other server has become the primary. The change that was read may have been lost with the former one, and another
 * have its number.
 */
export class SiteAhead {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #loader: SiteLoader;
  #version = '';
  #state: SiteState | undefined;
  #stop: () => void = () => undefined;
  #isStopped = false;

  /** @param redis takes no writes: a reader must not repair what another gateway has in hand */
  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
    this.#loader = new SiteLoader(redis, keys);
  }

  start(): void {
    this.#stop = repeat(() => this.refresh(), INTERVAL_MS);
  }

  /** Stops reading; what is being read is not kept, as nobody would take it. */
  stop(): void {
    this.#isStopped = true;
    this.#stop();
  }

  /** Reads the site if it has changed. */
  async refresh(): Promise<void> {
    const version = await this.#versionOf(this.#redis);
    if (version === this.#version) return;
    const state = await this.#loader.load();
    if (this.#isStopped) return;
    this.#state = state;
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
    // Asked first: a number of changes of the former primary must not be taken for one of its successor.
    const history = infoField(await redis.info('replication'), 'master_replid');
    const [identity, revision] = await redis.mget(this.#keys.identity, this.#keys.siteRevision);
    return `${history} ${identity} ${revision}`;
  }
}
