import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { fault } from '../domain/faults/faults.js';
import { formatTime } from '../domain/notation.js';
import { RECORD_KINDS } from '../domain/site.js';
import type { Health } from '../site/health/health.js';
import { unlessMissing, writeDurably } from './durable-file.js';
import type { Keys } from './keys.js';
import {
  type LostData,
  lostDataSchema,
  lostSince,
  merged,
  NEVER_SEEN,
  NOTHING_LOST,
  phraseOf,
  type SeenStore,
  type SiteCounts,
  seenStoreSchema,
} from './lost-data.js';
import { Script } from './scripts.js';
import type { Store } from './store.js';

const parsed = z.string().transform((text): unknown => JSON.parse(text));
const lookAtStore = new Script('look-at-store', parsed.pipe(seenStoreSchema));

/** Unacknowledged losses, and when they were first noticed. */
const findingSchema = z.object({ lost: lostDataSchema, sinceMs: z.number() });
type Finding = z.infer<typeof findingSchema>;
const fileSchema = z.object({
  site: z.string(),
  store: seenStoreSchema,
  finding: findingSchema.nullable(),
});

const FAULT = 'lost-data';

export interface StoreWitnessOptions {
  /** Fails soon while the store is away. */
  readonly store: Store;
  readonly keys: Keys;
  /** The file next to the store. */
  readonly path: string;
  /** The site in the store. A file of another site is ignored. */
  readonly site: string;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
  /** The wall clock: people read these times. */
  readonly now: () => number;
}

/**
 * Detects that the store has lost acknowledged data: deleted, evicted, set back or replaced.
 *
 * A small file next to the store holds its last known state, which is compared with what a read-only script finds.
 * Missing data is a fault until acknowledged, even after a restart: nobody can bring back an alarm, but somebody
 * may have to look after the person who raised it.
 */
export class StoreWitness {
  readonly #options: StoreWitnessOptions;
  readonly #acknowledge = (): void => this.#setFinding(null);
  #checking: Promise<void> | undefined;
  #seen: SeenStore = NEVER_SEEN;
  #finding: Finding | null = null;
  #siteCounts: () => SiteCounts | undefined = () => undefined;
  /** The text now in the file. */
  #written = '';

  private constructor(options: StoreWitnessOptions) {
    this.#options = options;
  }

  /** Resolves once the store has been compared or cannot be. */
  static async start(options: StoreWitnessOptions): Promise<StoreWitness> {
    const witness = new StoreWitness(options);
    await witness.#read();
    await witness.check();
    return witness;
  }

  /** The store's identity as last seen; empty while unknown. */
  get identity(): string {
    return this.#seen.identity;
  }

  /** Whether devices or access tokens are missing and nobody has acknowledged it. */
  get hasLostPrincipals(): boolean {
    const { device = 0, 'access-token': tokens = 0 } = this.#finding?.lost.counts ?? {};
    return device + tokens > 0;
  }

  /** From now on, also compares with the site in the gateway's memory. */
  followSite(counts: () => SiteCounts): void {
    this.#siteCounts = counts;
  }

  /** Adds a loss to those that await acknowledgement. */
  report(part: Partial<LostData>): void {
    const lost = { ...NOTHING_LOST, ...part };
    const { log, now } = this.#options;
    log.error({ lost }, 'the store has lost acknowledged data');
    const before = this.#finding ?? { lost: NOTHING_LOST, sinceMs: now() };
    this.#setFinding({ ...before, lost: merged(before.lost, lost) });
  }

  /** Compares the store with its last known state, and saves the new one. */
  check(): Promise<void> {
    this.#checking ??= this.#compare()
      .catch((err: unknown) => {
        const { store, log } = this.#options;
        // StoreOutages already logs a store that is away.
        const level = store.isReady ? 'warn' : 'debug';
        log[level]({ part: 'store', err }, 'failed to look for lost data');
      })
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  async #compare(): Promise<void> {
    const { store, keys } = this.#options;
    const found = await this.#look();
    const lost = lostSince(this.#seen, found, this.#siteCounts());
    if (lost !== undefined) this.report(lost);
    const isReplaced = lost?.counts.store !== undefined;
    const identity = found.identity || (isReplaced ? '' : this.#seen.identity);
    this.#seen = { ...found, identity };
    await this.#write();
    if (found.identity !== '') return;
    // Over a key of another type as well: the fence lets only the gateway that serves write.
    await store.write(['SET', keys.identity, identity || randomUUID()]);
    await this.#compare();
  }

  async #look(): Promise<SeenStore> {
    const found = await this.#options.store.run(lookAtStore, { kinds: RECORD_KINDS });
    const { change } = this.#siteCounts() ?? found.site;
    // A change of the site has not reached the gateway's memory yet: compare the site after it has.
    const isBeingChanged =
      found.site.change > this.#seen.site.change && found.site.change !== change;
    return isBeingChanged ? { ...found, site: this.#seen.site } : found;
  }

  #setFinding(finding: Finding | null): void {
    this.#finding = finding;
    const lost = finding && {
      ...fault('storeLostData', {
        lost: phraseOf(finding.lost),
        at: formatTime(finding.sinceMs),
      }),
      acknowledge: this.#acknowledge,
    };
    this.#options.health.report(FAULT, lost ?? undefined);
  }

  async #read(): Promise<void> {
    const { path, log } = this.#options;
    try {
      const text = await unlessMissing(readFile(path, 'utf8'));
      if (text === undefined) return;
      const { site, store, finding } = fileSchema.parse(JSON.parse(text));
      if (site !== this.#options.site) return;
      this.#seen = store;
      this.#setFinding(finding);
    } catch (err) {
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
