/**
 * The HTTP and HTTPS listeners: Node's server, with connections whose bytes come in turns.
 *
 * Node's own timeouts end clients that are slow, on purpose or not. A network may have only so many connections. When the
 * listener is full, the connection that has been idle for longest makes room: idle connections cost a stranger nothing, and
 * must not keep others out.
 */

import { createServer, IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Logger } from 'pino';
import { isLoopbackAddress, networkOf, plainAddress } from '../../domain/addresses.js';
import type { Circle } from '../../network/circle.js';
import { type BoundAddress, listen } from '../../network/listen.js';
import type { ServerCertificate } from '../../network/server-certificate.js';
import { TlsFront } from '../../network/tls.js';
import { answerUnreadable, unroutableResponse } from '../problem.js';
import { connectionOf, HttpConnection } from './http-connection.js';

const HEADERS_TIMEOUT_MS = 10_000;
/** Timeout of a large upload over a slow line; one that stalls ends much sooner. */
const REQUEST_TIMEOUT_MS = 15 * 60_000;
const TIMEOUT_CHECK_INTERVAL_MS = 2_000;
/** Timeout for a client that neither sends nor takes anything; Node's 5 s between requests are too short in a flood. */
const STALLED_AFTER_MS = 15_000;

/** Handles connections that switch to another protocol. */
export interface ProtocolSwitch {
  /** Whether this request switches; any other is an ordinary request, whatever it offers. */
  takes(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** What the listeners share. */
export interface HttpGuard {
  /** The turns in which requests are read and handled, and handshakes begun. */
  readonly circle: Circle;
  /** Whether the address may open a TLS connection now; counts it if so. */
  readonly admits: (address: string) => boolean;
  /** The limits of connections in all and for each network, upgraded ones included. */
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** Names a network that has too many connections, or more than its share of a full listener. */
  readonly exceeded?: (quota: 'http-connections' | 'all-http-connections', network: string) => void;
  /** Addresses without a limit of their own; loopback by default, where a proxy may be. */
  readonly isTrustedAddress?: (address: string) => boolean;
}

export interface HttpListenerOptions {
  readonly app: { fetch(request: Request, bindings: object): Response | Promise<Response> };
  readonly host: string;
  /** The port; 0 picks a free one. */
  readonly port: number;
  /** Undefined: plaintext. */
  readonly certificate?: ServerCertificate | undefined;
  readonly protocolSwitch?: ProtocolSwitch | undefined;
  readonly guard: HttpGuard;
  readonly log: Logger;
  /** For every timeout, in place of the defaults. */
  readonly timeoutMs?: number;
}

/** A listener; nothing is bound before `start`. */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The longest idle first; those with a request are among them. */
  readonly #connections = new Set<HttpConnection>();
  readonly #perNetwork = new Map<string, number>();

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    const { protocolSwitch, timeoutMs } = options;
    const stalledAfterMs = timeoutMs ?? STALLED_AFTER_MS;
    this.#server = createServer({
      headersTimeout: timeoutMs ?? HEADERS_TIMEOUT_MS,
      requestTimeout: timeoutMs ?? REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
      keepAliveTimeout: stalledAfterMs,
      // The app answers a missing Host itself, with a problem document.
      requireHostHeader: false,
      IncomingMessage: requestClass((request) => protocolSwitch?.takes(request) ?? false),
    });
    this.#server.setTimeout(stalledAfterMs);
    this.#acceptInTurn();
    this.#answerRequests();
    if (protocolSwitch !== undefined) {
      this.#server.on('upgrade', (request, socket, head) => {
        if (!(socket instanceof HttpConnection)) return;
        // Code that asks the request for its socket, and whether that is TLS, means the socket handed over.
        request.socket = socket.handOver();
        protocolSwitch.upgrade(request, request.socket, head);
      });
    }
  }

  /** @throws GatewayError `start-failed` when the address cannot be bound */
  start(): Promise<BoundAddress> {
    return listen(this.#server, { ...this.#options, protocol: this.#protocol });
  }

  /**
   * Stops accepting, and lets the requests in hand finish. Connections left after the deadline, upgraded ones included,
   * are cut: Node's `close` waits for those that have sent nothing, too (dependency-faults.md, 16).
   */
  stop(deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = setTimeout(() => {
        for (const socket of this.#sockets) socket.destroy();
      }, deadlineMs);
      this.#server.close(() => {
        clearTimeout(deadline);
        resolve();
      });
      for (const connection of this.#connections) connection.finish();
    });
  }

  get #protocol() {
    return this.#options.certificate === undefined ? 'http' : 'https';
  }

  /**
   * Gives connections to Node's HTTP server as streams whose bytes come in turns.
   *
   * Node's own listener takes any stream; given the sockets, Node would read them itself.
   */
  #acceptInTurn(): void {
    const { certificate, guard, timeoutMs, log } = this.#options;
    const [serve] = this.#server.listeners('connection');
    this.#server.removeAllListeners('connection');
    const listenToErrors = (socket: Duplex) => {
      // Node stops listening before `connect` and `upgrade`; then a reset would end the process.
      socket.on('error', (error) => log.debug({ err: error }, 'http connection failed'));
    };
    const accept = (socket: Socket) => {
      const toEnd = () => {
        if (this.#connections.delete(connection)) this.#connections.add(connection);
      };
      const connection = new HttpConnection(socket, guard.circle, toEnd);
      listenToErrors(connection);
      this.#connections.add(connection);
      connection.once('close', () => this.#connections.delete(connection));
      serve?.call(this.#server, connection);
    };
    const front =
      certificate &&
      new TlsFront({
        certificate,
        protocols: ['http/1.1'],
        circle: guard.circle,
        ...(timeoutMs !== undefined && { handshakeTimeoutMs: timeoutMs }),
        onSecure: (secured) => {
          listenToErrors(secured);
          accept(secured);
        },
        log,
      });
    this.#server.on('connection', (socket: Socket) => {
      listenToErrors(socket);
      const address = plainAddress(socket.remoteAddress);
      if (!this.#count(socket, address)) {
        socket.destroy();
      } else if (front === undefined) {
        accept(socket);
      } else if (guard.admits(address)) {
        front.accept(socket);
      } else {
        log.info({ part: 'http', address }, 'connecting too fast over TLS, closed');
        socket.destroy();
      }
    });
  }

  /** Whether there is room for another connection, if need be in place of one that is idle. */
  #hasRoom(): boolean {
    const { guard, log } = this.#options;
    const { maxConnections } = guard;
    if (this.#sockets.size < maxConnections) return true;
    log.warn({ part: 'http', maxConnections }, 'http listener is full, closing idle connections');
    for (const connection of this.#connections) {
      if (!connection.isIdle) continue;
      this.#nameIfLarge(networkOf(connection.remoteAddress ?? ''));
      connection.destroy();
      return true;
    }
    return false;
  }

  /** Names a network that has more than its share of a full listener, but none with few connections. */
  #nameIfLarge(network: string): void {
    const count = this.#perNetwork.get(network) ?? 0;
    if (count * this.#perNetwork.size < this.#sockets.size || count <= 1) return;
    this.#options.guard.exceeded?.('all-http-connections', network);
  }

  /** Counts a connection for its network. Returns whether there is room for it. */
  #count(socket: Socket, address: string): boolean {
    const { maxConnectionsPerAddress, isTrustedAddress, exceeded } = this.#options.guard;
    const network = networkOf(address);
    const count = this.#perNetwork.get(network) ?? 0;
    if (count >= maxConnectionsPerAddress && !(isTrustedAddress ?? isLoopbackAddress)(address)) {
      exceeded?.('http-connections', network);
      return false;
    }
    if (!this.#hasRoom()) return false;
    this.#perNetwork.set(network, count + 1);
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      const left = (this.#perNetwork.get(network) ?? 0) - 1;
      if (left > 0) this.#perNetwork.set(network, left);
      else this.#perNetwork.delete(network);
    });
    return true;
  }

  /** Has the app answer each request when its turn comes. */
  #answerRequests(): void {
    const handle = requestListener(this.#options);
    const queue: RequestListener = (request, response) => {
      // A stalled body is answered at its timeout; without a listener Node closes the connection.
      request.on('timeout', () => undefined);
      connectionOf(request)?.queue(request, response, () => handle(request, response));
    };
    this.#server.on('request', queue);
    // An unknown expectation may be ignored (RFC 9110, 10.1.1), and the app asks for the body itself.
    this.#server.on('checkExpectation', queue);
    this.#server.on('checkContinue', queue);
    this.#server.on('clientError', (error, socket) => {
      if (!(socket instanceof HttpConnection)) answerUnreadable(error, socket);
      else socket.refuse((isHead) => answerUnreadable(error, socket, isHead));
    });
    // The gateway is not a proxy, and Node would close the connection without an answer.
    this.#server.on('connect', (_request, socket) => answerUnreadable({}, socket));
  }
}

