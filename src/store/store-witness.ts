import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import { warning } from '../domain/faults.js';
import { RECORD_KINDS } from '../domain/site.js';
import { systemErrorCode } from '../errors.js';
import type { Health } from '../site/health.js';
import { writeDurably } from './durable-file.js';
import type { Keys } from './keys.js';
import {
  type FoundStore,
  foundStoreSchema,
  type LostData,
  lostDataSchema,
  lostSince,
  merged,
  NEVER_SEEN,
  NOTHING_LOST,
  nowSeen,
  type SeenStore,
  type SiteCounts,
  seenStoreSchema,
  sentenceOf,
} from './lost-data.js';
import { Script } from './scripts.js';

const lookAtStore = new Script(
  'look-at-store',
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(foundStoreSchema),
);

/** What was lost and not acknowledged, and when it was noticed. */
const findingSchema = z.object({ lost: lostDataSchema, sinceMs: z.number() });
const fileSchema = z.object({
  site: z.string(),
  store: seenStoreSchema,
  finding: findingSchema.nullable(),
});

const FAULT = 'lost-data';

export interface StoreWitnessOptions {
  /** Fails soon while the store is away. */
  readonly redis: Redis;
  readonly keys: Keys;
  /** The file beside the store. */
  readonly path: string;
  /** The site in the store: a file of another one is ignored. */
  readonly site: string;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
  /** The wall clock, as people read these times. */
  readonly now: () => number;
  readonly intervalMs: number;
}

/**
 * Detects that the store has lost what was acknowledged: data deleted, evicted, set back or replaced.
 *
 * A small file beside the store holds what was last seen of it. A script that only reads compares them at
 * the start, after a reconnect, and at intervals. What is missing is a fault until it is acknowledged, also after
 * a restart: nobody can bring back an alarm, but somebody may have to look after the person who raised it.
 */
export class StoreWitness {
  readonly #options: StoreWitnessOptions;
  readonly #onReady = (): void => void this.#attempt();
  readonly #acknowledge = (): void => this.#setFinding(null);
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #seen: SeenStore = NEVER_SEEN;
  #finding: z.infer<typeof findingSchema> | null = null;
  #siteCounts: () => SiteCounts | undefined = () => undefined;
  /** The text in the file. */
  #written = '';
  #hasFailed = false;

  constructor(options: StoreWitnessOptions) {
    this.#options = options;
  }

  /** The identity of the store as last seen; empty while that is unknown. */
  get identity(): string {
    return this.#seen.identity;
  }

  /** Resolves once the store was compared, or could not be. */
  async start(): Promise<void> {
    await this.#read();
    await this.#attempt();
    this.#options.redis.on('ready', this.#onReady);
    this.#timer = setInterval(this.#onReady, this.#options.intervalMs);
  }

  /** Stops the watch and writes what was last seen to the file. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.redis.off('ready', this.#onReady);
    await this.#checking;
    if (!this.#hasFailed) await this.#attempt();
  }

  /** Compares with the site in the gateway's memory, too, from now on. */
  followSite(counts: () => SiteCounts): void {
    this.#siteCounts = counts;
  }

  /** Adds a loss to those that are to be acknowledged. */
  report(part: Partial<LostData>): void {
    const lost = { ...NOTHING_LOST, ...part };
    this.#options.log.error({ lost }, 'the store has lost acknowledged data');
    const before = this.#finding;
    this.#setFinding(
      before === null
        ? { lost, sinceMs: this.#options.now() }
        : { ...before, lost: merged(before.lost, lost) },
    );
  }

  #setFinding(finding: z.infer<typeof findingSchema> | null): void {
    this.#finding = finding;
    const fault = finding && {
      ...warning('store-lost-data', sentenceOf(finding.lost, finding.sinceMs)),
      acknowledge: this.#acknowledge,
    };
    this.#options.health.report(FAULT, fault ?? undefined);
  }

  /** Compares once, logging the first failure of an outage. */
  #attempt(): Promise<void> {
    this.#checking ??= this.#check()
      .then(() => {
        this.#hasFailed = false;
      })
      .catch((err: unknown) => {
        const { redis, log } = this.#options;
        // StoreOutages has already logged a store that is away.
        const level = this.#hasFailed || redis.status !== 'ready' ? 'debug' : 'warn';
        log[level]({ err }, 'failed to look for lost data');
        this.#hasFailed = true;
      })
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { redis, keys } = this.#options;
    const found = await this.#look();
    const site = this.#siteCounts();
    const lost = lostSince(this.#seen, found, site);
    if (lost !== undefined) this.report(lost);
    const identity = lost?.isEverything === true ? '' : this.#seen.identity;
    this.#seen = { ...nowSeen(this.#seen, found, site), identity: found.identity || identity };
    await this.#write();
    if (found.identity !== '') return;
    await redis.set(keys.identity, identity || randomUUID(), 'NX');
    await this.#check();
  }

  #look(): Promise<FoundStore> {
    const { redis, keys } = this.#options;
    const records = RECORD_KINDS.map((kind) => keys.siteRecords(kind));
    return lookAtStore.run(
      redis,
      [keys.identity, keys.siteRevision, keys.history, ...records],
      [keys.alarmPlacePrefix, keys.alarmGroupsPrefix, keys.alarmIndexPrefix, ...RECORD_KINDS],
    );
  }

  async #read(): Promise<void> {
    const { path, site: ownSite, log } = this.#options;
    try {
      const { site, store, finding } = fileSchema.parse(JSON.parse(await readFile(path, 'utf8')));
      if (site !== ownSite) return;
      this.#seen = store;
      this.#setFinding(finding);
    } catch (err) {
      if (systemErrorCode(err) === 'ENOENT') return;
      log.error({ err, file: path }, 'failed to read the witness of the store');
    }
  }

  async #write(): Promise<void> {
    const { path, site } = this.#options;
    const text = `${JSON.stringify({ site, store: this.#seen, finding: this.#finding })}\n`;
    if (text === this.#written) return;
    await writeDurably(path, text);
    this.#written = text;
  }
}
