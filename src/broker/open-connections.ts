import type {
  ConnectionPage,
  ConnectionPosition,
  ConnectionView,
} from '../site/connection-list.js';
import { limitKey } from './budgets.js';
import type { Connection } from './connection.js';

interface Opened {
  readonly connection: Connection;
  /** Rises by one with each connection. */
  readonly number: number;
  readonly sinceMs: number;
}

/** Connections whose CONNACK is sent, by client id. */
export class OpenConnections {
  readonly #byClientId = new Map<string, Opened>();
  readonly #now: () => number;
  #lastNumber = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#byClientId.size;
  }

  get(clientId: string): Connection | undefined {
    return this.#byClientId.get(clientId)?.connection;
  }

  all(): Connection[] {
    return [...this.#byClientId.values()].map(({ connection }) => connection);
  }

  add(connection: Connection): void {
    const { id } = connection.client;
    // To the end, so that the order of the map is that of the numbers.
    this.#byClientId.delete(id);
    this.#lastNumber++;
    const opened = { connection, number: this.#lastNumber, sinceMs: this.#now() };
    this.#byClientId.set(id, opened);
  }

  /** Removes the connection, unless another one has taken its client id over. */
  remove(connection: Connection): void {
    const { id } = connection.client;
    if (this.get(id) === connection) this.#byClientId.delete(id);
  }

  /** A page of the open connections, in the order in which they were opened. */
  page(limit: number, from?: ConnectionPosition): ConnectionPage {
    const { after, upTo } = from ?? { after: 0, upTo: this.#lastNumber };
    const found: Opened[] = [];
    for (const opened of this.#byClientId.values()) {
      if (opened.number <= after) continue;
      if (opened.number > upTo || found.length > limit) break;
      found.push(opened);
    }
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const next = found.length > limit && last ? { after: last.number, upTo } : undefined;
    return { connections: shown.map(viewOf), next };
  }
}

function viewOf({ connection, sinceMs }: Opened): ConnectionView {
  const { client, principal, address, keepAliveMs, protocol, mqttVersion, consumer } = connection;
  const { alarms, messages } = consumer.cursors;
  const { slowed } = connection;
  return {
    clientId: client.id,
    principal: { type: principal.type === 'device' ? 'device' : 'access-token', id: principal.id },
    ...{ address, sinceMs, protocol, mqttVersion, keepAliveSeconds: keepAliveMs / 1_000 },
    backlog: { alarms: alarms.queued, messages: messages.queued },
    slowed:
      slowed === undefined ? null : { sinceMs: slowed.sinceMs, limit: limitKey(slowed.limit) },
  };
}
