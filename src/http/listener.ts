import type { EventEmitter } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Logger } from 'pino';
import { isLoopbackAddress } from '../domain/addresses.js';
import { GatewayError } from '../errors.js';
import { logTlsFailures, SECURE_TLS } from '../tls.js';
import { refusalsFor } from './answers-under-way.js';
import { type ConnectionLimits, limitConnections } from './connection-limit.js';
import { limitPipelining } from './pipelining.js';
import { answerClientError, BodyTimeout, problemResponse } from './unroutable.js';
import { requestClass } from './upgrade-offer.js';

/** Timeouts for clients that are slow, on purpose or not. */
const HEADERS_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 30_000;
/** Timeout of a large upload over a slow line. */
const LONG_BODY_TIMEOUT_MS = 15 * 60_000;
const KEEP_ALIVE_TIMEOUT_MS = 5_000;
const TIMEOUT_CHECK_INTERVAL_MS = 2_000;
/** Timeout for a client that neither sends nor takes anything in the middle of an exchange. */
const STALLED_AFTER_MS = 15_000;
/** As long as the headers of a request may take; Node would wait for two minutes. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A year, in which a browser that used HTTPS once uses nothing else here (RFC 6797). */
const HSTS_SECONDS = 365 * 24 * 3600;
const MAX_CONNECTIONS = 10_000;
const MAX_CONNECTIONS_PER_ADDRESS = 1_000;

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
  /** Timeout of a client that takes nothing of its answer, 15 seconds by default. */
  readonly stalledAfterMs?: number;
  /** Timeout of a TLS handshake, ten seconds by default. */
  readonly handshakeTimeoutMs?: number;
  /**
   * The limit of connections, upgraded ones included. Without it, HTTP clients could use up the file
   * descriptors that MQTT needs.
   */
  readonly maxConnections?: number;
  /** The limit of connections per address. */
  readonly maxConnectionsPerAddress?: number;
  /** Addresses without that limit; loopback by default, where a proxy may be. */
  readonly isTrustedAddress?: (address: string) => boolean;
}

export interface BoundAddress {
  readonly address: string;
  readonly port: number;
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
  const { app, protocolSwitch, log } = options;
  const { bodyTimeoutMs = BODY_TIMEOUT_MS, stalledAfterMs = STALLED_AFTER_MS } = options;
  const server = createServer(limitPipelining(requestListener(app, bodyTimeoutMs, log)), options);
  listenToErrors(server, log);
  const sockets = trackSockets(server);
  server.setTimeout(stalledAfterMs);
  limitConnections(server, connectionLimits(options), log);
  logTlsFailures(server, log);
  server.on('clientError', refusalsFor(server));
  // The gateway is no proxy, and Node would close the connection without an answer.
  server.on('connect', (_request, socket) => answerClientError(new Error('CONNECT'), socket));
  // An expectation that is not understood may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  // A kept-alive connection whose last request was in hand at `stop` becomes idle only after it.
  server.on('request', (_request, response) => {
    response.once('close', () => {
      if (!server.listening) server.closeIdleConnections();
    });
  });
  if (protocolSwitch !== undefined) server.on('upgrade', protocolSwitch.upgrade);
  return {
    start: () => listen(server, options),
    stop: (deadlineMs) => close(server, sockets, deadlineMs),
  };
}

function connectionLimits(options: HttpListenerOptions): ConnectionLimits {
  return {
    total: options.maxConnections ?? MAX_CONNECTIONS,
    perAddress: options.maxConnectionsPerAddress ?? MAX_CONNECTIONS_PER_ADDRESS,
    isExempt: options.isTrustedAddress ?? isLoopbackAddress,
  };
}

function createServer(
  listener: RequestListener,
  { tls, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS, protocolSwitch }: HttpListenerOptions,
): Server {
  const settings = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: LONG_BODY_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    // The app answers a missing Host itself, with a problem document.
    requireHostHeader: false,
    IncomingMessage: requestClass((request) => protocolSwitch?.takes(request) ?? false),
  };
  if (tls === undefined) return createHttpServer(settings, listener);
  const secured = { ...settings, ...SECURE_TLS, ...tls, handshakeTimeout: handshakeTimeoutMs };
  const server = createHttpsServer(secured, listener);
  server.prependListener('request', (_request, response) => {
    response.setHeader('Strict-Transport-Security', `max-age=${HSTS_SECONDS}`);
  });
  // An answer would wait for ever for a handshake that has failed.
  server.prependListener('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}

function requestListener(
  app: HttpListenerOptions['app'],
  bodyTimeoutMs: number,
  log: Logger,
): RequestListener {
  const limited: Parameters<typeof getRequestListener>[0] = (request, { incoming, outgoing }) => {
    const expectLongBody = limitBodyTime(incoming, outgoing, bodyTimeoutMs);
    return app.fetch(request, { incoming, outgoing, expectLongBody });
  };
  return getRequestListener(limited, {
    // HTTP/1.0 knows no Host.
    hostname: 'localhost',
    // Else the library replaces Request and Response for the whole process.
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
    else answerClientError(new BodyTimeout(), incoming.socket);
  }, bodyTimeoutMs);
  // A stalled body is answered at its timeout; without a listener Node closes the connection.
  incoming.on('timeout', () => undefined);
  const lift = () => clearTimeout(timer);
  // A client that is answered before its body has arrived must not hold the connection with the rest.
  outgoing.once('close', () => {
    if (incoming.complete) lift();
  });
  return lift;
}

/**
 * Listens to the errors of every connection.
 *
 * Node removes its own listener from a socket before it emits `connect` or `upgrade`, and an `error`
 * without a listener ends the process: a reset by the peer is enough. With TLS both the connection and the
 * TLS layer over it can fail.
 */
function listenToErrors(server: Server, log: Logger): void {
  const listen = (socket: Socket) => {
    socket.on('error', (error) => log.debug({ err: error }, 'http connection failed'));
  };
  server.on('connection', listen);
  server.on('secureConnection', listen);
}

/** Tracks every connection, as the server itself forgets upgraded ones. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

function listen(server: Server, options: HttpListenerOptions): Promise<BoundAddress> {
  const { host, port, tls, log } = options;
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const url = `${tls === undefined ? 'http' : 'https'}://${host}:${port}`;
      const reason = 'code' in error ? String(error.code) : error.message;
      const detail = `Cannot listen on ${url}: ${reason}.`;
      reject(new GatewayError('start-failed', detail, { cause: error }));
    });
    server.listen({ host, port }, () => {
      server.removeAllListeners('error');
      server.on('error', (error) =>
        log.error({ part: 'http', err: error }, 'http listener failed'),
      );
      const bound = server.address();
      if (bound === null || typeof bound === 'string') {
        reject(new GatewayError('start-failed', `${host}:${port} is not a TCP address.`));
      } else {
        resolve({ address: bound.address, port: bound.port });
      }
    });
  });
}

/**
 * Closes the server, cutting every socket at the deadline.
 *
 * Node's `close` ends idle connections, but waits for silent ones (DEPENDENCY-FAULTS 17) and for upgraded
 * ones, which `closeAllConnections` does not know either.
 */
function close(server: Server, sockets: ReadonlySet<Socket>, deadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, deadlineMs);
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
  });
}
