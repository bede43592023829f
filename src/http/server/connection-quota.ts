import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { networkOf, plainAddress } from '../../domain/addresses.js';
import type { QuotaWatch } from '../../site/access/quota-watch.js';

export interface ConnectionQuotaOptions {
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** Whether connections of the address count only for the total. */
  readonly isExempt: (address: string) => boolean;
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
  readonly log: Logger;
}

/**
 * Limits the connections of a listener, upgraded ones included, in total and for each network.
 *
 * When the listener is full, the connection that has been idle for longest makes room: idle connections cost a
 * stranger nothing and must not keep others out.
 */
export class ConnectionQuota {
  readonly #options: ConnectionQuotaOptions;
  readonly #networks = new Map<string, number>();
  readonly #open = new Set<Socket>();
  /** Connections without a request, the longest idle first. */
  readonly #idle = new Set<Socket>();
  /** Connections that have sent all answers and only wait for the client to close. */
  readonly #ending = new Set<Socket>();
  #isClosing = false;

  constructor(options: ConnectionQuotaOptions) {
    this.#options = options;
  }

  /** The open connections. */
  get open(): Iterable<Socket> {
    return this.#open;
  }

  /** Counts a new connection. Returns whether there is room for it; if not, the caller closes it. */
  admits(socket: Socket): boolean {
    const address = plainAddress(socket.remoteAddress);
    const network = networkOf(address);
    const count = this.#networks.get(network) ?? 0;
    const { maxConnectionsPerAddress, isExempt, watch } = this.#options;
    if (count >= maxConnectionsPerAddress && !isExempt(address)) {
      watch.exceeded('http-connections', `address:${network}`);
      return false;
    }
    if (!this.#makesRoom(network)) return false;
    this.#networks.set(network, count + 1);
    this.#open.add(socket);
    this.#idle.add(socket);
    socket.once('close', () => this.#remove(socket, network));
    return true;
  }

  /** Notes whether a connection has a request. */
  setBusy(socket: Socket, isBusy: boolean): void {
    this.#idle.delete(socket);
    if (isBusy || !this.#open.has(socket)) return;
    if (this.#isClosing) socket.destroy();
    else this.#idle.add(socket);
  }

  /** Notes that a connection only waits for the client to close. */
  setEnding(socket: Socket): void {
    this.#idle.delete(socket);
    if (this.#open.has(socket)) this.#ending.add(socket);
  }

  /** Ends each connection as soon as it has no request. */
  close(): void {
    this.#isClosing = true;
    for (const socket of this.#idle) socket.destroy();
  }

  #makesRoom(network: string): boolean {
    const { maxConnections, log } = this.#options;
    if (this.#open.size < maxConnections) return true;
    log.warn({ part: 'http', maxConnections }, 'http listener is full, closing idle connections');
    const [idlest] = this.#ending.size > 0 ? this.#ending : this.#idle;
    this.#nameIfLarge(
      idlest === undefined ? network : networkOf(plainAddress(idlest.remoteAddress)),
    );
    if (idlest === undefined) return false;
    // Its `close` comes later, and the new connection takes its place now.
    this.#open.delete(idlest);
    this.#ending.delete(idlest);
    this.#idle.delete(idlest);
    idlest.destroy();
    return true;
  }

  /** Names a network that has more than its share of a full listener, but no client with few connections. */
  #nameIfLarge(network: string): void {
    const count = this.#networks.get(network) ?? 0;
    if (count * this.#networks.size < this.#open.size || count === 1) return;
    this.#options.watch.exceeded('all-http-connections', `address:${network}`);
  }

  #remove(socket: Socket, network: string): void {
    this.#open.delete(socket);
    this.#ending.delete(socket);
    this.#idle.delete(socket);
    const left = (this.#networks.get(network) ?? 0) - 1;
    if (left > 0) this.#networks.set(network, left);
    else this.#networks.delete(network);
  }
}
