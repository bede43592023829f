import type {
  ConnectionPage,
  ConnectionPosition,
  ConnectionView,
} from '../../site/access/connection-list.js';
import { limitKey } from '../budgets/budgets.js';
import type { Connection } from '../connection.js';
import { VERSION_NAMES } from '../wire/client-terms.js';

/** A connection as the list shows it, without the time it was opened. */
type Shown = () => Omit<ConnectionView, 'sinceMs'>;

interface Opened {
  /** Undefined for an event stream. */
  readonly connection: Connection | undefined;
  readonly shown: Shown;
  /** Rises by one with each connection. */
  readonly number: number;
  readonly sinceMs: number;
}

/** Connections whose CONNACK is sent, and event streams. */
export class OpenConnections {
  readonly #bySession = new Map<string, Opened>();
  readonly #now: () => number;
  #lastNumber = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#bySession.size;
  }

  /** @param key `sessionKey` */
  get(key: string): Connection | undefined {
    return this.#bySession.get(key)?.connection;
  }

  all(): Connection[] {
    return [...this.#bySession.values()].flatMap(({ connection }) => connection ?? []);
  }

  add(connection: Connection): void {
    this.#open(connection.session.key, connection, () => viewOf(connection));
  }

  /**
   * Adds an event stream.
   *
   * @param key `sessionKey`
   */
  addStream(key: string, shown: Shown): void {
    this.#open(key, undefined, shown);
  }

  /** Removes an event stream. */
  removeStream(key: string): void {
    this.#bySession.delete(key);
  }

  /** Removes the connection, unless another one has taken over its session. */
  remove(connection: Connection): void {
    const { key } = connection.session;
    if (this.get(key) === connection) this.#bySession.delete(key);
  }

  /** A page of the open connections, in the order in which they were opened. */
  page(limit: number, from?: ConnectionPosition): ConnectionPage {
    const { after, upTo } = from ?? { after: 0, upTo: this.#lastNumber };
    const found: Opened[] = [];
    for (const opened of this.#bySession.values()) {
      if (opened.number <= after) continue;
      if (opened.number > upTo || found.length > limit) break;
      found.push(opened);
    }
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const next = found.length > limit && last ? { after: last.number, upTo } : undefined;
    const connections = shown.map((opened) => ({ ...opened.shown(), sinceMs: opened.sinceMs }));
    return { connections, next };
  }

  #open(key: string, connection: Connection | undefined, shown: Shown): void {
    // Moves it to the end, so that the map is in the order of the numbers.
    this.#bySession.delete(key);
    this.#lastNumber++;
    const opened = { connection, shown, number: this.#lastNumber, sinceMs: this.#now() };
    this.#bySession.set(key, opened);
  }
}

function viewOf(connection: Connection): ReturnType<Shown> {
  const { principal, address, keepAliveMs, protocol, terms, consumer } = connection;
  const { alarms = 0, messages = 0 } = consumer?.queued ?? {};
  const { slowed } = connection;
  return {
    clientId: connection.session.clientId,
    principal: { type: principal.type === 'device' ? 'device' : 'access-token', id: principal.id },
    address,
    protocol,
    mqttVersion: VERSION_NAMES[terms.version],
    keepAliveSeconds: keepAliveMs / 1_000,
    backlog: { alarms, messages },
    slowed:
      slowed === undefined ? null : { sinceMs: slowed.sinceMs, limit: limitKey(slowed.limit) },
  };
}
