/**
 * Tells when the store has lost acknowledged data: deleted, evicted, set back or replaced.
 *
 * A small file next to the store holds its last known state, which is compared with what a read-only script finds.
 * Missing data is a fault until acknowledged, even after a restart: nobody can bring back an alarm, but somebody
 * may have to look after the person who raised it.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { fault, type Language } from '../domain/fault.js';
import { parseJson } from '../domain/json.js';
import { RECORD_KINDS } from '../domain/site.js';
import { formatTime } from '../domain/time.js';
import { unlessMissing, writeDurably } from '../files.js';
import type { Health } from '../site/health/health.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';
import type { Store } from './store.js';

const FAULT = 'lost-data';

const SITE_THINGS = [...RECORD_KINDS, 'change'] as const;
const THINGS = ['store', 'restored', ...SITE_THINGS, 'backlog', 'key'] as const;

const WORDS: Readonly<Record<(typeof THINGS)[number], Readonly<Record<Language, string>>>> = {
  store: { en: 'everything stored', de: 'alles Gespeicherte' },
  restored: {
    en: 'everything after the restored backup',
    de: 'alles nach der zurückgespielten Sicherung',
  },
  location: { en: 'locations', de: 'Heime' },
  group: { en: 'groups', de: 'Gruppen' },
  room: { en: 'rooms', de: 'Zimmer' },
  device: { en: 'devices', de: 'Geräte' },
  'access-token': { en: 'access tokens', de: 'Zugangstokens' },
  change: { en: 'changes of the site', de: 'Änderungen der Stammdaten' },
  backlog: { en: 'alarms of backlogs', de: 'Alarme aus Warteschlangen' },
  key: { en: 'keys that the server evicted', de: 'vom Server verdrängte Schlüssel' },
};

const count = z.int().min(0);

/** What a site consists of: records by kind, and how many changes it has had. */
const siteSchema = z.record(z.enum(SITE_THINGS), count);
export type SiteCounts = Readonly<z.infer<typeof siteSchema>>;

/** A store as last seen. */
const seenSchema = z.object({
  /** Empty if it has none. */
  identity: z.string(),
  /** The server's run id. `evictedKeys` counts from the server's start. */
  runId: z.string(),
  evictedKeys: count,
  site: siteSchema,
  /** The numbers of alarms; 0 for none. */
  oldestAlarm: count,
  newestAlarm: count,
});
type Seen = Readonly<z.infer<typeof seenSchema>>;

export const NEVER_SEEN: Seen = {
  identity: '',
  runId: '',
  evictedKeys: 0,
  site: { location: 0, group: 0, room: 0, device: 0, 'access-token': 0, change: 0 },
  oldestAlarm: 0,
  newestAlarm: 0,
};

const lossSchema = z.object({
  counts: z.partialRecord(z.enum(THINGS), count),
  /** The first and last missing number of the history. */
  alarms: z.object({ from: count, to: count }).nullable(),
});
type Loss = Readonly<z.infer<typeof lossSchema>>;

/** Unacknowledged losses, and when they were first noticed. */
const findingSchema = lossSchema.extend({ sinceMs: z.number() });
type Finding = z.infer<typeof findingSchema>;

const fileSchema = z.object({
  site: z.string(),
  store: seenSchema,
  finding: findingSchema.nullable(),
});

const parsed = z.string().transform((text): unknown => JSON.parse(text));
const lookAtStore = new Script('look-at-store', parsed.pipe(seenSchema));

/** The file next to the store. */
export const WITNESS_FILE = 'store-witness.json';

/** The numbers of the oldest and newest entry of the history, as last seen; undefined for none. */
export async function seenEntries(path: string): Promise<{ from: number; to: number } | undefined> {
  const text = await unlessMissing(readFile(path, 'utf8'));
  const seen = text === undefined ? undefined : fileSchema.safeParse(parseJson(text)).data?.store;
  return seen && seen.newestAlarm > 0
    ? { from: seen.oldestAlarm, to: seen.newestAlarm }
    : undefined;
}

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

