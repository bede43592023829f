import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RecordKind, RecordOfKind } from '../domain/site.js';
import type { SiteFinding, SiteState } from '../site/site-findings.js';
import { withSoundReferences } from '../site/site-references.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { scannedKeys } from './scan.js';
import { READ_RECORD } from './site-records.js';

const fieldsSchema = z.record(z.string(), z.string());

/** Records read at a time, and ids put back, so that other commands get between. */
const SLICE_LENGTH = 500;
/** A record's id is a UUID. */
const ID_PATTERN = '????????-????-????-????-????????????';
/**
 * A pattern for keys of records and few others: the first two letters are those of `location`, `group`,
 * `room`, `device` and `access-token`. With an asterisk in front it would take ten times as long.
 */
const RECORD_PATTERN = `[lgrda][orec]*:${ID_PATTERN}`;

/** What is stored under an id: fields, or undefined for what is no hash. */
type Stored = Readonly<Record<string, string>> | undefined;

/**
 * Reads the whole site, restores its sets of ids, and finds faulty records.
 *
 * Records are the authority. The site is read even when writes are refused (full disk, replica).
 */
export class SiteLoader {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * Loads the site.
   *
   * The revision is read first: when another gateway changes the site meanwhile, the next change shows it.
   *
   * @throws GatewayError `store-unavailable`
   */
  load(): Promise<SiteState> {
    return answering(async () => {
      const revision = await this.revision();
      const found = new Set<string>();
      const pattern = this.#keys.sitePrefix + RECORD_PATTERN;
      for await (const keys of scannedKeys(this.#redis, pattern)) {
        for (const key of keys) found.add(key);
      }
      const findings: SiteFinding[] = [];
      const repairs: SiteFinding[] = [];
      const load = <K extends RecordKind>(kind: K) => this.#load(kind, found, findings, repairs);
      const records = {
        locations: await load('location'),
        groups: await load('group'),
        rooms: await load('room'),
        devices: await load('device'),
        accessTokens: await load('access-token'),
      };
      return withSoundReferences({ records, findings: [...findings, ...repairs], revision });
    });
  }

  /** @throws GatewayError `store-unavailable` */
  revision(): Promise<number> {
    return answering(async () => Number(await this.#redis.get(this.#keys.siteRevision)));
  }

  /** Loads the records of one kind, and puts ids that its set lacks back. */
  async #load<K extends RecordKind>(
    kind: K,
    found: ReadonlySet<string>,
    findings: SiteFinding[],
    repairs: SiteFinding[],
  ): Promise<RecordOfKind[K][]> {
    const listed = await this.#listed(kind);
    const prefix = this.#keys.record(kind, '');
    const ids = [...found].flatMap((key) =>
      key.startsWith(prefix) ? [key.slice(prefix.length)] : [],
    );
    const unlisted = ids.filter((id) => !listed.has(id));
    const records: RecordOfKind[K][] = [];
    const [missing, unreadable, restored]: [string[], string[], string[]] = [[], [], []];
    for (const [id, stored] of await this.#read(kind, [...listed, ...unlisted])) {
      const isEmpty = stored !== undefined && Object.keys(stored).length === 0;
      if (!listed.has(id)) {
        if (isEmpty || stored === undefined) continue;
        restored.push(id);
      }
      const record = stored && READ_RECORD[kind](id, stored);
      if (record !== undefined) records.push(record);
      else (isEmpty ? missing : unreadable).push(id);
    }
    findings.push({ problem: 'record-missing', kind, ids: missing });
    findings.push({ problem: 'record-unreadable', kind, ids: unreadable });
    if (restored.length > 0) {
      let isRestored = true;
      for (let from = 0; isRestored && from < restored.length; from += SLICE_LENGTH) {
        const slice = restored.slice(from, from + SLICE_LENGTH);
        isRestored = await this.#isDone('SADD', this.#keys.idsOf(kind), ...slice);
      }
      const problem = isRestored ? 'list-repaired' : 'list-incomplete';
      repairs.push({ problem, kind, ids: restored });
    }
    return records;
  }

  /** Reads the set of ids of a kind; a key of another type has none, and is removed. */
  async #listed(kind: RecordKind): Promise<ReadonlySet<string>> {
    const set = this.#keys.idsOf(kind);
    const type = await this.#redis.type(set);
    if (type === 'set') return new Set(await this.#redis.smembers(set));
    if (type !== 'none') await this.#isDone('DEL', set);
    return new Set();
  }

  async #read(kind: RecordKind, ids: readonly string[]): Promise<[string, Stored][]> {
    const read: [string, Stored][] = [];
    for (let from = 0; from < ids.length; from += SLICE_LENGTH) {
      const slice = ids.slice(from, from + SLICE_LENGTH);
      const pipeline = this.#redis.pipeline();
      for (const id of slice) pipeline.hgetall(this.#keys.record(kind, id));
      const replies = (await pipeline.exec()) ?? [];
      for (const [at, id] of slice.entries()) {
        const [error, reply] = replies[at] ?? [];
        if (error instanceof Error && !error.message.startsWith('WRONGTYPE')) throw error;
        read.push([id, error instanceof Error ? undefined : fieldsSchema.parse(reply)]);
      }
    }
    return read;
  }

  /** Whether the store took the repair: one that is full, or a replica, answers that it does not. */
  async #isDone(command: 'SADD' | 'DEL', ...args: readonly string[]): Promise<boolean> {
    try {
      await this.#redis.call(command, ...args);
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === 'ReplyError') return false;
      throw error;
    }
  }
}
