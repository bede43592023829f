import type { EventEmitter } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Logger } from 'pino';
import { isLoopbackAddress, networkOf, plainAddress } from '../../domain/addresses.js';
import { type BoundAddress, listen } from '../../network/listen.js';
import type { ProcessorShare } from '../../network/processor-share.js';
import { TlsHandshakes } from '../../network/tls-handshakes.js';
import type { QuotaWatch } from '../../site/access/quota-watch.js';
import { ConnectionQuota } from './connection-quota.js';
import { connectionOf, HttpConnection } from './http-connection.js';
import { answerClientError, problemResponse } from './unroutable.js';

/** Timeouts for clients that are slow, on purpose or not. */
const HEADERS_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 30_000;
/** Timeout of a large upload over a slow line. */
const LONG_BODY_TIMEOUT_MS = 15 * 60_000;
const TIMEOUT_CHECK_INTERVAL_MS = 2_000;
/** Timeout for a client that neither sends nor takes anything; Node's 5 s between requests are too short in a flood. */
const STALLED_AFTER_MS = 15_000;

/** Handles connections that switch to another protocol. */
export interface ProtocolSwitch {
  /** Whether this request switches; any other is an ordinary request, whatever it offers. */
  takes(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export interface HttpListenerOptions {
  readonly app: { fetch(request: Request, bindings: object): Response | Promise<Response> };
  readonly host: string;
  /** The port; 0 picks a free one. */
  readonly port: number;
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined;
  readonly protocolSwitch?: ProtocolSwitch | undefined;
  readonly log: Logger;
  /** Timeout of a body, half a minute by default; uploads may take longer. */
  readonly bodyTimeoutMs?: number;
  /** Timeout of a request's head, ten seconds by default. */
  readonly headersTimeoutMs?: number;
  /** Timeout of a client that takes nothing of its answer, 15 seconds by default. */
  readonly stalledAfterMs?: number;
  /** Timeout of a TLS handshake, ten seconds by default. */
  readonly handshakeTimeoutMs?: number;
  /** The limit of connections, upgraded ones included. */
  readonly maxConnections: number;
  /** The limit of connections per network. */
  readonly maxConnectionsPerAddress: number;
  /** Addresses without that limit; loopback by default, where a proxy may be. */
  readonly isTrustedAddress?: (address: string) => boolean;
  /** The turns in which requests are read and handled, and handshakes begun. */
  readonly turns: ProcessorShare;
  /** Whether the address may open a TLS connection now; counts it if so. */
  readonly admits: (address: string) => boolean;
  /** Names the clients that have too many connections. */
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
}

export interface HttpListener {
  /** @throws GatewayError `start-failed` when the address cannot be bound */
  start(): Promise<BoundAddress>;
  /**
   * Stops accepting, and lets the requests in hand finish. Connections left after the deadline, upgraded
   * ones included, are cut.
   */
  stop(deadlineMs: number): Promise<void>;
}

/** An HTTP or HTTPS listener for the app; nothing is bound before `start`. */
export function createHttpListener(options: HttpListenerOptions): HttpListener {
  const { protocolSwitch, stalledAfterMs = STALLED_AFTER_MS } = options;
  const { headersTimeoutMs = HEADERS_TIMEOUT_MS } = options;
  const quota = new ConnectionQuota({
    ...options,
    isExempt: options.isTrustedAddress ?? isLoopbackAddress,
  });
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: LONG_BODY_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    keepAliveTimeout: stalledAfterMs,
    // The app answers a missing Host itself, with a problem document.
    requireHostHeader: false,
    IncomingMessage: requestClass((request) => protocolSwitch?.takes(request) ?? false),
  });
  server.setTimeout(stalledAfterMs);
  acceptInTurn(server, quota, options);
  answerRequests(server, options);
  server.on('clientError', (error, socket) => {
    const answer = () => answerClientError(error, socket);
    if (socket instanceof HttpConnection) socket.refuse(answer);
    else answer();
  });
  // The gateway is not a proxy, and Node would close the connection without an answer.
  server.on('connect', (_request, socket) => answerClientError({}, socket));
  // An unknown expectation may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  // The app asks for the body itself, unless the head decides the answer.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  if (protocolSwitch !== undefined) {
    server.on('upgrade', (request, socket, head) => {
      if (!(socket instanceof HttpConnection)) return;
      // Code that asks the request for its socket, and whether that is TLS, means the socket handed over.
      request.socket = socket.handOver();
      protocolSwitch.upgrade(request, request.socket, head);
    });
  }
  return {
    start: () => {
      const protocol = options.tls === undefined ? 'http' : 'https';
      return listen(server, { ...options, protocol });
    },
    stop: (deadlineMs) => close(server, quota, deadlineMs),
  };
}

/**
 * The class of a server's requests, which reports an `Upgrade` only if it is taken.
 *
 * Node hands every request with an `Upgrade` to the listeners of `upgrade`, and no longer treats it as a
 * request. So an offer of HTTP/2, which curl and Java's client add to ordinary requests, would cost them
 * their answer. An offer may be ignored (RFC 9110, 7.8).
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

/**
 * Gives connections to Node's HTTP server as streams whose bytes come in turns.
 *
 * Node's own listener takes any stream; given the sockets, Node would read them itself.
 */