/**
 * The class of a server's requests, which reports an `Upgrade` only if it is taken.
 *
 * Node hands every request with an `Upgrade` to the listeners of `upgrade`, and no longer treats it as a request. So an
 * offer of HTTP/2, which curl and Java's client add to ordinary requests, would cost them their answer. An offer may be
 * ignored (RFC 9110, 7.8).
 *
 * @param isTaken whether the request switches protocols; called once the header fields are there
 */
function requestClass(isTaken: (request: IncomingMessage) => boolean): typeof IncomingMessage {
  return class extends IncomingMessage {
    /** No initial value: `upgrade` is set before this class is constructed. */
    declare hasOffer: boolean;

    get upgrade(): boolean {
      return this.hasOffer && (this.method === 'CONNECT' || isTaken(this));
    }

    set upgrade(value: boolean | null) {
      this.hasOffer = value === true;
    }
  };
}

function requestListener({ app, log }: HttpListenerOptions): RequestListener {
  const answer: Parameters<typeof getRequestListener>[0] = async (request, bindings) => {
    const { incoming, outgoing } = bindings;
    try {
      return await app.fetch(request, bindings);
    } finally {
      // The unread rest of a body must not be taken for the next request (RFC 9112, 9.6).
      if (!incoming.complete && 'shouldKeepAlive' in outgoing) outgoing.shouldKeepAlive = false;
    }
  };
  return getRequestListener(answer, {
    // HTTP/1.0 has no Host.
    hostname: 'localhost',
    // Otherwise, the library replaces Request and Response for the whole process.
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      if (error instanceof RequestError) {
        return unroutableResponse('invalid-request', 'The request target or Host is malformed.');
      }
      log.error({ part: 'http', err: error }, 'failed to answer an http request');
      return unroutableResponse('internal-error', 'The gateway failed.');
    },
  });
}
