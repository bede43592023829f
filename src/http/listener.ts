import type { EventEmitter } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import { answerClientError, BodyTimeout, problemResponse } from './unroutable.js';

/** What a client that is slow, or does it on purpose, gets at most. */
const HEADERS_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 30_000;
/** A large upload over a slow line. */
const LONG_BODY_TIMEOUT_MS = 15 * 60_000;
const KEEP_ALIVE_TIMEOUT_MS = 5_000;
const TIMEOUT_CHECK_INTERVAL_MS = 2_000;

export interface HttpListenerOptions {
  readonly app: { fetch(request: Request, bindings: object): Response | Promise<Response> };
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined;
  /** Takes every request to switch protocols, over; without it such requests are ordinary ones. */
  readonly onUpgrade?:
    | ((request: IncomingMessage, socket: Duplex, head: Buffer) => void)
    | undefined;
  readonly log: Logger;
  /** For how long a body may be on its way, half a minute by default; uploads may take longer. */
  readonly bodyTimeoutMs?: number;
}

export interface BoundAddress {
  readonly address: string;
  readonly port: number;
}

export interface HttpListener {
  /** @throws GatewayError `start-failed` when the address cannot be bound */
  start(): Promise<BoundAddress>;
  /**
   * Accepts nothing more, and lets the requests in hand finish. What is still connected after the
   * deadline, upgraded connections included, is cut.
   */
  stop(deadlineMs: number): Promise<void>;
}

/** An HTTP or HTTPS listener for the app; nothing is bound before `start`. */
export function createHttpListener(options: HttpListenerOptions): HttpListener {
  const { app, tls, onUpgrade, log } = options;
  const { bodyTimeoutMs = BODY_TIMEOUT_MS } = options;
  const server = createServer(requestListener(app, bodyTimeoutMs, log), tls);
  const sockets = trackSockets(server);
  server.on('clientError', answerClientError);
  // An expectation that is not understood may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  // A kept-alive connection whose last request was in hand at `stop` falls idle only after it.
  server.on('request', (_request, response) => {
    response.once('close', () => {
      if (!server.listening) server.closeIdleConnections();
    });
  });
  if (onUpgrade !== undefined) server.on('upgrade', onUpgrade);
  return {
    start: () => listen(server, options),
    stop: (deadlineMs) => close(server, sockets, deadlineMs),
  };
}

function createServer(listener: RequestListener, tls: HttpListenerOptions['tls']): Server {
  const timeouts = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: LONG_BODY_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    // The app answers that itself, with a problem document.
    requireHostHeader: false,
  };
  if (tls === undefined) return createHttpServer(timeouts, listener);
  return createHttpsServer({ ...timeouts, cert: tls.cert, key: tls.key }, listener);
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
    // They would be replaced for the whole process.
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      if (error instanceof RequestError) {
        return problemResponse('invalid-request', 'The request target or Host is malformed.');
      }
      log.error({ err: error }, 'http request failed');
      return problemResponse('internal-error', 'The gateway failed.');
    },
  });
}

/**
 * Node has one limit for all requests, and the longest must have room in it: so every other body has
 * a limit of its own. Returns how to lift it.
 */
function limitBodyTime(
  incoming: { readonly complete: boolean; readonly socket: Duplex },
  outgoing: EventEmitter,
  bodyTimeoutMs: number,
): () => void {
  const timer = setTimeout(() => {
    if (!incoming.complete) answerClientError(new BodyTimeout(), incoming.socket);
  }, bodyTimeoutMs);
  const lift = () => clearTimeout(timer);
  outgoing.once('close', lift);
  return lift;
}

/** Every connection, also after it was upgraded: the server itself forgets those. */
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
      server.on('error', (error) => log.error({ err: error }, 'http listener failed'));
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
 * `close` ends idle connections, but waits for silent ones (DEPENDENCY-FAULTS 17) and for upgraded
 * ones, which `closeAllConnections` does not know either: so every socket is cut at the deadline.
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
