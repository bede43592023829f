import {
  BacklogBounds,
  type BacklogBoundsOptions,
} from '../../src/delivery/backlog/backlog-bounds.js';
import { backlogsByOwner } from '../../src/delivery/backlog/session-backlogs.js';
import { Upkeep } from '../../src/delivery/backlog/upkeep.js';
import type { Consumer } from '../../src/delivery/consumer.js';
import type { ConsumerLimits } from '../../src/delivery/consumer-options.js';
import { Deliveries } from '../../src/delivery/deliveries.js';
import type { Appended, BatchStore } from '../../src/delivery/log/batch.js';
import { itemOf, type LogName } from '../../src/delivery/log/log-entry.js';
import type { NewMessage } from '../../src/delivery/log/log-item.js';
import { AccountReader } from '../../src/delivery/queues/account-reader.js';
import type { OutgoingPublish, Receiver } from '../../src/delivery/receiver.js';
import { PERSISTENT, type SessionOwner, sessionKey } from '../../src/delivery/sessions/session.js';
import { Sessions } from '../../src/delivery/sessions/sessions.js';
import type { Subscription } from '../../src/delivery/sessions/subscriptions.js';
import { createLog } from '../../src/logging/log.js';
import { QueuesInMemory } from './queues-in-memory.js';

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

  send(publish: OutgoingPublish): boolean {
    this.sent.push(publish);
    if (publish.qos === 1) this.unacknowledged.push(publish);
    return true;
  }
}

export interface RunningDeliveryOptions {
  readonly queues: QueuesInMemory;
  readonly ownerOf: (key: string) => SessionOwner;
  readonly limits: ConsumerLimits;
  readonly now: () => number;
  readonly bounds: Partial<Pick<BacklogBoundsOptions, 'maxBytes' | 'maxBytesOf' | 'leftInStore'>>;
}

/** One run of delivery, started like the gateway: everything except brokers and bridges. */
export class RunningDelivery {
  readonly queues: QueuesInMemory;
  readonly deliveries: Deliveries;
  readonly sessions: Sessions;
  readonly accounts: AccountReader;
  readonly upkeep: Upkeep;
  /** The numbers of the alarms that the store has lost, each time. */
  readonly wentBack: [from: number, to: number][] = [];
  readonly #options: RunningDeliveryOptions;
  readonly #bounds: BacklogBounds;
  readonly #last: Record<LogName, number> = { alarms: 0, messages: 0 };
  #tag = 0;

  private constructor(options: RunningDeliveryOptions) {
    const { queues, ownerOf, limits, now } = options;
    this.#options = options;
    this.queues = queues;
    this.deliveries = new Deliveries({
      newestAlarm: 0,
      mend: (key) => this.sessions.mend(key),
      onLost: () => undefined,
      onBehind: () => this.checked(),
      onWentBack: (from, to) => this.wentBack.push([from, to]),
      queues,
      now,
      log: silent,
      elapsedSinceMs: () => 0,
    });
    this.sessions = new Sessions({
      store: queues,
      ownerOf,
      limits,
      now,
      log: silent,
      deliveries: this.deliveries,
      forgetAfterMs: 1e12,
    });
    this.accounts = new AccountReader(this.deliveries, queues);
    const { deliveries, sessions, accounts } = this;
    this.#bounds = new BacklogBounds({
      maxBytes: 1e12,
      maxBytesOf: () => undefined,
      leftInStore: () => 1e12,
      ...options.bounds,
      byOwner: () => backlogsByOwner(sessions),
    });
    const onAccounts = () => undefined;
    const bounds = this.#bounds;
    const newestAlarm = () => Promise.resolve(this.#last.alarms);
    const onWentBack = () => this.checked();
    this.upkeep = new Upkeep({
      deliveries,
      sessions,
      accounts,
      bounds,
      newestAlarm,
      onWentBack,
      onAccounts,
      log: silent,
    });
  }

  static async begin(options: Partial<RunningDeliveryOptions> = {}): Promise<RunningDelivery> {
    const delivery = new RunningDelivery({
      queues: new QueuesInMemory(),
      now: () => 0,
      limits: LIMITS,
      ownerOf: nurseOwner,
      bounds: {},
      ...options,
    });
    await delivery.sessions.start();
    return delivery;
  }

  /** Loses everything numbered after this, and gives those numbers out again. */
  goBack(log: LogName, last: number): void {
    this.#last[log] = last;
    this.queues.lose(log, last);
  }

  /** Does what the writer does when it finds alarms lost, but does not store them again. */
  checked(): void {
    this.deliveries.wentBack(this.#last.alarms);
  }

  /** Pushes onto the queues, then announces, as the log writer does. Resolves to the numbers. */
  append(log: LogName, items: readonly NewMessage[]): number[] {
    if (log === 'alarms') this.checked();
    const touched = new Set<string>();
    const announced = items.map(({ received: _received, ...item }) => {
      const sequence = ++this.#last[log];
      const entry = { ...item, log, sequence, item: itemOf(sequence, this.#tag++) };
      const destinations = this.deliveries.destinationsOf(log, item);
      const keys = destinations.map(({ key }) => key);
      this.queues.push(entry, keys);
      for (const key of keys) touched.add(key);
      return { entry, isNew: true, destinations };
    });
    this.deliveries.announce(announced);
    this.deliveries.noteBacklogs(
      new Map(Array.from(touched, (key) => [key, this.queues.backlogOf(key)] as const)),
    );
    return announced.map(({ entry }) => entry.sequence);
  }

  /** Pushes an alarm onto the queues as another gateway would: this one does not hear of it. */
  appendElsewhere(item: NewMessage): void {
    const sequence = ++this.#last.alarms;
    const entry = {
      ...item,
      log: 'alarms',
      sequence,
      item: itemOf(sequence, this.#tag++),
    } as const;
    const keys = this.deliveries.destinationsOf('alarms', item).map(({ key }) => key);
    this.queues.push(entry, keys);
  }

  /** A consumer with a persistent session of these filters, at QoS 1. */
  async subscribed(name: string, ...filters: readonly string[]): Promise<Consumer> {
    const { consumer } = this.sessions.open(name, this.#options.ownerOf(name), PERSISTENT);
    await this.subscribe(
      name,
      filters.map((filter) => ({ filter, qos: 1 as const })),
    );
    return consumer;
  }

  subscribe(name: string, requested: readonly Subscription[]): Promise<void> {
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

  /** Resolves when all pending work is done. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async bound(): Promise<void> {
    await this.#bounds.keep();
  }

  async keep(): Promise<void> {
    await this.upkeep.keep();
  }
}

export function nurseOwner(key: string): SessionOwner {
  return { key, mayReceive: () => true };
}

/** A store of batches whose answers the test decides. */
export function batchesOf<Item extends NewMessage>(
  append: (items: readonly Item[]) => Promise<readonly Appended[]>,
): BatchStore<Item> {
  return {
    freeze: (items, destinationsOf) =>
      Promise.resolve({
        destinations: items.map(destinationsOf),
        write: async () => ({ appended: await append(items), backlogs: new Map() }),
      }),
  };
}

/** An item with its number in the payload, padded to at least this many bytes. */
export function numbered(n: number, topic: string, receivedAtMs = 0, bytes = 0): NewMessage {
  const payload = Buffer.from(`{"data":{"n":${n}}}`.padEnd(bytes));
  return { topic, payload, receivedAtMs, locationId: null, groupId: null };
}

/** The number in a sent message. */
export function numberIn({ payload }: { readonly payload: Buffer }): number {
  return Number(JSON.parse(payload.toString()).data.n);
}
