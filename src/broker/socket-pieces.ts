import type { Duplex } from 'node:stream';
import { SocketFront } from '../network/socket-front.js';

/** As much as a client is read of in one turn (packet-reader.ts); 170 frames without a payload. */
const PIECE_BYTES = 1_024;

/**
 * A socket whose bytes come in pieces, one in a turn of the event loop.
 *
 * `ws` parses what it gets in one go, ten thousand frames in a chunk of 64 KiB, and a connection that is
 * terminated meanwhile to its end.
 */
export class SocketPieces extends SocketFront<Duplex> {
  #isAsked = false;
  #next: NodeJS.Immediate | undefined;

  constructor(socket: Duplex) {
    super(socket, PIECE_BYTES);
    socket.on('readable', () => this.#readLater());
    socket.once('end', () => this.push(null));
    socket.once('error', (error) => this.destroy(error));
    socket.once('close', () => this.destroy());
  }

  override _read(): void {
    this.#isAsked = true;
    this.#readLater();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearImmediate(this.#next);
    this.behind.destroy();
    callback(error);
  }

  #readLater(): void {
    if (!this.#isAsked || this.#next !== undefined || this.behind.readableLength === 0) return;
    this.#next = setImmediate(() => this.#readPiece());
  }

  #readPiece(): void {
    this.#next = undefined;
    const length = Math.min(this.behind.readableLength, PIECE_BYTES);
    const piece: unknown = this.behind.read(length);
    if (!(piece instanceof Buffer)) return;
    this.#isAsked = false;
    this.push(piece);
    this.noticeEnd();
  }
}
