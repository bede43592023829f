/** What a store has lost since it was last seen, and the words for it. */

import { z } from 'zod';
import type { Language } from '../domain/faults/fault-kind.js';
import type { Phrase } from '../domain/faults/faults.js';
import { RECORD_KINDS } from '../domain/site.js';

const count = z.int().min(0);
const SITE_THINGS = [...RECORD_KINDS, 'change'] as const;
const THINGS = ['store', ...SITE_THINGS, 'backlog', 'key'] as const;
type Thing = (typeof THINGS)[number];

/** What a site consists of: records by kind, and how many changes it has had. */
const siteSchema = z.record(z.enum(SITE_THINGS), count);
export type SiteCounts = Readonly<z.infer<typeof siteSchema>>;

/** A store as last seen. */
export const seenStoreSchema = z.object({
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
export type SeenStore = Readonly<z.infer<typeof seenStoreSchema>>;

export const NEVER_SEEN: SeenStore = {
  identity: '',
  runId: '',
  evictedKeys: 0,
  site: { location: 0, group: 0, room: 0, device: 0, 'access-token': 0, change: 0 },
  oldestAlarm: 0,
  newestAlarm: 0,
};

export const lostDataSchema = z.object({
  counts: z.partialRecord(z.enum(THINGS), count),
  /** The first and last missing number of the history. */
  alarms: z.object({ from: count, to: count }).nullable(),
});
export type LostData = Readonly<z.infer<typeof lostDataSchema>>;

export const NOTHING_LOST: LostData = { counts: {}, alarms: null };

/**
 * The missing data; undefined when nothing is missing.
 *
 * Records count as missing only if no change has removed them.
 *
 * @param site the counts in the gateway's memory; undefined before it has loaded the site
 */
export function lostSince(
  seen: SeenStore,
  found: SeenStore,
  site: SiteCounts | undefined,
): LostData | undefined {
  const isReplaced = wasReplaced(seen, found);
  const left = isReplaced ? NEVER_SEEN : found;
  const known = left.site.change > seen.site.change ? site : seen.site;
  const missing: readonly [Thing, number][] = [
    ['store', isReplaced ? 1 : 0],
    ...SITE_THINGS.map((thing): [Thing, number] => {
      return [thing, Math.min(seen.site[thing], known?.[thing] ?? 0) - left.site[thing]];
    }),
    ['key', found.evictedKeys - (found.runId === seen.runId ? seen.evictedKeys : 0)],
  ];
  const counts = Object.fromEntries(missing.filter(([, lost]) => lost > 0));
  const from = Math.max(left.newestAlarm + 1, seen.oldestAlarm);
  const alarms = from > seen.newestAlarm ? null : { from, to: seen.newestAlarm };
  return alarms === null && Object.keys(counts).length === 0 ? undefined : { counts, alarms };
}

/** A store without its identity but with other data is not replaced: it has lost that one key. */
function wasReplaced({ identity }: SeenStore, found: SeenStore): boolean {
  if (identity === '' || found.identity === identity) return false;
  return found.identity !== '' || (found.site.change === 0 && found.newestAlarm === 0);
}

/** Combines two losses. */
export function merged(one: LostData, other: LostData): LostData {
  const sums = THINGS.map((thing): [Thing, number] => {
    return [thing, (one.counts[thing] ?? 0) + (other.counts[thing] ?? 0)];
  });
  const ranges = [one.alarms, other.alarms].filter((range) => range !== null);
  const from = Math.min(...ranges.map((range) => range.from));
  const to = Math.max(...ranges.map((range) => range.to));
  return {
    counts: Object.fromEntries(sums.filter(([, sum]) => sum > 0)),
    alarms: ranges.length === 0 ? null : { from, to },
  };
}

type Words = readonly [one: string, more: string];

const WORDS: Readonly<Record<Exclude<Thing, 'store'>, Readonly<Record<Language, Words>>>> = {
  location: { en: ['location', 'locations'], de: ['Heim', 'Heime'] },
  group: { en: ['group', 'groups'], de: ['Gruppe', 'Gruppen'] },
  room: { en: ['room', 'rooms'], de: ['Zimmer', 'Zimmer'] },
  device: { en: ['device', 'devices'], de: ['Gerät', 'Geräte'] },
  'access-token': { en: ['access token', 'access tokens'], de: ['Zugangstoken', 'Zugangstokens'] },
  change: {
    en: ['change of the site', 'changes of the site'],
    de: ['Änderung der Stammdaten', 'Änderungen der Stammdaten'],
  },
  backlog: {
    en: ['alarm of a backlog', 'alarms of backlogs'],
    de: ['Alarm aus einer Warteschlange', 'Alarme aus Warteschlangen'],
  },
  key: {
    en: ['key that the server evicted', 'keys that the server evicted'],
    de: ['vom Server verdrängter Schlüssel', 'vom Server verdrängte Schlüssel'],
  },
};

/** The loss in words. */
export function phraseOf(lost: LostData): Phrase {
  return { en: wordsIn('en', lost), de: wordsIn('de', lost) };
}

function wordsIn(language: Language, { counts, alarms }: LostData): string {
  const isGerman = language === 'de';
  const parts = THINGS.flatMap((thing) => {
    const lost = counts[thing] ?? 0;
    if (lost === 0) return [];
    if (thing === 'store') return [isGerman ? 'alles Gespeicherte' : 'everything stored'];
    return [`${lost} ${WORDS[thing][language][lost > 1 ? 1 : 0]}`];
  });
  if (alarms !== null) {
    const { from, to } = alarms;
    const count = to - from + 1;
    parts.push(
      isGerman
        ? `bis zu ${count} Alarme (Nummern ${from} bis ${to})`
        : `up to ${count} alarms (numbers ${from} to ${to})`,
    );
  }
  return parts.join(', ');
}