export class StoreWitness {
  readonly #options: StoreWitnessOptions;
  readonly #acknowledge = (): void => this.#setFinding(null);
  #checking: Promise<void> | undefined;
  #seen: Seen = NEVER_SEEN;
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
    const { device = 0, 'access-token': tokens = 0 } = this.#finding?.counts ?? {};
    return device + tokens > 0;
  }

  /** From now on, also compares with the site in the gateway's memory. */
  followSite(counts: () => SiteCounts): void {
    this.#siteCounts = counts;
  }

  /** Adds a loss to those that await acknowledgement. */
  report({ counts = {}, alarms = null }: Partial<Loss>): void {
    const { log, now } = this.#options;
    log.error({ lost: { counts, alarms } }, 'the store has lost acknowledged data');
    const before = this.#finding ?? { counts: {}, alarms: null, sinceMs: now() };
    const sums = THINGS.map((thing) => {
      return [thing, (before.counts[thing] ?? 0) + (counts[thing] ?? 0)] as const;
    });
    const range = before.alarms ?? alarms;
    this.#setFinding({
      counts: Object.fromEntries(sums.filter(([, sum]) => sum > 0)),
      alarms: range && {
        from: Math.min(range.from, alarms?.from ?? range.from),
        to: Math.max(range.to, alarms?.to ?? range.to),
      },
      sinceMs: before.sinceMs,
    });
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
    const isReplaced = wasReplaced(this.#seen, found);
    const loss = lossBetween(this.#seen, found, isReplaced, this.#siteCounts());
    if (loss !== undefined) this.report(loss);
    const identity = found.identity || (isReplaced ? '' : this.#seen.identity);
    this.#seen = { ...found, identity };
    await this.#write();
    if (found.identity !== '') return;
    // Over a key of another type as well: the fence lets only the gateway that serves write.
    await store.write(['SET', keys.identity, identity || randomUUID()]);
    await this.#compare();
  }

  async #look(): Promise<Seen> {
    const found = await this.#options.store.run(lookAtStore, { kinds: RECORD_KINDS });
    const { change } = this.#siteCounts() ?? found.site;
    // A change of the site has not reached the gateway's memory yet: compare the site after it has.
    const isBeingChanged =
      found.site.change > this.#seen.site.change && found.site.change !== change;
    return isBeingChanged ? { ...found, site: this.#seen.site } : found;
  }

  #setFinding(finding: Finding | null): void {
    this.#finding = finding;
    const report = finding && {
      ...fault('storeLostData', {
        lost: { en: wordsIn('en', finding), de: wordsIn('de', finding) },
        at: formatTime(finding.sinceMs),
      }),
      acknowledge: this.#acknowledge,
    };
    this.#options.health.report(FAULT, report ?? undefined);
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

/** A store without its identity but with other data is not replaced: it has lost that one key. */
function wasReplaced({ identity }: Seen, found: Seen): boolean {
  if (identity === '' || found.identity === identity) return false;
  return found.identity !== '' || (found.site.change === 0 && found.newestAlarm === 0);
}

/**
 * The missing data; undefined when nothing is missing. Records count only if no change has removed them.
 *
 * @param site the counts in the gateway's memory; undefined before it has loaded the site
 */
function lossBetween(
  seen: Seen,
  found: Seen,
  isReplaced: boolean,
  site: SiteCounts | undefined,
): Loss | undefined {
  const left = isReplaced ? NEVER_SEEN : found;
  const known = left.site.change > seen.site.change ? site : seen.site;
  const missing = {
    store: isReplaced ? 1 : 0,
    ...Object.fromEntries(
      SITE_THINGS.map((thing) => {
        const before = Math.min(seen.site[thing], known?.[thing] ?? 0);
        return [thing, before - left.site[thing]] as const;
      }),
    ),
    key: found.evictedKeys - (found.runId === seen.runId ? seen.evictedKeys : 0),
  };
  const counts = Object.fromEntries(Object.entries(missing).filter(([, lost]) => lost > 0));
  const from = Math.max(left.newestAlarm + 1, seen.oldestAlarm);
  const alarms = from > seen.newestAlarm ? null : { from, to: seen.newestAlarm };
  return alarms === null && Object.keys(counts).length === 0 ? undefined : { counts, alarms };
}

function wordsIn(language: Language, { counts, alarms }: Loss): string {
  const parts = THINGS.filter((thing) => counts[thing] !== undefined).map((thing) =>
    ['store', 'restored'].includes(thing)
      ? WORDS[thing][language]
      : `${WORDS[thing][language]}: ${counts[thing]}`,
  );
  if (alarms !== null) {
    const { from, to } = alarms;
    // Changes of states, silences and escalations have numbers too.
    const isGerman = language === 'de';
    parts.push(
      isGerman
        ? `Einträge ${from} bis ${to} im Verlauf`
        : `entries ${from} to ${to} of the history`,
    );
  }
  return parts.join(', ');
}
