import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Appended, LogEntry, LogName, NewMessage } from '../../src/delivery/log/log-entry.js';
import { deviceContext } from '../../src/domain/messages.js';
import { parseForwardedTopic } from '../../src/domain/topics.js';
import { Keys } from '../../src/store/keys.js';
import { LogStore } from '../../src/store/log-store.js';
import { Store } from '../../src/store/store.js';
import type { TestLogs } from './array-logs.js';

let sites = 0;

/** The gateway's own logs in a real Redis, under a site of their own. */
export class RedisLogs implements TestLogs {
  readonly #store: LogStore;
  readonly #redis: Redis;

  constructor(redis: Redis) {
    sites++;
    this.#redis = redis;
    this.#store = new LogStore(new Store(redis), new Store(redis), new Keys(`site-${sites}`));
  }

  append(log: LogName, items: readonly NewMessage[]): Promise<Appended[]> {
    if (log === 'messages') return this.#store.messages.append(items);
    return this.#store.alarms.append(
      items.map((item) => ({
        ...item,
        alarm: alarmOf(item),
        context: contextOf(item.topic),
        wallReceivedAtMs: 0,
        receipt: undefined,
        isSent: false,
      })),
    );
  }

  read(log: LogName, afterSequence: number, count: number): Promise<LogEntry[]> {
    return this.#store.read(log, afterSequence, count);
  }

  pick(log: LogName, sequences: readonly number[]): Promise<LogEntry[]> {
    return this.#store.pick(log, sequences);
  }

  lastSequence(log: LogName): Promise<number> {
    return this.#store.lastSequence(log);
  }

  trimMessages(upToSequence: number): Promise<void> {
    return this.#store.trimMessages(upToSequence);
  }

  messageBytes(): Promise<number> {
    return this.#store.messageBytes();
  }

  messageCount(): Promise<number> {
    return this.#store.messageCount();
  }

  removeMessages(sequences: readonly number[]): Promise<void> {
    return this.#store.removeMessages(sequences);
  }

  /** Waits for one more answer: answers come in the order of the requests. */
  async idle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await this.#redis.ping();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** An alarm whose rendering has the same number as the payload. */
function alarmOf({ payload }: NewMessage) {
  return {
    id: randomUUID(),
    kind: 'fall' as const,
    detectedAtMs: 0,
    reportedAt: undefined,
    footage: {},
    data: JSON.stringify(JSON.parse(payload.toString()).data),
    idIsStable: true,
  };
}

/** The context of the device and location in the topic, under which the alarm is read again. */
function contextOf(topic: string) {
  const parsed = parseForwardedTopic(topic);
  if (parsed === undefined) throw new Error(`no device in ${topic}`);
  const location = { id: parsed.locationId, name: 'Haus am See', order: 1 };
  const device = {
    ...{ id: parsed.deviceId, name: 'Bett 1', locationId: location.id, roomId: null },
    ...{ customData: '{}', order: 1, createdAtMs: 0, secretHash: '', limits: {} },
  };
  return deviceContext(device, location, null, null);
}
