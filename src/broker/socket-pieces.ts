import { Duplex } from 'node:stream';

/** As much as a client is read of in one turn (packet-reader.ts); 170 frames without a payload. */
const PIECE_BYTES = 1_024;

/**
 * A socket whose bytes come in pieces, one in a turn of the event loop.
 *
 * `ws` parses what it gets in one go, ten thousand frames in a chunk of 64 KiB, and a connection that is
 * terminated meanwhile to its end.
 */
export class SocketPieces extends Duplex {
  readonly #socket: Duplex;
  #isAsked = false;
  #next: NodeJS.Immediate | undefined;

  constructor(socket: Duplex) {
    super({ readableHighWaterMark: PIECE_BYTES });
    this.#socket = socket;
    socket.on('readable', () => this.#readLater());
    socket.once('end', () => this.push(null));
    socket.once('error', (error) => this.destroy(error));
    socket.once('close', () => this.destroy());
  }

  override _read(): void {
    this.#isAsked = true;
    this.#readLater();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: () => void): void {
    this.#socket.write(chunk, encoding, callback);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: () => void,
  ): void {
    this.#socket.cork();
    const last = chunks.length - 1;
    chunks.forEach(({ chunk, encoding }, index) => {
      this.#socket.write(chunk, encoding, index === last ? callback : undefined);
    });
    this.#socket.uncork();
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearImmediate(this.#next);
    this.#socket.destroy();
    callback(error);
  }

  #readLater(): void {
    if (!this.#isAsked || this.#next !== undefined || this.#socket.readableLength === 0) return;
    this.#next = setImmediate(() => this.#readPiece());
  }

  #readPiece(): void {
    this.#next = undefined;
    const length = Math.min(this.#socket.readableLength, PIECE_BYTES);
    const piece: unknown = this.#socket.read(length);
    if (!(piece instanceof Buffer)) return;
    this.#isAsked = false;
    this.push(piece);
    // At the end of the stream, this read makes the socket emit `end`.
    if (this.#socket.readableLength === 0) this.#socket.read(0);
  }
}
