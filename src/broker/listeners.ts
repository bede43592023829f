import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import type { Logger } from 'pino';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { GatewayError } from '../errors.js';
import { logTlsFailures, SECURE_TLS } from '../tls.js';
import type { ConnectionRate } from './connection-rate.js';

/** Node's default is two minutes. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Connections that the kernel completes ahead of us; it cuts the number to `net.core.somaxconn`.
 *
 * Beyond Node's 511 it drops handshakes when all devices of a box reconnect at once, and each of these
 * comes again seconds later (FINDINGS R3).
 */
const LISTEN_BACKLOG = 65_535;

/** Serves MQTT on a connection. */
export type Handle = (stream: Duplex, request?: IncomingMessage) => void;

export interface TcpListenerOptions {
  readonly host: string;
  readonly port: number;
  /** PEM texts; without them the listener is plaintext. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Timeout of a TLS handshake, ten seconds by default. */
  readonly handshakeTimeoutMs?: number;
  readonly rate: ConnectionRate;
  readonly handle: Handle;
  readonly log: Logger;
}

export interface BoundAddress {
  readonly address: string;
  readonly port: number;
}

/** MQTT over TCP, with or without TLS. */
export class TcpListener {
  readonly #options: TcpListenerOptions;
  readonly #server: Server;

  constructor(options: TcpListenerOptions) {
    this.#options = options;
    const accept = (socket: Socket) => {
      // An alarm is a small packet and must not wait for the next one.
      socket.setNoDelay(true);
      options.handle(socket);
    };
    const handshakeTimeout = options.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS;
    this.#server =
      options.tls === undefined
        ? createServer(accept)
        : createTlsServer({ ...SECURE_TLS, ...options.tls, handshakeTimeout }, accept);
    this.#server.on('connection', (socket: Socket) => {
      // Nobody else listens to errors of a connection over the rate, or of a broken TLS handshake.
      socket.on('error', (error) => options.log.debug({ err: error }, 'connection failed'));
      if (!options.rate.admits(socket.remoteAddress ?? '')) socket.destroy();
    });
    logTlsFailures(this.#server, options.log);
    // Node leaves the socket open after a handshake timeout.
    this.#server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy());
  }

  /** @throws GatewayError `start-failed` when the address cannot be bound */
  async start(): Promise<BoundAddress> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error) => {
        const detail = `MQTT cannot listen on ${host}:${port}.`;
        reject(new GatewayError('start-failed', detail, { cause: error }));
      });
      this.#server.listen({ port, host, backlog: LISTEN_BACKLOG }, resolve);
    });
    const bound = this.#server.address();
    return { address: host, port: typeof bound === 'object' && bound !== null ? bound.port : port };
  }

  /** Accepts no more connections; open ones belong to the broker. */
  stop(): void {
    if (this.#server.listening) this.#server.close();
  }
}

const WEBSOCKET_PATH = '/mqtt';
/** The subprotocols of MQTT 3.1.1 [MQTT-6.0.0-3] and MQTT 3.1. */
const SUBPROTOCOLS = ['mqtt', 'mqttv3.1'];

export interface WebSocketListenerOptions {
  readonly maxPacketBytes: number;
  readonly rate: ConnectionRate;
  readonly handle: Handle;
  /** Answers a request that is no proper WebSocket handshake, and hangs up. */
  readonly refuse: (error: Error, socket: Duplex) => void;
}

/** MQTT over WebSocket at `/mqtt`, on connections that an HTTP listener passes on. */
export class WebSocketListener {
  readonly #server: WebSocketServer;
  readonly #rate: ConnectionRate;
  readonly #handle: Handle;

  constructor({ maxPacketBytes, rate, handle, refuse }: WebSocketListenerOptions) {
    this.#rate = rate;
    this.#handle = handle;
    this.#server = new WebSocketServer({
      noServer: true,
      // A frame may hold part of a packet, but no honest one holds more (DEPENDENCY-FAULTS 16).
      maxPayload: maxPacketBytes + 1024,
      handleProtocols: (offered) => SUBPROTOCOLS.find((name) => offered.has(name)) ?? false,
    });
    this.#server.on('wsClientError', refuse);
  }

  /** Whether the request asks for a WebSocket here (RFC 6455, 4.2.1). */
  takes({ url, headers }: IncomingMessage): boolean {
    const offered = headers.upgrade?.trim().toLowerCase();
    return offered === 'websocket' && url?.split('?')[0] === WEBSOCKET_PATH;
  }

  /** For the HTTP server's `upgrade` event. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.#rate.admits(request.socket.remoteAddress ?? '')) {
      socket.destroy();
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (connection) => {
      const stream = createWebSocketStream(connection);
      stream.on('error', () => connection.terminate());
      this.#handle(stream, request);
    });
  }
}