function acceptInTurn(server: Server, quota: ConnectionQuota, options: HttpListenerOptions): void {
  const { turns, admits, stalledAfterMs = STALLED_AFTER_MS, log } = options;
  const [serve] = server.listeners('connection');
  server.removeAllListeners('connection');
  const listenToErrors = (socket: Duplex) => {
    // Node stops listening before `connect` and `upgrade`; then a reset would end the process.
    socket.on('error', (error) => log.debug({ err: error }, 'http connection failed'));
  };
  const accept = (tcp: Socket, socket: Socket) => {
    const network = networkOf(plainAddress(tcp.remoteAddress));
    const onBusy = (isBusy: boolean) => quota.setBusy(tcp, isBusy);
    const onEnding = () => quota.setEnding(tcp);
    const connection = new HttpConnection({ socket, network, turns, onBusy, onEnding });
    listenToErrors(connection);
    serve?.call(server, connection);
  };
  const handshakes = handshakesFor(options);
  server.on('connection', (tcp: Socket) => {
    listenToErrors(tcp);
    const address = plainAddress(tcp.remoteAddress);
    if (!quota.admits(tcp)) {
      tcp.destroy();
    } else if (handshakes === undefined) {
      whenReadable(tcp, stalledAfterMs, () => accept(tcp, tcp));
    } else if (!admits(address)) {
      log.info({ part: 'http', address }, 'connecting too fast over TLS, closed');
      tcp.destroy();
    } else {
      handshakes.accept(tcp, (secured) => {
        listenToErrors(secured);
        whenReadable(secured, stalledAfterMs, () => accept(tcp, secured));
      });
    }
  });
}

/** Waits for the first bytes; until then, a connection costs no more than its socket. */
function whenReadable(socket: Socket, timeoutMs: number, serve: () => void): void {
  const end = () => socket.destroy();
  socket.setTimeout(timeoutMs, end);
  socket.once('readable', () => {
    socket.off('timeout', end);
    if (socket.readableLength > 0) serve();
    else end();
  });
}

function handshakesFor(options: HttpListenerOptions): TlsHandshakes | undefined {
  const { tls } = options;
  return tls && new TlsHandshakes({ ...options, tls, protocols: ['http/1.1'] });
}

/** Has the app answer each request when its turn comes. */
function answerRequests(server: Server, options: HttpListenerOptions): void {
  const handle = requestListener(options);
  server.on('request', (request, response) => {
    const connection = connectionOf(request);
    if (connection === undefined) return;
    // A stalled body is answered at its timeout; without a listener Node closes the connection.
    request.on('timeout', () => undefined);
    connection.queue(request, response, () => handle(request, response));
  });
}

function requestListener(options: HttpListenerOptions): RequestListener {
  const { app, turns, bodyTimeoutMs = BODY_TIMEOUT_MS, log } = options;
  const limited: Parameters<typeof getRequestListener>[0] = async (
    request,
    { incoming, outgoing },
  ) => {
    const expectLongBody = limitBodyTime(incoming, outgoing, bodyTimeoutMs);
    // Holds the turn only for a complete request; otherwise, the app waits for the client.
    const line = connectionOf(incoming)?.line;
    const release = incoming.complete && line !== undefined ? turns.hold(line) : undefined;
    try {
      return await app.fetch(request, { incoming, outgoing, expectLongBody });
    } finally {
      release?.();
      // The unread rest of a body must not be taken for the next request (RFC 9112, 9.6).
      if (!incoming.complete && 'shouldKeepAlive' in outgoing) outgoing.shouldKeepAlive = false;
    }
  };
  return getRequestListener(limited, {
    // HTTP/1.0 has no Host.
    hostname: 'localhost',
    // Otherwise, the library replaces Request and Response for the whole process.
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      if (error instanceof RequestError) {
        return problemResponse('invalid-request', 'The request target or Host is malformed.');
      }
      log.error({ part: 'http', err: error }, 'failed to answer an http request');
      return problemResponse('internal-error', 'The gateway failed.');
    },
  });
}

/**
 * Limits the time of a body; returns the function that lifts the limit.
 *
 * Node has one limit for all requests, which must leave room for the longest.
 */
function limitBodyTime(
  incoming: EventEmitter & { readonly complete: boolean; readonly socket: Duplex },
  outgoing: EventEmitter & { readonly headersSent: boolean },
  bodyTimeoutMs: number,
): () => void {
  const timer = setTimeout(() => {
    if (incoming.complete) return;
    if (outgoing.headersSent) incoming.socket.destroy();
    else answerClientError({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, incoming.socket);
  }, bodyTimeoutMs);
  const lift = () => clearTimeout(timer);
  // Answered, and nothing is held any more: a connection with the rest of a body is closed and lingers only briefly.
  outgoing.once('close', lift);
  return lift;
}

/**
 * Closes the server, cutting every socket at the deadline.
 *
 * Node's `close` waits for connections that have sent nothing, or are in a handshake (dependency-faults.md, 16), and
 * for upgraded ones, which `closeAllConnections` does not know either.
 */
function close(server: Server, quota: ConnectionQuota, deadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => {
      for (const socket of quota.open) socket.destroy();
    }, deadlineMs);
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
    quota.close();
  });
}
