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
