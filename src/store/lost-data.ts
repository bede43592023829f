/** What a store has lost since it was last seen, and the words for it. */

import { z } from 'zod';
import { formatTime } from '../domain/notation.js';
import { RECORD_KINDS, type RecordCounts, recordCounts } from '../domain/site.js';

const count = z.int().min(0);

const storeSchema = z.object({
  /** Empty while it has none. */
  identity: z.string(),
  /** The server's run id: it counts the keys that it evicts from its start. */
  runId: z.string(),
  evictedKeys: count,
  /** How many changes the site has had. */
  revision: count,
  records: z.record(z.enum(RECORD_KINDS), count),
  /** The numbers of alarms; 0 for none. */
  oldestAlarm: count,
  newestAlarm: count,
});

/** A store as last seen. */
export const seenStoreSchema = storeSchema.extend({
  /** The newest alarm whose listing was found to be incomplete: it is reported once. */
  unlistedAlarm: count,
});
export type SeenStore = Readonly<z.infer<typeof seenStoreSchema>>;

/** A store as found. */
export const foundStoreSchema = storeSchema.extend({
  /** How many of the keys are missing that list the newest alarm. */
  missingIndexes: count,
});
export type FoundStore = Readonly<z.infer<typeof foundStoreSchema>>;

/** The site in the gateway's memory. */
export interface SiteCounts {
  readonly revision: number;
  readonly records: RecordCounts;
}

export const NEVER_SEEN: SeenStore = {
  identity: '',
  runId: '',
  evictedKeys: 0,
  revision: 0,
  records: recordCounts(() => 0),
  oldestAlarm: 0,
  newestAlarm: 0,
  unlistedAlarm: 0,
};

const THINGS = [...RECORD_KINDS, 'change', 'backlog', 'index', 'key'] as const;
type Thing = (typeof THINGS)[number];

const WORDS: Readonly<Record<Thing, readonly [one: string, more: string]>> = {
  location: ['location', 'locations'],
  group: ['group', 'groups'],
  room: ['room', 'rooms'],
  device: ['device', 'devices'],
  'access-token': ['access token', 'access tokens'],
  change: ['change of the site', 'changes of the site'],
  backlog: ['alarm of a backlog', 'alarms of backlogs'],
  index: ['index of the history', 'indexes of the history'],
  key: ['key that the server evicted', 'keys that the server evicted'],
};

export const lostDataSchema = z.object({
  /** Whether the store was emptied or replaced. */
  isEverything: z.boolean(),
  counts: z.partialRecord(z.enum(THINGS), count),
  /** The first and last missing number of the history. */
  alarms: z.object({ from: count, to: count }).nullable(),
});
export type LostData = Readonly<z.infer<typeof lostDataSchema>>;

export const NOTHING_LOST: LostData = { isEverything: false, counts: {}, alarms: null };

/** @param site what the gateway has in memory; undefined before it has loaded the site */
export function lostSince(
  seen: SeenStore,
  found: FoundStore,
  site: SiteCounts | undefined,
): LostData | undefined {
  const isEverything = wasReplaced(seen, found);
  const left = isEverything ? { ...found, ...NOTHING_LEFT } : found;
  const expected = expectedRecords(seen, left, site);
  const missing: [Thing, number][] = [
    ...RECORD_KINDS.map((kind): [Thing, number] => [kind, expected[kind] - left.records[kind]]),
    ['change', seen.revision - left.revision],
    ['index', found.newestAlarm === seen.unlistedAlarm ? 0 : found.missingIndexes],
    ['key', found.evictedKeys - (found.runId === seen.runId ? seen.evictedKeys : 0)],
  ];
  const counts = Object.fromEntries(missing.filter(([, lost]) => lost > 0));
  const alarms =
    left.newestAlarm < seen.newestAlarm
      ? { from: Math.max(left.newestAlarm + 1, seen.oldestAlarm), to: seen.newestAlarm }
      : null;
  const isNothing = !isEverything && alarms === null && Object.keys(counts).length === 0;
  return isNothing ? undefined : { isEverything, counts, alarms };
}

const NOTHING_LEFT = { revision: 0, records: NEVER_SEEN.records, newestAlarm: 0 };

/** A store that lacks its identity, but has other data, has lost that one key. */
function wasReplaced({ identity }: SeenStore, found: FoundStore): boolean {
  if (identity === '' || found.identity === identity) return false;
  return found.identity !== '' || (found.revision === 0 && found.newestAlarm === 0);
}

/** What is to be remembered of the store. */
export function nowSeen(
  seen: SeenStore,
  found: FoundStore,
  site: SiteCounts | undefined,
): SeenStore {
  const { missingIndexes, ...state } = found;
  const { revision, records } = isBeingChanged(seen, found, site) ? seen : found;
  const unlistedAlarm = missingIndexes > 0 ? found.newestAlarm : seen.unlistedAlarm;
  return { ...state, revision, records, unlistedAlarm };
}

/** Records may be missing only as far as no change has removed them. */
function expectedRecords(
  seen: SeenStore,
  found: Pick<FoundStore, 'revision' | 'records'>,
  site: SiteCounts | undefined,
): RecordCounts {
  if (found.revision <= seen.revision) return seen.records;
  if (site === undefined || isBeingChanged(seen, found, site)) return found.records;
  return recordCounts((kind) => Math.min(seen.records[kind], site.records[kind]));
}

/** Whether the store has a change that the gateway has yet to make in its memory. */
function isBeingChanged(
  seen: SeenStore,
  { revision }: Pick<FoundStore, 'revision'>,
  site: SiteCounts | undefined,
): boolean {
  return revision > seen.revision && site !== undefined && site.revision !== revision;
}

/** Both losses as one. */
export function merged(one: LostData, other: LostData): LostData {
  const sums = THINGS.map((thing): [Thing, number] => [
    thing,
    (one.counts[thing] ?? 0) + (other.counts[thing] ?? 0),
  ]);
  const ranges = [one.alarms, other.alarms].filter((range) => range !== null);
  const from = Math.min(...ranges.map((range) => range.from));
  const to = Math.max(...ranges.map((range) => range.to));
  return {
    isEverything: one.isEverything || other.isEverything,
    counts: Object.fromEntries(sums.filter(([, sum]) => sum !== 0)),
    alarms: ranges.length === 0 ? null : { from, to },
  };
}

/** The loss as a sentence for the administrator. */
export function sentenceOf({ isEverything, counts, alarms }: LostData, sinceMs: number): string {
  const parts = THINGS.flatMap((thing) => {
    const lost = counts[thing] ?? 0;
    return lost === 0 ? [] : [`${lost} ${WORDS[thing][lost === 1 ? 0 : 1]}`];
  });
  if (isEverything) parts.unshift('everything stored');
  if (alarms !== null) {
    const { from, to } = alarms;
    parts.push(`up to ${to - from + 1} alarms (numbers ${from} to ${to})`);
  }
  return `The store has lost ${parts.join(', ')}, noticed at ${formatTime(sinceMs)}: acknowledge with POST /faults/store-lost-data/acknowledge.`;
}
