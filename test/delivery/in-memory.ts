/** A store in memory and a receiver, for the parts of delivery: they keep the promises of the ports and nothing else. */

import type { ConsumerLimits } from '../../src/delivery/consumer.js';
import type { Entry, OutgoingPublish, Receiver } from '../../src/delivery/message.js';
import type {
  Appended,
  HistoryStore,
  NewCommand,
  NewEntry,
  Numbers,
} from '../../src/delivery/new-entry.js';
import type { Account, QueuePage, QueueStore, Settlement } from '../../src/delivery/queue.js';
import type {
  SessionOwner,
  SessionRecord,
  SessionStore,
  StoredSessions,
} from '../../src/delivery/sessions/session.js';
import { createLog } from '../../src/logging/log.js';

export const silent = createLog('silent', { write: () => undefined });

export const LIMITS: ConsumerLimits = {
  maxInFlight: 10,
  maxQueued: 10,
  maxQueuedBytes: 1_000_000,
  maxAgeMs: 1_000,
};

export function nurseOwner(key: string): SessionOwner {
  return { key, mayReceive: () => true };
}

/** A client's connection, with the messages sent and those not acknowledged. */
export class Connection implements Receiver {
  isWritable = true;
  readonly sent: OutgoingPublish[] = [];
  readonly unacknowledged: OutgoingPublish[] = [];

  send(publish: OutgoingPublish): boolean {
    this.sent.push(publish);
    if (publish.qos === 1) this.unacknowledged.push(publish);
    return true;
  }
}

/** An entry with its number in the payload. */
export function numbered(n: number, topic: string, receivedAtMs = 0): NewCommand {
  const payload = Buffer.from(`{"data":{"n":${n}}}`);
  const id = Buffer.alloc(16);
  id.writeUInt32BE(n);
  return {
    topic,
    payload,
    receivedAtMs,
    locationId: null,
    groupId: null,
    isNeverLate: true,
    commandId: id,
  };
}

/** The number in a message. */
export function numberIn({ payload }: { readonly payload: Buffer }): number {
  return Number(JSON.parse(payload.toString()).data.n);
}

/** What a primary has: entries, and the queue of each destination. */
export interface Stored {
  readonly entries: readonly Entry[];
  readonly queues: ReadonlyMap<string, readonly number[]>;
}

const NO_REASONS = { refused: 0, lost: 0, forbidden: 0, 'too-large': 0 };

export class StoreInMemory implements QueueStore, SessionStore, HistoryStore {
  readonly records = new Map<string, SessionRecord>();
  stored: Stored = { entries: [], queues: new Map() };
  /** What the answers to appends wait for: the store has the entries, and the gateway does not know yet. */
  answer: Promise<unknown> = Promise.resolve();
  /** What the answers to pages wait for. */
  pageAnswer: Promise<unknown> = Promise.resolve();

  append(
    entries: readonly NewEntry[],
    destinations: readonly (readonly string[])[],
    { known, above }: Numbers,
  ): Promise<Appended> {
    const last = this.stored.entries.at(-1)?.sequence ?? 0;
    if (last < known) return Promise.reject(new Error(`WENTBACK ${last}`));
    let next = Math.max(last, above);
    const numbers = entries.map((source, index) => {
      const before = this.stored.entries.find((one) => numberIn(one) === numberIn(source));
      if (before !== undefined) return -before.sequence;
      const entry: Entry = { ...source, log: 'alarms', sequence: ++next, source: undefined };
      const queues = new Map(this.stored.queues);
      for (const key of destinations[index] ?? [])
        queues.set(key, [...(queues.get(key) ?? []), next]);
      this.stored = { entries: [...this.stored.entries, entry], queues };
      return next;
    });
    const backlogs = new Map(Array.from(this.stored.queues, ([key, all]) => [key, all.length]));
    return this.answer.then(() => ({ numbers, backlogs }));
  }

  page(key: string, after: number, count: number): Promise<QueuePage> {
    const left = (this.stored.queues.get(key) ?? []).filter((number) => number > after);
    const numbers = left.slice(0, count);
    const find = (number: number) =>
      this.stored.entries.find(({ sequence }) => sequence === number) ?? [];
    const entries = numbers.flatMap(find);
    const reached = numbers.at(-1) ?? 0;
    const page = { entries, missing: [], reached, isEnd: left.length <= count };
    return this.pageAnswer.then(() => page);
  }

  settle(settlements: readonly Settlement[]): Promise<number[]> {
    return Promise.resolve(
      settlements.map(({ destination, sequences }) => {
        const queues = new Map(this.stored.queues);
        const left = (queues.get(destination) ?? []).filter((one) => !sequences.includes(one));
        queues.set(destination, left);
        this.stored = { ...this.stored, queues };
        return left.length;
      }),
    );
  }

  expire(key: string): Promise<{ lost: number; queued: number }> {
    return Promise.resolve({ lost: 0, queued: this.stored.queues.get(key)?.length ?? 0 });
  }

  accounts(keys: readonly string[]): Promise<Account[]> {
    const accountOf = (key: string): Account => {
      const queued = this.stored.queues.get(key)?.length ?? 0;
      const counts = { accepted: queued, delivered: 0, expired: 0, dropped: 0 };
      return { ...counts, queued, reasons: NO_REASONS };
    };
    return Promise.resolve(keys.map(accountOf));
  }

  oldestReceivedAtMs(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  load(): Promise<StoredSessions> {
    return Promise.resolve({ sessions: [...this.records.values()], unreadable: [] });
  }

  save(session: SessionRecord): Promise<void> {
    this.records.set(session.key, session);
    return Promise.resolve();
  }

  async mend(session: SessionRecord): Promise<number> {
    await this.save(session);
    return this.stored.queues.get(session.key)?.length ?? 0;
  }

  delete(key: string): Promise<void> {
    this.records.delete(key);
    return Promise.resolve();
  }
}
