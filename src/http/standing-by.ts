import { randomUUID } from 'node:crypto';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import { type BoundAddress, listen } from './listen.js';
import { problemReply } from './problem.js';
import { commonHeaders } from './request-context.js';

const TIMEOUT_MS = 5_000;
/** A load balancer and a monitor have a few; nobody else has business here. */
const MAX_CONNECTIONS = 200;
const MAX_HEADER_BYTES = 8 * 1024;

export interface StandingByOptions {
  readonly host: string;
  readonly port: number;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Why this gateway does not serve, for the operator. */
  readonly reason: () => string;
  readonly log: Logger;
}

/** Answers HTTP for a gateway that stands by: that it lives, that it is not ready, and nothing else. */
export class StandingByListener {
  readonly #options: StandingByOptions;
  readonly #server: Server;

  constructor(options: StandingByOptions) {
    this.#options = options;
    const settings = {
      requestTimeout: TIMEOUT_MS,
      headersTimeout: TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    };
    const answer = this.#answer.bind(this);
    this.#server =
      options.tls === undefined
        ? createHttpServer(settings, answer)
        : createHttpsServer({ ...settings, ...options.tls, handshakeTimeout: TIMEOUT_MS }, answer);
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** @throws GatewayError `start-failed` when the address cannot be bound */
  start(): Promise<BoundAddress> {
    return listen(this.#server, this.#options);
  }

  /** Frees the address. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? '').replace(/[?#].*$/, '');
    const requestId = randomUUID();
    // No connection outlives standing by.
    const common = { ...commonHeaders(requestId), Connection: 'close' };
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    if (isReading && path === '/healthz') {
      response.writeHead(200, { ...common, 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ status: 'ok' }));
      return;
    }
    const detail = this.#options.reason();
    const extension = path === '/readyz' ? { ready: false, faults: [detail] } : {};
    const failure = new GatewayError('standing-by', detail);
    const { status, headers, body } = problemReply(failure, path, requestId, { extension });
    response.writeHead(status, { ...common, ...headers });
    response.end(body);
  }
}
