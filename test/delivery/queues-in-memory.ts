import type { LogEntry, LogName, Tail } from '../../src/delivery/log/log-entry.js';
import type {
  Account,
  Accounts,
  Backlog,
  Bounded,
  DropReason,
  MessageRange,
  QueueBounds,
  QueuePage,
  QueueStore,
  Settlement,
} from '../../src/delivery/queues/queue-store.js';
import type {
  SessionRecord,
  SessionStore,
  StoredSessions,
} from '../../src/delivery/sessions/session-store.js';

type Counts = { accepted: number; delivered: number; expired: number; dropped: number } & {
  reasons: Record<DropReason, number>;
};

interface Queue {
  entries: LogEntry[];
  readonly counts: Counts;
}

/** Keeps sessions and their queues in memory: it keeps the promises of the ports and nothing else. */
export class QueuesInMemory implements QueueStore, SessionStore {
  readonly records = new Map<string, SessionRecord>();
  readonly released: number[] = [];
  isAway = false;
  /** How often a page was read. */
  reads = 0;
  readonly #queues = new Map<string, Record<LogName, Queue>>();
  #lastAlarm = 0;

  /** Pushes an entry onto the queues of these destinations. */
  push(entry: LogEntry, destinations: readonly string[]): void {
    if (entry.log === 'alarms') this.#lastAlarm = entry.sequence;
    for (const key of destinations) {
      const queue = this.#queueOf(key, entry.log);
      queue.entries.push(entry);
      queue.counts.accepted++;
    }
  }

  /** Loses everything numbered after this. */
  lose(log: LogName, last: number): void {
    if (log === 'alarms') this.#lastAlarm = last;
    for (const queues of this.#queues.values()) {
      const { entries, counts } = queues[log];
      queues[log].entries = entries.filter(({ sequence }) => sequence <= last);
      counts.accepted -= entries.length - queues[log].entries.length;
    }
  }

  backlogOf(key: string): Backlog {
    const [alarms, messages] = [this.#queueOf(key, 'alarms'), this.#queueOf(key, 'messages')];
    const messageBytes = messages.entries.reduce((sum, { payload }) => sum + payload.length, 0);
    return { alarms: alarms.entries.length, messages: messages.entries.length, messageBytes };
  }

  page(log: LogName, key: string, after: number, count: number, tail?: Tail): Promise<QueuePage> {
    this.reads++;
    if (log === 'alarms' && tail !== undefined && this.#lastAlarm < tail.last) {
      return Promise.reject(new Error(`WENTBACK ${this.#lastAlarm}`));
    }
    const left = this.#queueOf(key, log).entries.filter(({ item }) => item > after);
    const entries = left.slice(0, count);
    return this.#answer({ entries, missing: [], isEnd: left.length < count });
  }

  pickAlarms(items: readonly number[]): Promise<LogEntry[]> {
    const all = [...this.#queues.values()].flatMap(({ alarms }) => alarms.entries);
    return this.#answer(items.flatMap((item) => all.find((entry) => entry.item === item) ?? []));
  }

  settle(settlements: readonly Settlement[]): Promise<Backlog[]> {
    return this.#answer(
      settlements.map(({ destination, log, outcome, items }) => {
        const queue = this.#queueOf(destination, log);
        const before = queue.entries.length;
        const settled = new Set(items.map(({ item }) => item));
        queue.entries = queue.entries.filter(({ item }) => !settled.has(item));
        const removed = before - queue.entries.length;
        if (outcome === 'delivered') queue.counts.delivered += removed;
        else if (outcome === 'expired') queue.counts.expired += removed;
        else {
          queue.counts.dropped += removed;
          queue.counts.reasons[outcome] += removed;
        }
        return this.backlogOf(destination);
      }),
    );
  }

  keepBounds(key: string, bounds: QueueBounds, { after, upTo }: MessageRange): Promise<Bounded> {
    for (const log of ['alarms', 'messages'] as const) {
      const queue = this.#queueOf(key, log);
      const young = queue.entries.filter(({ receivedAtMs }) => receivedAtMs >= bounds.oldestMs);
      queue.counts.expired += queue.entries.length - young.length;
      queue.entries = young;
    }
    const messages = this.#queueOf(key, 'messages');
    let { messageBytes } = this.backlogOf(key);
    let dropped = 0;
    while (
      messages.entries.length - dropped > bounds.maxMessages ||
      messageBytes > bounds.maxMessageBytes
    ) {
      messageBytes -= messages.entries[dropped]?.payload.length ?? 0;
      dropped++;
    }
    const kept = messages.entries.filter(({ item, sequence }) => {
      const stays = item <= after || sequence > upTo || dropped <= 0;
      if (!stays) dropped--;
      return stays;
    });
    messages.counts.dropped += messages.entries.length - kept.length;
    messages.entries = kept;
    return this.#answer({ lost: 0, backlog: this.backlogOf(key), hasMore: false });
  }

  accounts(destinations: readonly string[]): Promise<Accounts[]> {
    return this.#answer(
      destinations.map((key) => ({
        alarms: accountOf(this.#queueOf(key, 'alarms')),
        messages: accountOf(this.#queueOf(key, 'messages')),
      })),
    );
  }

  oldestReceivedAtMs(key: string): Promise<number | undefined> {
    const all = [this.#queueOf(key, 'alarms'), this.#queueOf(key, 'messages')];
    const times = all.flatMap(({ entries }) => entries[0]?.receivedAtMs ?? []);
    return this.#answer(times.length === 0 ? undefined : Math.min(...times));
  }

  load(): Promise<StoredSessions> {
    const sessions = Array.from(this.records.values(), (record) => ({ ...record, received: [] }));
    return this.#answer({ sessions, unreadable: [] });
  }

  async save(session: SessionRecord): Promise<void> {
    await this.#answer(undefined);
    this.records.set(session.key, session);
  }

  async mend(session: SessionRecord): Promise<Backlog> {
    await this.save(session);
    return this.backlogOf(session.key);
  }

  release(_key: string, packetIdentifiers: readonly number[]): Promise<void> {
    this.released.push(...packetIdentifiers);
    return Promise.resolve();
  }

  delete(key: string): Promise<void> {
    this.records.delete(key);
    this.#queues.delete(key);
    return Promise.resolve();
  }

  #answer<T>(answer: T): Promise<T> {
    return this.isAway ? Promise.reject(new Error('the store is away')) : Promise.resolve(answer);
  }

  #queueOf(key: string, log: LogName): Queue {
    const queues = this.#queues.get(key) ?? { alarms: emptyQueue(), messages: emptyQueue() };
    this.#queues.set(key, queues);
    return queues[log];
  }
}

function emptyQueue(): Queue {
  const reasons = { refused: 0, lost: 0, forbidden: 0, 'too-large': 0 };
  return { entries: [], counts: { accepted: 0, delivered: 0, expired: 0, dropped: 0, reasons } };
}

function accountOf({ entries, counts }: Queue): Account {
  return { ...counts, reasons: { ...counts.reasons }, queued: entries.length };
}
