import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import { networkOf, plainAddress } from '../../domain/addresses.js';
import { TokenBucket, TokenRate } from '../../domain/token-bucket.js';
import type { ConnectionRate } from '../../network/connection-rate.js';
import { type BoundAddress, listen } from '../../network/listen.js';
import type { ProcessorShare } from '../../network/processor-share.js';
import { ReadToEnd } from '../../network/socket-front.js';
import { TlsHandshakes } from '../../network/tls-handshakes.js';
import type { QuotaWatch } from '../../site/access/quota-watch.js';
import { ConnectError } from './connect-errors.js';
import { sendPacketByPacket } from './packet-frames.js';

/** Records a connection that is ended before or outside of MQTT. */
type OnRefused = (address: string, error: ConnectError, request?: IncomingMessage) => void;

/** Serves MQTT on a connection. */
export type Handle = (stream: Duplex, request?: IncomingMessage) => void;

export interface TcpListenerOptions {
  readonly host: string;
  readonly port: number;
  /** PEM texts; without them the listener is plaintext. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Timeout of a TLS handshake, ten seconds by default. */
  readonly handshakeTimeoutMs?: number;
  readonly rate: Pick<ConnectionRate, 'admits'>;
  readonly onRefused: OnRefused;
  /** The turns in which TLS handshakes begin. */
  readonly turns: ProcessorShare;
  readonly handle: Handle;
  readonly log: Logger;
}

/** MQTT over TCP, with or without TLS. */
export class TcpListener {
  readonly #options: TcpListenerOptions;
  readonly #server: Server;

