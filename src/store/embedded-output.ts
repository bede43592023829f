import { open, stat, truncate } from 'node:fs/promises';
import type { Logger } from 'pino';
import { unlessMissing } from './durable-file.js';

const LOOK_EVERY_MS = 250;
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

/**
 * Forwards what the embedded store writes to its output file to the log, routine lines at debug level.
 *
 * The store writes to a file and not to a pipe, because it outlives a killed gateway, and the next one is to
 * read its output too. The file is polled, because the kernel's file notifications can run out.
 */
export class OutputFollower {
  readonly #path: string;
  readonly #log: Logger;
  readonly #lastLines: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #position = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  /** Follows the file from its present end. */
  async start(): Promise<void> {
    this.#position = await this.#size();
    this.#timer = setInterval(() => void this.catchUp(), LOOK_EVERY_MS);
  }

  async stop(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    await this.catchUp();
  }

  /** Forwards all lines written so far. */
  catchUp(): Promise<void> {
    this.#reading = this.#reading
      .then(() => this.#read())
      .catch((err: unknown) => this.#log.warn({ err }, 'failed to read the output of the store'));
    return this.#reading;
  }

  /** The last lines forwarded. */
  lastLines(): string {
    return this.#lastLines.join('; ');
  }

  async #size(): Promise<number> {
    return (await unlessMissing(stat(this.#path)))?.size ?? 0;
  }

  async #read(): Promise<void> {
    const written = Buffer.alloc(Math.max(0, (await this.#size()) - this.#position));
    if (written.length === 0) return;
    const file = await open(this.#path);
    try {
      await file.read(written, 0, written.length, this.#position);
    } finally {
      await file.close();
    }
    // A line that is not yet whole is read again.
    const end = written.lastIndexOf('\n') + 1;
    this.#position += end;
    for (const line of written.toString('utf8', 0, end).split('\n')) {
      if (line.trim() !== '') this.#forward(line);
    }
    if (this.#position <= MAX_FILE_BYTES) return;
    await truncate(this.#path);
    this.#position = 0;
  }

  #forward(line: string): void {
    const [, sign = '#', said = line] = LINE.exec(line) ?? [];
    const isWarning = sign === '#' && !ROUTINE.test(said);
    this.#log[isWarning ? 'warn' : 'debug']({ part: 'embedded store' }, said);
    this.#lastLines.push(said);
    if (this.#lastLines.length > KEPT_LINES) this.#lastLines.shift();
  }
}
