import { networkOf } from '../../domain/addresses.js';
import type { ConnectionQuotas } from '../../domain/limits.js';
import type { Quota, QuotaWatch } from '../../site/access/quota-watch.js';
import { ConnectError } from './connect-errors.js';

/** The part of all connections kept for clients that have not logged in. */
const PART_OF_NEWCOMERS = 1 / 8;
/** The part of their room that one network may take, except this machine. */
const PART_OF_NETWORK = 1 / 2;
/** The part of the other connections kept for principals that have none. */
const PART_IN_RESERVE = 1 / 10;

/** A network connection as the quotas see it. */
export interface Held {
  readonly address: string;
  readonly keepAliveMs: number;
  readonly silentMs: number;
  /** Ends a connection that has missed its keep-alive. */
  timeOut(): void;
  /** Ends the connection without an answer. */
  close(): void;
}

/** Who asks for a connection, and for which session. */
export interface Claimant {
  /** `principalKey` */
  readonly owner: string;
  readonly sessionKey: string;
  readonly quotas: ConnectionQuotas;
}

export interface ConnectionQuotaOptions {
  /** The maximum number of connections. */
  readonly total: number;
  /** Addresses without a bound of their own: this machine, where a proxy may run. */
  readonly isExempt: (address: string) => boolean;
  readonly watch: QuotaWatch;
}

/**
 * Bounds connections: in total, before the login, and per principal.
 *
 * Sensors behind one address are not bounded together once they have logged in. Before that the oldest
 * connection goes: an honest client sends its CONNECT immediately.
 */
export class ConnectionQuota {
  readonly #options: ConnectionQuotaOptions;
  readonly #newcomers = new Set<Held>();
  readonly #newcomersByNetwork = new Map<string, Set<Held>>();
  /** The sessions of the connections of each principal. */
  readonly #byOwner = new Map<string, Map<Held, string>>();
  readonly #owners = new Map<Held, string>();
  readonly #maxAdmitted: number;

  constructor(options: ConnectionQuotaOptions) {
    this.#options = options;
    const { total } = options;
    this.#maxAdmitted = Math.floor(total * (1 - PART_OF_NEWCOMERS));
  }

  /** Takes a connection that has not logged in; if there are too many of them, the oldest goes. */
  arrived(newcomer: Held): void {
    const { address } = newcomer;
    const network = networkOf(address);
    const ofNetwork = this.#newcomersByNetwork.get(network) ?? new Set();
    const { total, isExempt } = this.#options;
    // After a restart all clients are newcomers, and there is room for all of them.
    const room = total - this.#owners.size;
    if (!isExempt(address) && ofNetwork.size >= room * PART_OF_NETWORK) this.#dropOldest(ofNetwork);
    else if (this.#newcomers.size >= room) this.#dropOldest(this.#newcomers);
    this.#newcomers.add(newcomer);
    this.#newcomersByNetwork.set(network, ofNetwork.add(newcomer));
  }

  /**
   * Admits a client that has logged in.
   *
   * A connection that the new one takes over makes room for it [MQTT-3.1.4-2]. So does a connection of the
   * principal that has missed its keep-alive: after a network failure, a client without a fixed client id has
   * old connections that are half-open.
   *
   * @throws ConnectError
   */
  admit(newcomer: Held, { owner, sessionKey, quotas }: Claimant): void {
    // A client that has left in the meantime holds nothing any more.
    if (!this.#newcomers.has(newcomer)) return;
    const held = this.#byOwner.get(owner) ?? new Map<Held, string>();
    const excess = this.#excessOf(held.size, quotas);
    const mayTakeOver = held.size < 2 * quotas.connections;
    if (excess !== undefined && !(mayTakeOver && this.sessionsOf(owner).has(sessionKey))) {
      const overdue = longestOverdue(held.keys());
      if (overdue === undefined) {
        this.#options.watch.exceeded(excess, owner);
        throw new ConnectError(excess === 'connections' ? 'too-many-connections' : 'gateway-full');
      }
      overdue.timeOut();
    }
    this.#leaveNewcomers(newcomer);
    this.#byOwner.set(owner, held.set(newcomer, sessionKey));
    this.#owners.set(newcomer, owner);
  }

  /** The sessions that connections of the owner use. */
  sessionsOf(owner: string): ReadonlySet<string> {
    return new Set(this.#byOwner.get(owner)?.values());
  }

  /** Ends all connections of the owner, including event streams and clients that wait for CONNACK. */
  dropAllOf(owner: string): void {
    for (const held of [...(this.#byOwner.get(owner)?.keys() ?? [])]) held.close();
  }

  /** Ends every connection. */
  dropAll(): void {
    for (const held of [...this.#newcomers, ...this.#owners.keys()]) held.close();
  }

  /** Forgets a connection that has ended. */
  left(connection: Held): void {
    this.#leaveNewcomers(connection);
    const owner = this.#owners.get(connection);
    if (owner === undefined) return;
    this.#owners.delete(connection);
    const held = this.#byOwner.get(owner);
    held?.delete(connection);
    if (held?.size === 0) this.#byOwner.delete(owner);
  }

  #excessOf(held: number, quotas: ConnectionQuotas): Quota | undefined {
    if (held >= quotas.connections) return 'connections';
    const inReserve = held === 0 ? 0 : Math.ceil(this.#maxAdmitted * PART_IN_RESERVE);
    return this.#owners.size >= this.#maxAdmitted - inReserve ? 'all-connections' : undefined;
  }

  #dropOldest(connections: ReadonlySet<Held>): void {
    const [oldest] = connections;
    if (oldest === undefined) return;
    this.#leaveNewcomers(oldest);
    this.#options.watch.exceeded('newcomers', `address:${networkOf(oldest.address)}`);
    oldest.close();
  }

  #leaveNewcomers(connection: Held): void {
    if (!this.#newcomers.delete(connection)) return;
    const network = networkOf(connection.address);
    const ofNetwork = this.#newcomersByNetwork.get(network);
    ofNetwork?.delete(connection);
    if (ofNetwork?.size === 0) this.#newcomersByNetwork.delete(network);
  }
}

/** The connection that has been silent longest beyond its keep-alive, a duty of the client [MQTT-3.1.2-23]. */
function longestOverdue(connections: Iterable<Held>): Held | undefined {
  let longest: Held | undefined;
  for (const one of connections) {
    if (one.silentMs <= one.keepAliveMs) continue;
    if (longest === undefined || one.silentMs > longest.silentMs) longest = one;
  }
  return longest;
}
