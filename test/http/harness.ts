import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { FolderFootageStore } from '../../src/footage/folder-footage-store.js';
import type { FootageStore } from '../../src/site/footage-store.js';
import { AuditRecords } from '../../src/store/audit/records.js';
import { type Keys, keysOf } from '../../src/store/keys.js';
import { SiteStoreRedis } from '../../src/store/site/site-store-redis.js';
import { Store } from '../../src/store/store.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import type { Environment } from '../former/gateway/running-gateway.js';
import { NO_LIMITS } from '../former/no-limits.js';
import type { RedisPlace } from '../former/servers/shared-redis.js';
import { SocketProxy } from '../former/servers/socket-proxy.js';
import { AskedGateway } from './asked-gateway.js';
import { writeLostData } from './operation/lost-data.js';

export const MAX_BODY_BYTES = 4096;
export const MAX_UPLOAD_BYTES = 10 * 1024 * 1024;

export interface HarnessOptions {
  /** Keys of the configuration. */
  readonly environment?: Environment;
  /** Whether it found at an earlier start that its store has lost 200 alarms. */
  readonly hasLostData?: boolean;
  /** Whether its clock that does not jump advances only with `aheadMs`. */
  readonly hasStoppedClock?: boolean;
  /** Whether `loseStore` can take its store away. */
  readonly losesStore?: boolean;
}

/** Starts a gateway with its own site, for one test. */
export async function startGateway(
  redis: RedisPlace,
  options: HarnessOptions = {},
): Promise<TestGateway> {
  const gateway = await TestGateway.start(redis, options);
  onTestFinished(() => gateway.stop());
  return gateway;
}

/** One gateway for the tests of a file that do not need an empty site. */
export function useGateway(redis: RedisPlace, options: HarnessOptions = {}): () => TestGateway {
  let gateway: TestGateway | undefined;
  beforeAll(async () => {
    gateway = await TestGateway.start(redis, options);
  });
  afterAll(() => gateway?.stop());
  return () => {
    if (gateway === undefined) throw new Error('The gateway starts before the tests');
    return gateway;
  };
}

/** A gateway as `main.ts` composes it, and how tests talk to it. */
export class TestGateway extends AskedGateway {
  readonly #clock: { aheadMs: number };
  /** Direct access to its store, bypassing the gateway. */
  readonly redis: Redis;
  readonly storeKeys: Keys;
  readonly #proxy: SocketProxy | undefined;

  private constructor(
    parts: Pick<TestGateway, 'running'> & {
      readonly clock: { aheadMs: number };
      readonly keys: Keys;
      readonly redis: Redis;
      readonly proxy: SocketProxy | undefined;
    },
  ) {
    super(parts.running);
    this.#clock = parts.clock;
    this.storeKeys = parts.keys;
    this.redis = parts.redis;
    this.#proxy = parts.proxy;
  }

  static async start({ socketPath }: RedisPlace, options: HarnessOptions): Promise<TestGateway> {
    const site = randomUUID();
    const clock = { aheadMs: 0 };
    const startedAtMs = performance.now();
    const elapsedMs = () => (options.hasStoppedClock ? startedAtMs : performance.now());
    const ownPath = `${socketPath}.${site}`;
    const proxy = options.losesStore ? await SocketProxy.start(ownPath, socketPath) : undefined;
    const running = await GatewayHere.create(
      {
        ...NO_LIMITS,
        GATEWAY_REDIS_URL: `unix://${proxy === undefined ? socketPath : ownPath}`,
        GATEWAY_SITE: site,
        GATEWAY_LOG_LEVEL: 'debug',
        GATEWAY_HTTP_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
        GATEWAY_FOOTAGE_MAX_UPLOAD_BYTES: String(MAX_UPLOAD_BYTES),
        GATEWAY_FOOTAGE_MIN_FREE_BYTES: '0',
        ...options.environment,
      },
      {
        // Both clocks: time passes, instead of a clock being set.
        now: () => Date.now() + clock.aheadMs,
        elapsed: () => elapsedMs() + clock.aheadMs,
      },
    );
    if (options.hasLostData) await writeLostData(running.dataDir, site);
    const redis = new Redis({ path: socketPath, lazyConnect: true });
    const keys = keysOf(site);
    const gateway = new TestGateway({ running, clock, keys, redis, proxy });
    await running.start();
    return gateway;
  }

  /** How far its clocks are ahead of the real clocks. */
  get aheadMs(): number {
    return this.#clock.aheadMs;
  }

  set aheadMs(aheadMs: number) {
    this.#clock.aheadMs = aheadMs;
  }

  /** Lines of the log. */
  get logged(): readonly string[] {
    return this.running.lines;
  }

  get footageDirectory(): string {
    return join(this.running.dataDir, 'footage');
  }

  /** Signs URLs with the gateway's key, even for objects that no alarm can name. */
  get footageStore(): FootageStore {
    const key = readFileSync(join(this.running.dataDir, 'footage.key'), 'utf8');
    const now = () => Date.now() + this.aheadMs;
    return new FolderFootageStore(Buffer.from(key.trim()), now);
  }

  async stop(): Promise<void> {
    await this.running.remove();
    await this.#proxy?.close();
    this.redis.disconnect();
  }

  /** Adds a bridge and then removes it from the configuration. */
  async missBridge(name: string): Promise<void> {
    for (const bridges of [[{ name, url: 'mqtt://127.0.0.1:1' }], []]) {
      await this.running.configure({ bridges });
      await this.running.reload();
    }
  }

  /** Makes the store unreachable. */
  loseStore(): void {
    if (this.#proxy === undefined) throw new Error('Start it with `losesStore`');
    this.#proxy.cut();
  }

  /** Makes it reachable again. */
  regainStore(): void {
    this.#proxy?.pass();
  }

  /** The site's records in the store. */
  async stored() {
    const { records, findings } = await new SiteStoreRedis(
      new Store(this.redis),
      this.storeKeys,
      new AuditRecords(Date.now),
    ).load();
    return { ...records, findings };
  }

  /** Every key of its site in the store. */
  keys(): Promise<string[]> {
    return this.redis.keys(`${this.storeKeys.sitePrefix}*`);
  }

  /** Counts all records that the audit trail has ever had. */
  async recordCount(): Promise<number> {
    return Number(await this.redis.get(this.storeKeys.logSequence('audit')));
  }
}
