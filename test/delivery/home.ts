import type { LogName } from '../../src/delivery/log-entry.js';
import { ArrayLogs } from './array-logs.js';
import { MemorySessions } from './memory-sessions.js';
import { Connection, LIMITS, numbered, numberIn, World } from './world.js';

/** A world with one subscriber, whose alarms are numbered from 1. */
export class Home {
  readonly logs = new ArrayLogs();
  readonly store = new MemorySessions();
  readonly world: World;
  readonly #limits: object;
  /** When what is appended now was received. */
  nowMs = 0;
  #numbers = 0;

  private constructor(world: World, logs: ArrayLogs, store: MemorySessions, limits: object) {
    this.world = world;
    this.logs = logs;
    this.store = store;
    this.#limits = limits;
  }

  static async of(filter: string, limits: object = {}): Promise<Home> {
    const [logs, store] = [new ArrayLogs(), new MemorySessions()];
    const world = await World.begin({ logs, store, limits: { ...LIMITS, ...limits } });
    await world.subscribed('nurse', filter);
    return new Home(world, logs, store, limits);
  }

  /** The same store, after a start. */
  async started(): Promise<Home> {
    const { logs, store } = this;
    const world = await World.begin({ logs, store, limits: { ...LIMITS, ...this.#limits } });
    const home = new Home(world, logs, store, this.#limits);
    home.#numbers = this.#numbers;
    return home;
  }

  get nurse() {
    return this.world.consumer('nurse');
  }

  async append(topic: string, count = 1, log: LogName = 'alarms'): Promise<void> {
    const items = Array.from({ length: count }, () => numbered(++this.#numbers, topic, this.nowMs));
    await this.world.append(log, items);
  }

  async connected(): Promise<Connection> {
    const connection = new Connection();
    this.nurse.connect(connection);
    await this.world.settled();
    return connection;
  }

  /** Acknowledges everything that is sent, in its order, until nothing more is. */
  async acknowledgeAll(connection: Connection): Promise<void> {
    for (let at = 0; at < connection.sent.length; at++) {
      this.nurse.acknowledge(connection.sent[at]?.messageId ?? 0);
      await this.world.settled();
    }
  }
}

export function seenOn({ sent }: Connection): number[] {
  return sent.map(numberIn);
}

export function alarm(device: string): string {
  return `care-homes/l/devices/${device}/alarms/fall`;
}
