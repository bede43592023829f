import { Duplex } from 'node:stream';

/** A stream in front of a socket: it decides when bytes are read, and passes on writes unchanged. */
export abstract class SocketFront<Socket extends Duplex> extends Duplex {
  protected readonly behind: Socket;

  /** @param bufferBytes how many bytes may wait here to be read */
  constructor(behind: Socket, bufferBytes: number) {
    super({ readableHighWaterMark: bufferBytes });
    this.behind = behind;
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: () => void): void {
    this.behind.write(chunk, encoding, callback);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: () => void,
  ): void {
    this.behind.cork();
    const last = chunks.length - 1;
    chunks.forEach(({ chunk, encoding }, index) => {
      this.behind.write(chunk, encoding, index === last ? callback : undefined);
    });
    this.behind.uncork();
  }

  override _final(callback: () => void): void {
    this.behind.end(callback);
  }

  /** At the end of the stream, this read makes the socket emit `end`. */
  protected noticeEnd(): void {
    if (this.behind.readableLength === 0 && !this.behind.destroyed) this.behind.read(0);
  }
}

/** Bytes taken at a time from the stream behind; the others wait there. */
const BUFFER_BYTES = 4 * 1024;

/**
 * A connection that is read to its last byte, whatever happens to the client.
 *
 * A client may send everything and hang up before it gets an answer (MQTT 3.1.1, 3.1.4). Even then, all bytes that
 * the system has received are read: a failed write is dropped, and the stream ends only after its last byte.
 */
export class ReadToEnd extends SocketFront<Duplex> {
  readonly #pieceBytes: number | undefined;
  #isAsked = false;
  #turn: NodeJS.Immediate | undefined;

  /** @param pieceBytes how many bytes are passed on in one turn of the event loop; undefined: as many as are read */
  constructor(behind: Duplex, pieceBytes?: number) {
    super(behind, pieceBytes ?? BUFFER_BYTES);
    this.#pieceBytes = pieceBytes;
    behind.allowHalfOpen = true;
    dropFailedWrites(behind);
    for (const event of ['readable', 'end', 'error', 'close']) {
      behind.on(event, () => this.#passOn());
    }
  }

  override _read(): void {
    this.#isAsked = true;
    this.#passOn();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: () => void): void {
    if (this.behind.writable) super._write(chunk, encoding, () => callback());
    else callback();
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: () => void,
  ): void {
    if (this.behind.writable) super._writev(chunks, () => callback());
    else callback();
  }

  override _final(callback: () => void): void {
    if (this.behind.writable) this.behind.end(() => callback());
    else callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearImmediate(this.#turn);
    this.behind.destroy();
    callback(error);
  }

  #passOn(): void {
    if (!this.#isAsked || this.#turn !== undefined || this.readableEnded) return;
    const { readableLength, readableEnded, destroyed } = this.behind;
    if (readableLength > 0 && this.#pieceBytes !== undefined) {
      this.#turn = setImmediate(() => {
        this.#turn = undefined;
        this.#pass(this.#pieceBytes);
      });
    } else if (readableLength > 0) this.#pass();
    else if (readableEnded || destroyed) this.#end();
    else this.noticeEnd();
  }

  #pass(maxBytes = BUFFER_BYTES): void {
    // A destroyed stream still gives what it has buffered.
    const bytes: unknown = this.behind.read(Math.min(this.behind.readableLength, maxBytes));
    if (!(bytes instanceof Buffer)) return;
    this.#isAsked = false;
    this.push(bytes);
    this.noticeEnd();
  }

  #end(): void {
    this.#isAsked = false;
    this.push(null);
    // If nothing is left to read, this makes it emit `end`.
    if (this.readableLength === 0) this.read(0);
  }
}

/** Keeps a failed write from destroying the stream, which would discard what can still be read. */
function dropFailedWrites(stream: Duplex): void {
  const write = stream._write.bind(stream);
  stream._write = (chunk, encoding, callback) => write(chunk, encoding, () => callback());
  const writev = stream._writev?.bind(stream);
  if (writev === undefined) return;
  stream._writev = (chunks, callback) => writev(chunks, () => callback());
}
