import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { networkOf, plainAddress } from '../../domain/addresses.js';
import type { Circle } from '../../network/circle.js';

/** Bytes parsed in one turn: at most a dozen of the smallest requests. */
const BYTES_PER_TURN = 512;
/** Bytes of a body in one turn: parsing them costs next to nothing. */
const BODY_BYTES_PER_TURN = 65_536;
const BODY_BUFFER_BYTES = 16_384;
/** How long a client has to close the connection after the last answer. */
const LINGER_MS = 1_000;

/** The connection of a request; undefined where Node reads the sockets itself. */
export function connectionOf({ socket }: { readonly socket: unknown }): HttpConnection | undefined {
  return socket instanceof HttpConnection ? socket : undefined;
}

/**
 * A connection as Node's HTTP server sees it; it reads or handles one thing in each turn.
 *
 * Node would parse everything that has arrived, a thousand requests in 64 KiB, before anything else happens. Here the
 * bytes stay in the socket until it is their turn, and requests are handled one after another.
 */
export class HttpConnection extends Duplex {
  /** For Node, which buffers this much of a body before it pauses the connection. */
  override readonly readableHighWaterMark = BODY_BUFFER_BYTES;
  readonly #socket: Socket;
  readonly #circle: Circle;
  readonly #onIdle: () => void;
  /** Whose turns it shares: those of its network, or of a client that has shown a credential. */
  #line: string;
  /** Requests that are parsed and wait for their turn. */
  readonly #waiting: (() => void)[] = [];
  #answer: ServerResponse | undefined;
  #newest: IncomingMessage | undefined;
  /** The first bytes of a request that is not parsed yet. */
  #beginning = '';
  /** Bytes of the newest request's body that are still to read, at least; the bytes after them may be requests. */
  #bodyBytesLeft = 0;
  #pieceBytes = 0;
  #isAskedForBytes = false;
  #isRefused = false;
  #isHandedOver = false;
  #isFinishing = false;

