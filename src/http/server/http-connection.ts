import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { plainAddress } from '../../domain/addresses.js';
import type { ProcessorShare, ShareUser } from '../../network/processor-share.js';
import { SocketFront } from '../../network/socket-front.js';

/** Bytes parsed in one turn: at most a dozen of the smallest requests. */
const BYTES_PER_TURN = 512;
const OFFER = /upgrade/i;
const END_OF_HEAD = '\r\n\r\n';
/** The word searched for may begin in the previous piece. */
const OVERLAP = 'upgrade'.length - 1;
/** Bytes of a body in one turn: parsing them costs next to nothing. */
const BODY_BYTES_PER_TURN = 65_536;
const BODY_BUFFER_BYTES = 16_384;
/** How long, and how much, to read on after the last answer. */
const LINGER_MS = 1_000;
const MAX_LINGER_BYTES = 2 * 1024 * 1024;
const HEAD_METHOD = 'HEAD ';

export interface HttpConnectionOptions {
  readonly socket: Socket;
  /** The line in which it waits until the client is known. */
  readonly network: string;
  readonly turns: ProcessorShare;
  /** Called when a request is parsed or another protocol takes over, and when nothing is left to answer. */
  readonly onBusy: (isBusy: boolean) => void;
  /** Called when everything is answered and only the client has to close. */
  readonly onEnding: () => void;
}

/** The connection of a request; undefined where Node reads the sockets itself. */
export function connectionOf({ socket }: { readonly socket: unknown }): HttpConnection | undefined {
  return socket instanceof HttpConnection ? socket : undefined;
}

/**
 * A connection as Node's HTTP server sees it; it reads or handles one thing in each turn.
 *
 * Node would parse everything that has arrived, a thousand requests in 64 KiB, before anything else happens.
 * Here the bytes stay in the socket until it is their turn, and requests are handled one after another.
 */
export class HttpConnection extends SocketFront<Socket> implements ShareUser {
  line: string;
  /** For Node, which buffers this much of a body before it pauses the connection. */
  override readonly readableHighWaterMark = BODY_BUFFER_BYTES;
  readonly #turns: ProcessorShare;
  readonly #onBusy: (isBusy: boolean) => void;
  readonly #onEnding: () => void;
  /** Requests that are parsed and wait for their turn. */
  readonly #waiting: (() => void)[] = [];
  #answer: ServerResponse | undefined;
  #newest: IncomingMessage | undefined;
  #isMalformed = false;
  /** The first bytes of a request that is not parsed yet. */
  #beginning = '';
  #isAskedForBytes = false;
  #pieceBytes = 0;
  /** The last bytes of the previous piece. */
  #lastOfHead = '';
  /** Whether the head that is being read may have an `Upgrade`. */
  #hasOffer = false;
  /** Bytes of the body still to read, at least; the bytes after them may be requests. */
  #bodyBytesLeft = 0;
  #isHandedOver = false;

