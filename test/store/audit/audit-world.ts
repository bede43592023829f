import { Redis } from 'ioredis';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { newId } from '../../../src/domain/notation.js';
import {
  AUDIT_ACTIONS,
  type AuditEntry,
  type AuditPage,
  type AuditQuery,
  GATEWAY_ACTOR,
} from '../../../src/site/audit-trail.js';
import { AuditRecords } from '../../../src/store/audit/records.js';
import { AuditRetention } from '../../../src/store/audit/retention.js';
import { AuditTrailRedis } from '../../../src/store/audit/trail.js';
import { keysOf } from '../../../src/store/keys.js';
import { Store } from '../../../src/store/store.js';

/** How long records are kept in these tests. */
const MAX_AGE_MS = 100;

/** The audit trail of a separate site, in a shared store. */
export class AuditWorld {
  readonly redis: Redis;
  readonly keys = keysOf(newId());
  readonly trail: AuditTrailRedis;
  readonly logged: string[] = [];
  readonly log = pino({ level: 'info' }, { write: (line: string) => this.logged.push(line) });
  /** The steady clock. */
  nowMs = 0;

  constructor(socketPath: string) {
    this.redis = new Redis({ path: socketPath });
    onTestFinished(() => this.redis.disconnect());
    const { redis, keys, log } = this;
    const records = new AuditRecords(() => this.nowMs);
    this.trail = new AuditTrailRedis({ store: new Store(redis), keys, records, log });
  }

  /** Removes records that are too old at this steady time. */
  removeOld(nowMs: number): Promise<number> {
    const { redis, keys } = this;
    const retention = new AuditRetention({
      store: new Store(redis),
      keys,
      maxAgeMs: MAX_AGE_MS,
      now: () => nowMs,
    });
    return retention.removeOld(new AbortController().signal);
  }

  /** The numbers of all matching records, page by page. */
  async numbers(changes: Partial<AuditQuery> = {}): Promise<number[]> {
    const pages = await readAll(this.trail, query({ order: 'asc', ...changes }));
    return pages.flatMap(({ records }) => records.map(({ sequence }) => sequence));
  }
}

export function entry(atMs: number, changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    action: 'device.created',
    actor: GATEWAY_ACTOR,
    atMs,
    locationId: null,
    resourceId: null,
    details: {},
    ...changes,
  };
}

/** This many entries, a millisecond apart. */
export function entries(count: number, fromMs = 0, changes: Partial<AuditEntry> = {}) {
  return Array.from({ length: count }, (_, index) => entry(fromMs + index, changes));
}

/** The numbers from 1 on. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

export function query(changes: Partial<AuditQuery> = {}): AuditQuery {
  return {
    actions: AUDIT_ACTIONS,
    beforeMs: undefined,
    afterMs: undefined,
    locationId: undefined,
    actorId: undefined,
    resourceId: undefined,
    order: 'desc',
    limit: 100,
    upToSequence: undefined,
    position: undefined,
    ...changes,
  };
}

/** Reads all pages, calling `between` after each. */
export async function readAll(
  trail: AuditTrailRedis,
  asked: AuditQuery,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<AuditPage[]> {
  const pages: AuditPage[] = [];
  for (let page: AuditPage | undefined; page === undefined || page.next !== undefined; ) {
    page = await trail.page({ ...asked, upToSequence: page?.upToSequence, position: page?.next });
    pages.push(page);
    await between();
  }
  return pages;
}
