/** Where MQTT clients come in: TCP, TLS, and WebSocket at `/mqtt` on connections that an HTTP listener passes on. */
import type { IncomingMessage } from 'node:http';
import { createServer, type Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import { networkOf, plainAddress } from '../domain/addresses.js';
import type { Circle } from '../network/circle.js';
import type { ConnectionRate } from '../network/connection-rate.js';
import { type BoundAddress, listen } from '../network/listen.js';
import type { ServerCertificate } from '../network/server-certificate.js';
import { clientCertificateOf, TlsFront } from '../network/tls.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';
import type { Broker } from './broker.js';
import { ConnectError } from './connect.js';
import { overSocket, overWebSocket } from './transport.js';

export interface TcpListenerOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined: plaintext. */
  readonly certificate?: ServerCertificate | undefined;
  /** Whether a TLS client needs a certificate of its own. */
  readonly requiresClients: boolean;
  readonly rate: Pick<ConnectionRate, 'admits'>;
  /** The turns in which TLS handshakes begin. */
  readonly circle: Circle;
  readonly broker: Broker;
  readonly log: Logger;
}

/** MQTT over TCP, with or without TLS. */
export class TcpListener {
  readonly #options: TcpListenerOptions;
  readonly #server: Server;

  constructor(options: TcpListenerOptions) {
    this.#options = options;
    const { certificate, requiresClients, circle, rate, broker, log } = options;
    const listenToErrors = (socket: Socket) => {
      socket.on('error', (error) => log.debug({ err: error }, 'connection failed'));
    };
    const front =
      certificate &&
      new TlsFront({
        certificate,
        requiresClients,
        circle,
        onSecure: (secured) => {
          listenToErrors(secured);
          // A handshake may end after `stop`; nothing would then serve the connection.
          if (this.#server.listening) this.#serve(secured, plainAddress(secured.remoteAddress));
          else secured.destroy();
        },
        onFailed: (address, reason) =>
          broker.refused(address, new ConnectError('tls-handshake-failed', { reason })),
        log,
      });
    // An alarm is a small packet and must not wait for the next one.
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
      listenToErrors(socket);
      const address = plainAddress(socket.remoteAddress);
      if (!rate.admits(address)) {
        broker.refused(address, new ConnectError('connecting-too-fast'));
        socket.destroy();
      } else if (front === undefined) {
        this.#serve(socket, address);
      } else {
        front.accept(socket);
      }
    });
  }

  /** @throws GatewayError `start-failed` when the address cannot be bound */
  start(): Promise<BoundAddress> {
    return listen(this.#server, { ...this.#options, protocol: this.#protocol });
  }

  /** Accepts no more connections; open ones belong to the broker. */
  stop(): void {
    if (this.#server.listening) this.#server.close();
  }

  get #protocol() {
    return this.#options.certificate === undefined ? 'mqtt' : 'mqtts';
  }

  #serve(socket: Socket, address: string): void {
    const certificate = clientCertificateOf(socket);
    const client = this.#options.broker.arrived(address, this.#protocol, certificate);
    client.start(overSocket(socket, client.incoming));
  }
}

const WEBSOCKET_PATH = '/mqtt';
/** The subprotocols of MQTT 3.1.1 [MQTT-6.0.0-3] and MQTT 3.1. */
const SUBPROTOCOLS = ['mqtt', 'mqttv3.1'];
const SERVER_OPTIONS = {
  noServer: true,
  /** One frame of a connection in a turn of the event loop: 64 KiB may have ten thousand without a payload. */
  allowSynchronousEvents: false,
  /** Of one WebSocket message; `ws` holds them until it is complete. */
  maxFragments: 4_096,
  /**
   * Unread answers to pings: more than the frames without data that are allowed, so that limit, which is reported, acts
   * first. The types of `ws` lack this option.
   */
  maxPendingAutoPongs: 2_000,
};

export interface WebSocketListenerOptions {
  readonly rate: Pick<ConnectionRate, 'admits'>;
  readonly broker: Broker;
  /** Reports who sends frames that bring nothing. */
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
  /** Answers a request that is not a proper WebSocket handshake, and hangs up. */
  readonly refuse: (error: Error, socket: Duplex) => void;
}

/** MQTT over WebSocket. */
export class WebSocketListener {
  readonly #options: WebSocketListenerOptions;
  readonly #server: WebSocketServer;

  constructor(options: WebSocketListenerOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({
      ...SERVER_OPTIONS,
      // A frame may hold part of a packet, but no honest one holds more (dependency-faults.md, 16).
      maxPayload: options.broker.maxPacketBytes + 1024,
      handleProtocols: (offered) => SUBPROTOCOLS.find((name) => offered.has(name)) ?? false,
    });
    this.#server.on('wsClientError', options.refuse);
  }

  /** Ends every connection: the HTTP listener would wait for them at `stop`. */
  stop(): void {
    for (const connection of this.#server.clients) connection.terminate();
  }

  /** Whether the request asks for a WebSocket here (RFC 6455, 4.2.1). */
  takes({ url, headers }: IncomingMessage): boolean {
    const offered = headers.upgrade?.trim().toLowerCase();
    return offered === 'websocket' && url?.split('?')[0] === WEBSOCKET_PATH;
  }

  /** For the HTTP server's `upgrade` event. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { broker, rate, watch } = this.#options;
    const address = plainAddress(request.socket.remoteAddress);
    const isSecure = 'encrypted' in request.socket;
    // With TLS it was counted before its handshake.
    if (!isSecure && !rate.admits(address)) {
      broker.refused(address, new ConnectError('connecting-too-fast'));
      socket.destroy();
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (connection) => {
      if (!(socket instanceof Socket)) return;
      const protocol = isSecure ? 'wss' : 'ws';
      const client = broker.arrived(address, protocol, clientCertificateOf(socket));
      const onBadFrames = () => {
        if (client.isClosed) return;
        watch.exceeded('websocket-frames', `address:${networkOf(address)}`);
        client.endForFrames();
      };
      client.start(overWebSocket(connection, socket, client.incoming, onBadFrames));
    });
  }
}
