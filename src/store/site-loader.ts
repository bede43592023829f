import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RecordKind, SiteFinding, SiteState } from '../site/site-findings.js';
import { withSoundReferences } from '../site/site-references.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';
import {
  type RawRecord,
  readAccessToken,
  readDevice,
  readGroup,
  readLocation,
  readRoom,
} from './site-records.js';

const rawRecord = z.tuple([z.string(), z.array(z.string()).nullable()]);
const ids = z.array(z.string());
const loadSite = new Script(
  'load-site',
  z.tuple([z.array(z.array(rawRecord)), z.array(ids), z.string()]),
);

/** The kinds of records, in the script's order. */
const KINDS = ['location', 'group', 'room', 'device', 'access-token'] as const;
/** Keys scanned in one call: some milliseconds in which alarms wait. */
const KEYS_A_SCAN = 5_000;
/** A record's id is a UUID. */
const ID_PATTERN = '????????-????-????-????-????????????';
/**
 * A pattern for keys of records and few others: the first two letters are those of `location`, `group`,
 * `room`, `device` and `access-token`. With an asterisk in front it would take ten times as long.
 */
const RECORD_PATTERN = `[lgrda][orec]*:${ID_PATTERN}`;

/** Reads the whole site, restores its sets of ids, and finds faulty records. */
export class SiteLoader {
  readonly #redis: Redis;
  readonly #sets: Readonly<Record<RecordKind, string>>;
  readonly #prefixes: Readonly<Record<RecordKind, string>>;
  readonly #pattern: string;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#pattern = keys.sitePrefix + RECORD_PATTERN;
    this.#sets = {
      location: keys.locations,
      group: keys.groups,
      room: keys.rooms,
      device: keys.devices,
      'access-token': keys.accessTokens,
    };
    this.#prefixes = {
      location: keys.location(''),
      group: keys.group(''),
      room: keys.room(''),
      device: keys.device(''),
      'access-token': keys.accessToken(''),
    };
  }

  /**
   * Loads the site.
   *
   * The one call that reads comes last, so changes that are answered after it are also made in memory
   * after it.
   *
   * @throws GatewayError `store-unavailable`
   */
  async load(): Promise<SiteState> {
    const unlisted = await answering(() => this.#unlisted());
    const [loaded, restored, refusal] = await answering(() => this.#read(unlisted));
    const findings: SiteFinding[] = [];
    const read = <T>(kind: RecordKind, reading: (raw: RawRecord) => T | undefined): T[] => {
      const { records, missing, unreadable } = sorted(loaded[KINDS.indexOf(kind)] ?? [], reading);
      findings.push({ problem: 'record-missing', kind, ids: missing });
      findings.push({ problem: 'record-unreadable', kind, ids: unreadable });
      return records;
    };
    const records = {
      locations: read('location', readLocation),
      groups: read('group', readGroup),
      rooms: read('room', readRoom),
      devices: read('device', readDevice),
      accessTokens: read('access-token', readAccessToken),
    };
    const problem = refusal === '' ? 'list-repaired' : 'list-incomplete';
    for (const [at, kind] of KINDS.entries()) {
      findings.push({ problem, kind, ids: restored[at] ?? [] });
    }
    return withSoundReferences({ records, findings: findings.filter(({ ids }) => ids.length > 0) });
  }

  #read(unlisted: ReadonlyMap<RecordKind, readonly string[]>) {
    const kinds = KINDS.map((kind) => ({
      record: this.#prefixes[kind],
      unlisted: unlisted.get(kind) ?? [],
    }));
    const sets = KINDS.map((kind) => this.#sets[kind]);
    return loadSite.run(this.#redis, sets, [JSON.stringify(kinds)]);
  }

  /** Finds ids that have a record, but are not in the set of their kind. */
  async #unlisted(): Promise<Map<RecordKind, string[]>> {
    const recorded = await this.#recorded();
    const unlisted = new Map<RecordKind, string[]>();
    for (const kind of KINDS) {
      const listed = new Set(await this.#members(this.#sets[kind]));
      unlisted.set(
        kind,
        [...(recorded.get(kind) ?? [])].filter((id) => !listed.has(id)),
      );
    }
    return unlisted;
  }

  /** Reads a set; a key of another type has no members, and the script replaces it. */
  async #members(set: string): Promise<string[]> {
    return (await this.#redis.type(set)) === 'set' ? this.#redis.smembers(set) : [];
  }

  /** Finds every id that has a record; a scan may show one twice. */
  async #recorded(): Promise<Map<RecordKind, Set<string>>> {
    const recorded = new Map(KINDS.map((kind) => [kind, new Set<string>()]));
    let cursor = '0';
    do {
      const page = await this.#redis.scan(cursor, 'MATCH', this.#pattern, 'COUNT', KEYS_A_SCAN);
      cursor = page[0];
      for (const key of page[1]) {
        const id = key.slice(-ID_PATTERN.length);
        const prefix = key.slice(0, -ID_PATTERN.length);
        const kind = KINDS.find((one) => this.#prefixes[one] === prefix);
        if (kind !== undefined) recorded.get(kind)?.add(id);
      }
    } while (cursor !== '0');
    return recorded;
  }
}

/** Splits records into usable ones and the ids of the others. */
function sorted<T>(
  stored: readonly z.infer<typeof rawRecord>[],
  reading: (raw: RawRecord) => T | undefined,
): { records: T[]; missing: string[]; unreadable: string[] } {
  const result = { records: [] as T[], missing: [] as string[], unreadable: [] as string[] };
  for (const [id, fields] of stored) {
    const record = fields === null ? undefined : reading([id, fields]);
    if (record !== undefined) result.records.push(record);
    else if (fields?.length === 0) result.missing.push(id);
    else result.unreadable.push(id);
  }
  return result;
}
