import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { LogEntry, LogName } from '../../src/delivery/log-entry.js';
import { deviceContext } from '../../src/domain/messages.js';
import { Keys } from '../../src/store/keys.js';
import { LogStore } from '../../src/store/log-store.js';
import type { TestLogs } from './world.js';

const location = { id: randomUUID(), name: 'Haus am See', order: 1 };
const device = {
  id: randomUUID(),
  name: 'Bett 1',
  locationId: location.id,
  roomId: null,
  customData: '{}',
  order: 1,
  createdAtMs: 0,
  secretHash: '',
};
const context = deviceContext(device, location, null, null);

let sites = 0;

/** The gateway's own logs in a real Redis, under a site of their own. */
export class RedisLogs implements TestLogs {
  readonly #store: LogStore;
  readonly #redis: Redis;
  readonly #last: Record<LogName, number> = { alarms: 0, messages: 0 };

  constructor(redis: Redis) {
    sites++;
    this.#redis = redis;
    this.#store = new LogStore(redis, redis, new Keys(`site-${sites}`));
  }

  async append(log: LogName, topic: string, receivedAtMs: number): Promise<LogEntry> {
    this.#last[log]++;
    const payload = Buffer.from(`{"n":${this.#last[log]}}`);
    const message = { topic, payload, receivedAtMs };
    const { entry } = await (log === 'alarms'
      ? this.#store.recordAlarm({
          ...message,
          steadyAtMs: receivedAtMs,
          alarm: newAlarm(),
          context,
          receipt: undefined,
        })
      : this.#store.appendMessage({ ...message, locationId: null, groupId: null }));
    return entry;
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

  trim(log: LogName, upToSequence: number): Promise<void> {
    return this.#store.trim(log, upToSequence);
  }

  /** Answers come in the order of the questions. */
  async idle(): Promise<void> {
    await this.#redis.ping();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function newAlarm() {
  return {
    id: randomUUID(),
    kind: 'fall' as const,
    detectedAtMs: 0,
    reportedAt: undefined,
    footage: {},
    data: undefined,
    idIsStable: true,
  };
}