  constructor({ socket, network, turns, onBusy, onEnding }: HttpConnectionOptions) {
    // No bytes wait here: Node would parse them without a turn, as soon as it reads on.
    super(socket, 1);
    this.on('resume', () => this.#want());
    this.line = network;
    this.#turns = turns;
    this.#onBusy = onBusy;
    this.#onEnding = onEnding;
    socket.on('readable', this.#onReadable);
    socket.once('end', this.#onEnd);
    socket.on('timeout', this.#onTimeout);
    socket.once('close', this.#onClose);
  }

  /** For Node and the app, which ask a socket for these. */
  get remoteAddress(): string | undefined {
    return plainAddress(this.behind.remoteAddress);
  }

  get encrypted(): boolean {
    return this.behind instanceof TLSSocket;
  }

  setTimeout(timeoutMs: number): this {
    this.behind.setTimeout(timeoutMs);
    return this;
  }

  /** Whether the request being read is a HEAD, as far as can be seen. */
  get isHead(): boolean {
    return this.#beginning === HEAD_METHOD;
  }

  /** Closes the connection once everything is written; Node calls this on a socket after the last answer. */
  destroySoon(): void {
    if (this.writable) this.end();
  }

  /** Notes that the client has shown a valid credential of this principal (`principalKey`). */
  know(principal: string): void {
    this.#turns.leave(this);
    this.line = principal;
    this.#want();
  }

  /** Waits for a turn for the next part of longer work; returns the function that ends the turn. */
  turn(): Promise<() => void> {
    const { line } = this;
    return new Promise((resolve) => {
      this.#turns.want({ line, takeTurn: () => resolve(this.#turns.hold(line)) });
    });
  }

  /** Handles a request when its turn comes. */
  queue(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const bodyBytes = Number(request.headers['content-length'] ?? 0);
    this.#bodyBytesLeft = Math.max(0, bodyBytes - this.#pieceBytes);
    this.#newest = request;
    this.#beginning = '';
    this.#onBusy(true);
    this.#waiting.push(() => {
      this.#answer = response;
      response.once('close', () => {
        this.#answer = undefined;
        if (this.#waiting.length === 0) this.#onBusy(false);
        this.#want();
      });
      handle();
    });
    this.#want();
  }

  /**
   * Ends a connection whose bytes are not HTTP, with an error answer. Earlier requests are answered first. If the
   * answer to the faulty request itself has begun, it is cut off, or the error would become part of it.
   */
  refuse(answer: () => void): void {
    this.#isMalformed = true;
    const hasRequest = this.#answer !== undefined || this.#waiting.length > 0;
    if (hasRequest && this.#newest?.complete === true) this.#waiting.push(answer);
    else if (this.#answer?.headersSent === true) this.destroy();
    else answer();
  }

  takeTurn(): void {
    if (!this.#wantsTurn) return;
    const handle = this.#waiting.shift();
    if (handle === undefined) this.#readPiece();
    else handle();
    this.#want();
  }

  /** Hands over the socket, with its unread bytes, to another protocol. */
  handOver(): Socket {
    this.#isHandedOver = true;
    this.#onBusy(true);
    this.#turns.leave(this);
    this.behind.off('readable', this.#onReadable);
    this.behind.off('end', this.#onEnd);
    this.behind.off('timeout', this.#onTimeout);
    return this.behind;
  }

  override _read(): void {
    this.#isAskedForBytes = true;
    this.#want();
  }

  override _final(callback: () => void): void {
    super._final(callback);
    this.#linger();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#turns.leave(this);
    if (!this.#isHandedOver) this.behind.destroy();
    callback(error);
  }

  get #wantsTurn(): boolean {
    if (this.destroyed || this.#isHandedOver) return false;
    if (this.#waiting.length > 0) return this.#answer === undefined;
    const isBetweenRequests = this.#answer === undefined;
    const isBodyExpected = this.#answer?.req.complete === false;
    const isAsked = this.#isAskedForBytes && !this.isPaused() && !this.#isMalformed;
    const mayRead = isAsked && (isBetweenRequests || isBodyExpected);
    return mayRead && this.behind.readableLength > 0;
  }

  #want(): void {
    if (this.#wantsTurn) this.#turns.want(this);
  }

  #readPiece(): void {
    const isBody = this.#bodyBytesLeft > 0;
    const limit = isBody ? Math.min(this.#bodyBytesLeft, BODY_BYTES_PER_TURN) : BYTES_PER_TURN;
    const bytes: unknown = this.behind.read(Math.min(this.behind.readableLength, limit));
    if (!(bytes instanceof Buffer)) return;
    this.#isAskedForBytes = false;
    if (isBody) {
      this.#bodyBytesLeft -= bytes.length;
      this.push(bytes);
    } else {
      if (this.#beginning === '') this.#beginning = bytes.toString('latin1', 0, HEAD_METHOD.length);
      this.#pushHead(bytes);
    }
    this.noticeEnd();
  }

  /**
   * Passes on bytes of heads, but none after the head of a request with `Upgrade`: Node would throw them
   * away, even if nobody accepts the offer.
   */
  #pushHead(bytes: Buffer): void {
    const before = this.#lastOfHead;
    const text = before + bytes.toString('latin1');
    this.#hasOffer ||= OFFER.test(text);
    const at = text.indexOf(END_OF_HEAD, Math.max(0, before.length - END_OF_HEAD.length + 1));
    if (!this.#hasOffer || at === -1) {
      this.#lastOfHead = text.slice(-OVERLAP);
      this.#pieceBytes = bytes.length;
      this.push(bytes);
      return;
    }
    const headBytes = at + END_OF_HEAD.length - before.length;
    this.#hasOffer = false;
    this.#lastOfHead = '';
    this.#pieceBytes = 0;
    if (headBytes < bytes.length) this.behind.unshift(bytes.subarray(headBytes));
    this.push(bytes.subarray(0, headBytes));
  }

  /**
   * Waits for the client to close, and reads what it still sends, up to a bound.
   *
   * If the connection closed with unread bytes, TCP would reset it, and the client would lose the end of
   * the answer (RFC 9112, 9.6).
   */
  #linger(): void {
    this.#turns.leave(this);
    if (this.destroyed || this.#isHandedOver) return;
    this.#onEnding();
    this.behind.off('readable', this.#onReadable);
    const timer = setTimeout(() => this.destroy(), LINGER_MS);
    this.behind.once('close', () => clearTimeout(timer));
    this.behind.once('end', () => this.destroy());
    let bytes = 0;
    this.behind.on('data', (data: Buffer) => {
      bytes += data.length;
      if (bytes > MAX_LINGER_BYTES) this.destroy();
    });
    this.behind.resume();
  }

  readonly #onReadable = () => {
    this.noticeEnd();
    this.#want();
  };

  readonly #onEnd = () => this.push(null);

  readonly #onTimeout = () => {
    // A connection that waits for its turn has not stalled.
    if (this.#wantsTurn) this.behind.setTimeout(this.behind.timeout ?? 0);
    else this.emit('timeout');
  };

  readonly #onClose = () => this.destroy();
}