  constructor(options: TcpListenerOptions) {
    this.#options = options;
    const { tls, rate, onRefused, handle, log } = options;
    const listenToErrors = (socket: Socket) => {
      socket.on('error', (error) => log.debug({ err: error }, 'connection failed'));
    };
    const onFailed = (address: string, reason: string) => {
      onRefused(address, new ConnectError('tls-handshake-failed', { reason }));
    };
    const handshakes = tls && new TlsHandshakes({ ...options, tls, onFailed });
    // An alarm is a small packet and must not wait for the next one.
    this.#server = createServer({ noDelay: true }, (socket) => {
      listenToErrors(socket);
      const address = plainAddress(socket.remoteAddress);
      if (!rate.admits(address)) {
        onRefused(address, new ConnectError('connecting-too-fast'));
        socket.destroy();
      } else if (handshakes === undefined) {
        handle(socket);
      } else {
        handshakes.accept(socket, (secured) => {
          listenToErrors(secured);
          // A handshake may end after `stop`; nothing would then serve the connection.
          if (this.#server.listening) handle(secured);
          else secured.destroy();
        });
      }
    });
  }

  /** @throws GatewayError `start-failed` when the address cannot be bound */
  start(): Promise<BoundAddress> {
    const protocol = this.#options.tls === undefined ? 'mqtt' : 'mqtts';
    return listen(this.#server, { ...this.#options, protocol });
  }

  /** Accepts no more connections; open ones belong to the broker. */
  stop(): void {
    if (this.#server.listening) this.#server.close();
  }
}

/**
 * Bytes of WebSocket frames that are parsed in one turn of the event loop: 170 frames without a payload.
 *
 * `ws` parses a whole chunk in one go: ten thousand frames in 64 KiB.
 */
const PIECE_BYTES = 1_024;

const WEBSOCKET_PATH = '/mqtt';
/** The subprotocols of MQTT 3.1.1 [MQTT-6.0.0-3] and MQTT 3.1. */
const SUBPROTOCOLS = ['mqtt', 'mqttv3.1'];

/** The prefix of the `ws` error codes for frames that break the protocol or a limit. */
const FRAME_ERROR = 'WS_ERR_';
/**
 * Frames of one connection that carry no byte of a packet: pings, pongs and empty ones. More of them end it.
 *
 * A client may send them (RFC 6455, 5.5 and 5.6): mqtt.js sends an empty one for each empty field of a packet. So
 * each frame with data pays for some without.
 */
const EMPTY_FRAME_RATE = new TokenRate(10 / 1_000, 1_000);
const EMPTY_FRAMES_PAID = 10;
/** Of one WebSocket message; `ws` holds them until it is complete. */
const MAX_FRAGMENTS = 4_096;
/**
 * Unread answers to pings: more than the pings allowed in a burst, so that limit, which is reported, acts first.
 *
 * The types of `ws` lack this option.
 */
const PENDING_PONGS = { maxPendingAutoPongs: 2_000 };
/** Time for the close frame to reach a client that broke the protocol, before the connection is cut. */
const CLOSE_FRAME_MS = 250;

export interface WebSocketListenerOptions {
  readonly maxPacketBytes: number;
  readonly rate: Pick<ConnectionRate, 'admits'>;
  readonly onRefused: OnRefused;
  readonly handle: Handle;
  /** Reports who sends too many frames without data. */
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
  /** Answers a request that is not a proper WebSocket handshake, and hangs up. */
  readonly refuse: (error: Error, socket: Duplex) => void;
}

/** MQTT over WebSocket at `/mqtt`, on connections that an HTTP listener passes on. */
export class WebSocketListener {
  readonly #server: WebSocketServer;
  readonly #rate: Pick<ConnectionRate, 'admits'>;
  readonly #onRefused: OnRefused;
  readonly #handle: Handle;
  readonly #watch: WebSocketListenerOptions['watch'];

  constructor(options: WebSocketListenerOptions) {
    const { maxPacketBytes, rate, onRefused, handle, watch, refuse } = options;
    this.#rate = rate;
    this.#onRefused = onRefused;
    this.#handle = handle;
    this.#watch = watch;
    this.#server = new WebSocketServer({
      noServer: true,
      // A frame may hold part of a packet, but no honest one holds more (dependency-faults.md, 16).
      maxPayload: maxPacketBytes + 1024,
      maxFragments: MAX_FRAGMENTS,
      ...PENDING_PONGS,
      handleProtocols: (offered) => SUBPROTOCOLS.find((name) => offered.has(name)) ?? false,
    });
    this.#server.on('wsClientError', refuse);
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
    const address = plainAddress(request.socket.remoteAddress);
    // With TLS it was counted before its handshake.
    if (!('encrypted' in request.socket) && !this.#rate.admits(address)) {
      this.#onRefused(address, new ConnectError('connecting-too-fast'));
      socket.destroy();
      return;
    }
    const name = () => {
      this.#watch.exceeded('websocket-frames', `address:${networkOf(address)}`);
      this.#onRefused(address, new ConnectError('websocket-frames'), request);
    };
    const pieces = new ReadToEnd(socket, PIECE_BYTES);
    this.#server.handleUpgrade(request, pieces, head, (connection) => {
      const stream = createWebSocketStream(connection);
      sendPacketByPacket(stream, connection, pieces);
      whenFramesBringNothing(connection, () => {
        if (connection.readyState !== connection.OPEN) return;
        name();
        connection.terminate();
      });
      connection.once('error', (error) => {
        if ('code' in error && String(error.code).startsWith(FRAME_ERROR)) name();
        // `ws` would keep reading, and discard what arrives, while a closing handshake may last.
        setImmediate(() => pieces.pause());
        setTimeout(() => connection.terminate(), CLOSE_FRAME_MS);
      });
      stream.on('error', () => connection.terminate());
      this.#handle(stream, request);
    });
  }
}

/** Calls back on a text frame, and on too many frames without packet bytes that a budget could count. */
function whenFramesBringNothing(connection: WebSocket, end: () => void): void {
  const emptyFrames = new TokenBucket();
  emptyFrames.limit(EMPTY_FRAME_RATE, 0);
  const takeEmptyFrame = () => {
    const nowMs = performance.now();
    emptyFrames.take(1, nowMs);
    if (emptyFrames.freeAtMs > nowMs) end();
  };
  connection.on('ping', takeEmptyFrame).on('pong', takeEmptyFrame);
  connection.on('message', (data, isBinary) => {
    // [MQTT-6.0.0-1]
    if (!isBinary) end();
    else if (Buffer.isBuffer(data) && data.length === 0) takeEmptyFrame();
    else emptyFrames.take(-EMPTY_FRAMES_PAID, performance.now());
  });
}
