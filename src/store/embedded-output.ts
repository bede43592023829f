import { type FileHandle, open } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import type { Logger } from 'pino';

const LOOK_EVERY_MS = 250;
const CHUNK_BYTES = 65_536;
const MAX_FILE_BYTES = 1024 * 1024;
const KEPT_LINES = 5;

/** `1234:M 21 Nov 2026 11:01:22.253 # text`: the sign before the text is its level. */
const LINE = /^\d+:[A-Z] \d+ \w+ \d{4} [\d:.]+ ([.*#-]) (.*)$/;
/**
 * Warnings of the server that report nothing wrong, or nothing that concerns a gateway: without overcommit
 * a fork can fail for want of memory, and the append-only file is rewritten later.
 */
const ROUTINE =
  /is starting|just started|Configuration loaded|Server initialized|ser requested shutdown|eady to exit|Memory overcommit must be enabled/;

/** Forwards the embedded store's output to the log, routine lines at debug level. */
export interface OutputFollower {
  /** Forwards everything written so far. */
  catchUp(): Promise<void>;
  /** The last lines forwarded. */
  lastLines(): string;
  stop(): Promise<void>;
}

/**
 * Follows the embedded store's output file from its present end.
 *
 * The store writes to a file and not to a pipe, because it outlives a killed gateway and must not die on
 * its next line. The file is polled, because the kernel's file notifications can run out.
 */
export async function followOutput(file: string, log: Logger): Promise<OutputFollower> {
  const handle = await open(file, 'a+', 0o600);
  const { size } = await handle.stat();
  return new Follower(handle, size, log);
}

class Follower implements OutputFollower {
  readonly #handle: FileHandle;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #decoder = new StringDecoder('utf8');
  readonly #lastLines: string[] = [];
  #position: number;
  #unfinished = '';
  #reading: Promise<void> = Promise.resolve();

  constructor(handle: FileHandle, position: number, log: Logger) {
    this.#handle = handle;
    this.#position = position;
    this.#log = log;
    this.#timer = setInterval(() => void this.catchUp(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  catchUp(): Promise<void> {
    this.#reading = this.#reading
      .then(() => this.#read())
      .catch((err: unknown) => this.#log.warn({ err }, 'failed to read the output of the store'));
    return this.#reading;
  }

  lastLines(): string {
    return this.#lastLines.join('; ');
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.catchUp();
    await this.#handle.close();
  }

  async #read(): Promise<void> {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await this.#handle.read(chunk, 0, CHUNK_BYTES, this.#position);
      if (bytesRead === 0) break;
      this.#position += bytesRead;
      this.#forward(this.#decoder.write(chunk.subarray(0, bytesRead)));
    }
    if (this.#position <= MAX_FILE_BYTES) return;
    await this.#handle.truncate(0);
    this.#position = 0;
  }

  #forward(text: string): void {
    const lines = (this.#unfinished + text).split('\n');
    this.#unfinished = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') this.#forwardLine(line);
  }

  #forwardLine(line: string): void {
    const [, sign = '#', said = line] = LINE.exec(line) ?? [];
    const isWarning = sign === '#' && !ROUTINE.test(said);
    this.#log[isWarning ? 'warn' : 'debug']({ part: 'embedded store' }, said);
    this.#lastLines.push(said);
    if (this.#lastLines.length > KEPT_LINES) this.#lastLines.shift();
  }
}