  /** @param onIdle called when everything is answered */
  constructor(socket: Socket, circle: Circle, onIdle: () => void) {
    // No bytes wait here: Node would parse them without a turn, as soon as it reads on.
    super({ readableHighWaterMark: 1 });
    this.#socket = socket;
    this.#circle = circle;
    this.#onIdle = onIdle;
    this.#line = networkOf(plainAddress(socket.remoteAddress));
    this.on('resume', () => this.#want());
    socket.on('readable', this.#onReadable).once('end', this.#onEnd);
    socket.on('timeout', this.#onTimeout).once('close', this.#onClose);
  }

  /** For Node and the app, which ask a socket for these. */
  get remoteAddress(): string | undefined {
    return plainAddress(this.#socket.remoteAddress);
  }

  get encrypted(): boolean {
    return this.#socket instanceof TLSSocket;
  }

  setTimeout(timeoutMs: number): this {
    this.#socket.setTimeout(timeoutMs);
    return this;
  }

  /** Whether it has no request. */
  get isIdle(): boolean {
    return this.#answer === undefined && this.#waiting.length === 0 && !this.#isHandedOver;
  }

  /** Closes the connection once everything is written; Node calls this on a socket after the last answer. */
  destroySoon(): void {
    if (this.writable) this.end();
    else this.destroy();
  }

  /** Notes that the client has shown a valid credential of this principal (`principalKey`). */
  know(principal: string): void {
    this.#circle.leave(this.#line, this.#takeTurn);
    this.#line = principal;
    this.#want();
  }

  /** Handles a request when its turn comes. */
  queue(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const bodyBytes = Number(request.headers['content-length'] ?? 0);
    this.#bodyBytesLeft = Math.max(0, bodyBytes - this.#pieceBytes);
    this.#newest = request;
    this.#beginning = '';
    this.#waiting.push(() => {
      this.#answer = response;
      response.once('close', () => {
        this.#answer = undefined;
        if (this.isIdle) this.#onIdle();
        if (this.isIdle && this.#isFinishing) this.destroy();
        this.#want();
      });
      handle();
    });
    this.#want();
  }

  /**
   * Ends a connection whose bytes are not HTTP, with an error answer. Earlier requests are answered first. If the
   * answer to the faulty request itself has begun, or is out, the connection is cut, or the error would become part of it.
   *
   * @param answer gets whether the faulty request is a HEAD, as far as can be seen
   */
  refuse(answer: (isHead: boolean) => void): void {
    this.#isRefused = true;
    const isOfNewest = this.#newest?.complete === false;
    const isHead = isOfNewest ? this.#newest?.method === 'HEAD' : this.#beginning === 'HEAD ';
    const isInHand = this.#answer !== undefined || this.#waiting.length > 0;
    if (isInHand && !isOfNewest) this.#waiting.push(() => answer(isHead));
    else if (isOfNewest && (!isInHand || this.#answer?.headersSent === true)) this.destroy();
    else answer(isHead);
  }

  /** Hands over the socket, with its unread bytes, to another protocol. */
  handOver(): Socket {
    this.#isHandedOver = true;
    this.#circle.leave(this.#line, this.#takeTurn);
    this.#socket.off('readable', this.#onReadable).off('end', this.#onEnd);
    this.#socket.off('timeout', this.#onTimeout);
    return this.#socket;
  }

  /** Ends the connection once the requests in hand are answered. */
  finish(): void {
    this.#isFinishing = true;
    if (this.isIdle) this.destroy();
  }

  override _read(): void {
    this.#isAskedForBytes = true;
    this.#want();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: () => void): void {
    this.#socket.write(chunk, encoding, callback);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: () => void,
  ): void {
    this.#socket.cork();
    chunks.forEach(({ chunk, encoding }, index) => {
      this.#socket.write(chunk, encoding, index === chunks.length - 1 ? callback : undefined);
    });
    this.#socket.uncork();
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback);
    // TCP would reset a connection that closes with unread bytes, and the client lose the end of the answer (RFC 9112, 9.6).
    const timer = setTimeout(() => this.destroy(), LINGER_MS);
    this.once('close', () => clearTimeout(timer));
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#circle.leave(this.#line, this.#takeTurn);
    if (!this.#isHandedOver) this.#socket.destroy();
    callback(error);
  }

  get #wantsTurn(): boolean {
    if (this.destroyed || this.#isHandedOver) return false;
    if (this.#waiting.length > 0) return this.#answer === undefined;
    const mayRead = this.#answer === undefined || !this.#answer.req.complete;
    const isAsked = this.#isAskedForBytes && !this.isPaused() && !this.#isRefused;
    return mayRead && isAsked && this.#socket.readableLength > 0;
  }

  #want(): void {
    if (this.#wantsTurn) this.#circle.want(this.#line, this.#takeTurn);
  }

  readonly #takeTurn = () => {
    if (!this.#wantsTurn) return;
    const handle = this.#waiting.shift();
    if (handle === undefined) this.#readPiece();
    else handle();
    this.#want();
  };

  #readPiece(): void {
    const isBody = this.#bodyBytesLeft > 0;
    const limit = isBody ? Math.min(this.#bodyBytesLeft, BODY_BYTES_PER_TURN) : BYTES_PER_TURN;
    const bytes: unknown = this.#socket.read(Math.min(this.#socket.readableLength, limit));
    if (!(bytes instanceof Buffer)) return;
    this.#isAskedForBytes = false;
    if (isBody) this.#bodyBytesLeft -= bytes.length;
    else {
      this.#pieceBytes = bytes.length;
      if (this.#beginning === '') this.#beginning = bytes.toString('latin1', 0, 5);
    }
    this.push(bytes);
    this.#noticeEnd();
  }

  /** At the end of the stream, this read makes the socket emit `end`. */
  #noticeEnd(): void {
    if (this.#socket.readableLength === 0 && !this.#socket.destroyed) this.#socket.read(0);
  }

  readonly #onReadable = () => {
    this.#noticeEnd();
    this.#want();
  };

  readonly #onEnd = () => this.push(null);

  readonly #onTimeout = () => {
    // A connection that waits for its turn has not stalled.
    if (this.#wantsTurn) this.#socket.setTimeout(this.#socket.timeout ?? 0);
    else this.emit('timeout');
  };

  readonly #onClose = () => this.destroy();
}
