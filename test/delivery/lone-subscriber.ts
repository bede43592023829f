import type { LogName } from '../../src/delivery/log/log-entry.js';
import { ArrayLogs } from './array-logs.js';
import { MemorySessions } from './memory-sessions.js';
import { Connection, LIMITS, numbered, numberIn, RunningDelivery } from './running-delivery.js';

/** A running delivery with one subscriber, whose alarms are numbered from 1. */
export class LoneSubscriber {
  readonly logs = new ArrayLogs();
  readonly store = new MemorySessions();
  readonly delivery: RunningDelivery;
  readonly #limits: object;
  /** When what is appended now was received. */
  nowMs = 0;
  #numbers = 0;

  private constructor(
    delivery: RunningDelivery,
    logs: ArrayLogs,
    store: MemorySessions,
    limits: object,
  ) {
    this.delivery = delivery;
    this.logs = logs;
    this.store = store;
    this.#limits = limits;
  }

  static async of(filter: string, limits: object = {}): Promise<LoneSubscriber> {
    const [logs, store] = [new ArrayLogs(), new MemorySessions()];
    const delivery = await RunningDelivery.begin({ logs, store, limits: { ...LIMITS, ...limits } });
    await delivery.subscribed('nurse', filter);
    return new LoneSubscriber(delivery, logs, store, limits);
  }

  /** The same store, after a start. */
  async started(): Promise<LoneSubscriber> {
    const { logs, store } = this;
    const delivery = await RunningDelivery.begin({
      logs,
      store,
      limits: { ...LIMITS, ...this.#limits },
    });
    const lone = new LoneSubscriber(delivery, logs, store, this.#limits);
    lone.#numbers = this.#numbers;
    return lone;
  }

  get nurse() {
    return this.delivery.consumer('nurse');
  }

  async append(topic: string, count = 1, log: LogName = 'alarms'): Promise<void> {
    const items = Array.from({ length: count }, () => numbered(++this.#numbers, topic, this.nowMs));
    await this.delivery.append(log, items);
  }

  async connected(): Promise<Connection> {
    const connection = new Connection();
    this.nurse.connect(connection);
    await this.delivery.settled();
    return connection;
  }

  /** Acknowledges everything that is sent, in its order, until nothing more is. */
  async acknowledgeAll(connection: Connection): Promise<void> {
    for (let at = 0; at < connection.sent.length; at++) {
      this.nurse.acknowledge(connection.sent[at]?.messageId ?? 0);
      await this.delivery.settled();
    }
  }
}

export function seenOn({ sent }: Connection): number[] {
  return sent.map(numberIn);
}

export function alarm(device: string): string {
  return `care-homes/l/devices/${device}/alarms/fall`;
}
