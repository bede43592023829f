import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type {
  Appended,
  BatchIdentity,
  BatchStore,
  Destination,
} from '../../../src/delivery/log/batch.js';
import type { LogEntry } from '../../../src/delivery/log/log-entry.js';
import { itemOf, randomTag } from '../../../src/delivery/log/log-entry.js';
import type { AlarmLogItem, NewMessage } from '../../../src/delivery/log/log-item.js';
import { StoreHeadroom } from '../../../src/site/health/store-headroom.js';
import { AlarmLog } from '../../../src/store/alarms/alarm-log.js';
import type { Keys } from '../../../src/store/keys.js';
import { QueueStoreRedis } from '../../../src/store/queue-store-redis.js';
import { Store } from '../../../src/store/store.js';
import { ValueBatches } from '../../../src/store/value-batches.js';

/** Writes into the history and the queues of a real Redis. */
export class StoredLogs {
  readonly alarms: AlarmLog;
  readonly messages: ValueBatches;
  readonly queues: QueueStoreRedis;

  constructor(redis: Redis, keys: Keys, log?: Logger) {
    const [writer, reader] = [new Store(redis), new Store(redis)];
    const headroom = new StoreHeadroom();
    this.alarms = new AlarmLog({ writer, reader, headroom }, keys, log);
    this.messages = new ValueBatches(writer, keys, headroom);
    this.queues = new QueueStoreRedis({ store: writer, reader }, keys, this.alarms, Date.now);
  }

  /** Appends alarms and state changes, each run of alarms as a batch. */
  async append(items: readonly AlarmLogItem[], ...destinations: string[]): Promise<Appended[]> {
    const batches: AlarmLogItem[][] = [];
    for (const item of items) {
      const last = batches.at(-1);
      if ('alarm' in item && last?.every((one) => 'alarm' in one) === true) last.push(item);
      else batches.push([item]);
    }
    const appended: Appended[] = [];
    for (const batch of batches) {
      appended.push(...(await appendTo(this.alarms, batch, destinations)));
    }
    return appended;
  }

  appendMessages(messages: readonly NewMessage[], ...destinations: string[]): Promise<Appended[]> {
    return appendTo(this.messages, messages, destinations);
  }

  read(afterSequence: number, count: number): Promise<LogEntry[]> {
    return this.alarms.read(afterSequence, count);
  }

  pick(sequences: readonly number[]): Promise<LogEntry[]> {
    return this.queues.pickAlarms(sequences.map((sequence) => itemOf(sequence, 0)));
  }

  lastSequence(): Promise<number> {
    return this.alarms.lastSequence();
  }
}

/** The identity of a new batch. */
export function newIdentity(): BatchIdentity {
  return { id: randomUUID(), tag: randomTag(), after: 0 };
}

async function appendTo<Item extends NewMessage>(
  store: BatchStore<Item>,
  items: readonly Item[],
  names: readonly string[],
): Promise<Appended[]> {
  const destinations: readonly Destination[] = names.map((key) => ({ key }));
  const batch = await store.freeze(items, () => destinations, newIdentity());
  const written = await batch.write();
  if ('unusable' in written) throw new Error(`unusable: ${written.unusable.join(', ')}`);
  return [...written.appended];
}
