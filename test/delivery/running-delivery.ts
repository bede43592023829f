import {
  BacklogBounds,
  type BacklogBoundsOptions,
} from '../../src/delivery/backlog/backlog-bounds.js';
import { countBacklogs, markBacklogs } from '../../src/delivery/backlog/backlog-count.js';
import { Upkeep } from '../../src/delivery/backlog/upkeep.js';
import type { Consumer } from '../../src/delivery/consumer.js';
import { Deliveries } from '../../src/delivery/deliveries.js';
import type { ConsumerLimits } from '../../src/delivery/limits.js';
import {
  LOG_NAMES,
  type LogName,
  type LogReader,
  type NewMessage,
} from '../../src/delivery/log/log-entry.js';
import type { OutgoingPublish, Receiver } from '../../src/delivery/receiver.js';
import {
  type RequestedSubscription,
  type SessionOwner,
  sessionKey,
} from '../../src/delivery/sessions/session.js';
import type { SessionStore } from '../../src/delivery/sessions/session-store.js';
import { Sessions } from '../../src/delivery/sessions/sessions.js';
import { createLog } from '../../src/logging/log.js';
import { ArrayLogs, type TestLogs } from './array-logs.js';
import { MemorySessions } from './memory-sessions.js';

export const silent = createLog({ level: 'silent', destination: { write: () => undefined } });

export const LIMITS: ConsumerLimits = {
  maxInFlight: 10,
  maxQueued: 10_000,
  maxQueuedBytes: 1_000_000,
  maxAgeMs: 1_000,
};

/** A client's connection, with the messages sent and those not acknowledged. */
export class Connection implements Receiver {
  isWritable = true;
  readonly sent: OutgoingPublish[] = [];
  readonly unacknowledged: OutgoingPublish[] = [];

  send(publish: OutgoingPublish): void {
    this.sent.push(publish);
    if (publish.qos === 1) this.unacknowledged.push(publish);
  }
}

export interface RunningDeliveryOptions {
  readonly logs: TestLogs;
  /** The reader of the consumers; slower or more faulty than the logs themselves. */
  readonly reader: LogReader;
  readonly store: SessionStore;
  readonly ownerOf: (key: string) => SessionOwner;
  readonly limits: ConsumerLimits;
  readonly now: () => number;
  readonly bounds: Partial<
    Pick<BacklogBoundsOptions, 'maxLogBytes' | 'maxBytesOf' | 'leftInStore'>
  >;
}

/** One run of the delivery, started like the gateway: everything but brokers and bridges. */
export class RunningDelivery {
  readonly deliveries: Deliveries;
  readonly sessions: Sessions;
  readonly upkeep: Upkeep;
  readonly #options: RunningDeliveryOptions;

  private constructor(options: RunningDeliveryOptions, last: Record<LogName, number>) {
    const { logs, reader, store, ownerOf, limits, now } = options;
    this.#options = options;
    this.deliveries = new Deliveries({
      onLost: () => undefined,
      onWentBack: () => undefined,
      newest: last,
      ...{ reader, now, log: silent },
      elapsedSinceMs: () => 0,
    });
    this.sessions = new Sessions({
      ...{ store, ownerOf, limits, now, log: silent },
      deliveries: this.deliveries,
      forgetAfterMs: 1e12,
    });
    const { deliveries, sessions } = this;
    const bounds = new BacklogBounds({
      ...{ logs, maxLogBytes: 1e12, maxBytesOf: () => undefined, leftInStore: () => 1e12 },
      ...options.bounds,
      byOwner: () => sessions.backlogsByOwner(),
    });
    this.upkeep = new Upkeep({ logs, deliveries, sessions, bounds, log: silent });
  }

  static async begin(options: Partial<RunningDeliveryOptions> = {}): Promise<RunningDelivery> {
    const logs = options.logs ?? new ArrayLogs();
    const delivery = new RunningDelivery(
      {
        ...{ logs, reader: logs, store: new MemorySessions(), now: () => 0 },
        ...{ limits: LIMITS, ownerOf: nurseOwner, bounds: {} },
        ...options,
      },
      {
        alarms: await logs.lastSequence('alarms'),
        messages: await logs.lastSequence('messages'),
      },
    );
    const { countedUpTo } = await delivery.sessions.start();
    await countBacklogs(delivery.deliveries, logs, countedUpTo);
    return delivery;
  }

  /** The gateway does so in the background. */
  async markBacklogs(): Promise<void> {
    const { signal } = new AbortController();
    await markBacklogs(this.deliveries, this.#options.logs, signal);
  }

  /** Appends, then announces, as the log writer does. Resolves to the sequence numbers. */
  async append(log: LogName, items: readonly NewMessage[]): Promise<number[]> {
    const appended = await this.#options.logs.append(log, items);
    await this.deliveries.announce(
      items.map(({ received: _received, ...item }, index) => {
        const { sequence = 0, isNew = false } = appended[index] ?? {};
        return { entry: { ...item, log, sequence }, isNew };
      }),
    );
    return appended.map(({ sequence }) => sequence);
  }

  /** A consumer with a persistent session of these filters, at QoS 1. */
  async subscribed(name: string, ...filters: readonly string[]): Promise<Consumer> {
    const { consumer } = this.sessions.open(name, this.#options.ownerOf(name), true);
    await this.subscribe(
      name,
      filters.map((filter) => ({ filter, qos: 1 as const })),
    );
    return consumer;
  }

  subscribe(name: string, requested: readonly RequestedSubscription[]): Promise<void> {
    return this.sessions.subscribe(this.#keyOf(name), requested);
  }

  unsubscribe(name: string, filters: readonly string[]): Promise<void> {
    return this.sessions.unsubscribe(this.#keyOf(name), filters);
  }

  #keyOf(name: string): string {
    return sessionKey(this.#options.ownerOf(name).key, name);
  }

  consumer(name: string): Consumer {
    const consumer = this.sessions.get(this.#keyOf(name))?.consumer;
    if (consumer === undefined) throw new Error(`no session ${name}`);
    return consumer;
  }

  /** Empties the tails: older entries must be read from the store. */
  forgetTails(): void {
    for (const log of LOG_NAMES) {
      const tail = this.deliveries.tails[log];
      tail.restart(tail.last);
    }
  }

  /** Resolves when all pending work is done. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await this.#options.logs.idle();
  }

  async keep(): Promise<void> {
    await this.upkeep.keep();
  }
}

export function nurseOwner(key: string): SessionOwner {
  return { key, mayReceive: () => true, audienceKey: '' };
}

/** An item with its number in the payload, of about as many bytes as wanted. */
export function numbered(n: number, topic: string, receivedAtMs = 0, bytes = 0): NewMessage {
  const payload = Buffer.from(`{"data":{"n":${n}}}`.padEnd(bytes));
  return { topic, payload, receivedAtMs, locationId: null, groupId: null };
}

/** The number in a sent message. */
export function numberIn({ payload }: { readonly payload: Buffer }): number {
  return Number(JSON.parse(payload.toString()).data.n);
}
