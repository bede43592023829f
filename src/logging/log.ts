/**
 * The gateway's log: what a line holds and hides, how repeated lines are held back, and the way to standard output.
 *
 * One JSON object a line, without secrets, tokens, footage or custom data. Nobody can flood it, and it blocks nobody.
 */
import {
  type DestinationStream,
  type Logger,
  type LoggerOptions,
  pino,
  stdTimeFunctions,
} from 'pino';
import { SonicBoom } from 'sonic-boom';
import { networkOf } from '../domain/addresses.js';
import { shortened } from '../site/access/denials.js';
import { isFenced } from '../store/scripts.js';

/** Names whose values are never logged (contract 1, logs). */
const SECRET_NAMES = wordsOf(`
  accessKeyId adminToken args audio authorization Authorization cookie customData footage
  password payload secret secretAccessKey secretHash signature token tokenHash uploadUrl url
  video
`);
const DEBUG = pino.levels.values['debug'] ?? 20;
const MAX_SECRET_DEPTH = 4;
const MAX_CAUSES = 5;

/**
 * Fields that name whom or what a line is about; the first one in a line counts.
 *
 * A line with one of them comes once a minute for each subject. Clients choose client ids, of which `session` has one: an
 * address or a principal counts before.
 */
const SUBJECT_FIELDS = wordsOf(
  'principal deviceId bridge webhook address session clientId locationId log part quota',
);

/**
 * Creates the log.
 *
 * A line that names its subject (`SUBJECT_FIELDS`) comes once a minute for that subject, with the number of those held
 * back as `repeated`. At debug level all of them are written.
 *
 * @param repeated holds lines back; without it every line is written
 */
export function createLog(
  level: string,
  destination: DestinationStream,
  repeated?: RepeatedLines,
): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: secretPaths(), censor: '[redacted]' },
    serializers: { err: (error: unknown) => describeError(error) },
    hooks: {
      logMethod(given, method, levelNumber) {
        const [first, second]: readonly unknown[] = given;
        const [named, text] = isRecord(first) ? [first, second] : [{}, first];
        // Logged once, as the loss of the lease, and not by each part that runs on for a moment.
        if (levelNumber > DEBUG && isFenced(named['err'])) {
          this.debug(named, String(text));
          return;
        }
        const subject = subjectOf(named) ?? subjectOf(this.bindings());
        if (levelNumber <= DEBUG || subject === undefined) {
          method.apply(this, given);
          return;
        }
        const [fields, message] = [copied(named), String(text)];
        const write = (count: number) => method.call(this, { ...fields, repeated: count }, message);
        if (repeated?.holdsBack(message, subject, write) === true) this.debug(fields, message);
        else method.call(this, fields, message);
      },
    },
  };
  return pino(options, destination);
}

function subjectOf(fields: Readonly<Record<string, unknown>>): string | undefined {
  for (const name of SUBJECT_FIELDS) {
    const value = fields[name];
    if (typeof value !== 'string') continue;
    return `${name} ${name === 'address' ? networkOf(value) : value}`;
  }
  return undefined;
}

/** The fields with their texts bounded: a stranger chooses topics, paths and client ids. */
function copied(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(fields);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? shortened(value) : value]),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Error);
}

function wordsOf(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** Patterns for each depth, because the redaction library has none for any depth. */
function secretPaths(): string[] {
  const depths = Array.from({ length: MAX_SECRET_DEPTH }, (_, depth) => '*.'.repeat(depth));
  return depths.flatMap((prefix) => SECRET_NAMES.map((name) => prefix + name));
}

/**
 * Serializes errors for the log.
 *
 * pino's own serializer copies every property, and an ioredis error includes the arguments of the failed
 * command: custom data, hashes of secrets.
 */
function describeError(error: unknown, causes = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : typeof error;
  return {
    type: error.name,
    message: error.message,
    ...('code' in error && { code: error.code }),
    stack: error.stack,
    ...(error.cause !== undefined &&
      causes < MAX_CAUSES && { cause: describeError(error.cause, causes + 1) }),
  };
}

const INTERVAL_MS = 60_000;
const SWEEP_INTERVAL_MS = 1_000;
/** Per message: a client with ever more addresses must fill neither the memory nor the log. */
const MAX_SUBJECTS = 1_000;
/** The subject of all lines beyond that. */
const OTHERS = '';

interface Interval {
  readonly endsAtMs: number;
  repeated: number;
  /** Writes the last line held back, with the number of all. */
  write: ((repeated: number) => void) | undefined;
}

/**
 * Holds repeated log lines back, so that each comes once a minute for its subject.
 *
 * The first is written immediately. Lines that follow within a minute are counted, and the last of them is
 * written at its end, with their number.
 */
export class RepeatedLines {
  readonly #elapsed: () => number;
  /** By message and subject; those of one message are in the order of their ends. */
  readonly #intervals = new Map<string, Map<string, Interval>>();
  #timer: NodeJS.Timeout | undefined;

  /** @param elapsed a clock that does not jump */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  start(): void {
    this.#timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Writes the lines that are held back. */
  stop(): void {
    clearInterval(this.#timer);
    for (const intervals of this.#intervals.values()) {
      for (const { write, repeated } of intervals.values()) write?.(repeated);
    }
    this.#intervals.clear();
  }

  /**
   * Whether a line is held back; if not, the caller writes it now.
   *
   * @param write writes the line with the number of lines held back
   */
  holdsBack(message: string, subject: string, write: (repeated: number) => void): boolean {
    const intervals = this.#intervals.get(message) ?? new Map<string, Interval>();
    this.#intervals.set(message, intervals);
    const isKnown = intervals.has(subject) || intervals.size < MAX_SUBJECTS;
    const counted = isKnown ? subject : OTHERS;
    const interval = intervals.get(counted);
    if (interval === undefined) {
      this.#begin(intervals, counted);
      return false;
    }
    interval.repeated++;
    interval.write = write;
    return true;
  }

  /** Writes the last line of every minute that is over, and starts another minute with it. */
  sweep(): void {
    const nowMs = this.#elapsed();
    for (const [message, intervals] of this.#intervals) {
      for (const [subject, { endsAtMs, repeated, write }] of intervals) {
        if (endsAtMs > nowMs) break;
        intervals.delete(subject);
        if (write === undefined) continue;
        write(repeated);
        this.#begin(intervals, subject);
      }
      if (intervals.size === 0) this.#intervals.delete(message);
    }
  }

  #begin(intervals: Map<string, Interval>, subject: string): void {
    const endsAtMs = this.#elapsed() + INTERVAL_MS;
    intervals.set(subject, { endsAtMs, repeated: 0, write: undefined });
  }
}

/** Bound of the lines that wait for a slow reader; beyond it, lines are lost. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const RETRY_MS = 100;

/**
 * Writes the lines of the log to a descriptor, without ever blocking the gateway.
 *
 * With a closed terminal, a full disk or a stopped reader, lines wait, and are lost and counted when too many do. Their
 * number is written as soon as possible.
 */
export class LogSink {
  readonly #stream: SonicBoom;
  #lost = 0;
  #whenWritten: () => void = () => undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(descriptor: number) {
    this.#stream = new SonicBoom({ fd: descriptor, maxLength: MAX_WAITING_BYTES });
    this.#stream.on('drop', () => this.#lost++);
    this.#stream.on('drain', () => {
      if (this.#lost === 0) this.#whenWritten();
      else this.#writeLost();
    });
    // What was not written stays, and is tried again with the next line.
    this.#stream.on('error', () => {
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.write('');
      }, RETRY_MS);
    });
  }

  write(line: string): void {
    this.#stream.write(line);
  }

  /** Resolves when everything is written, or at the timeout. */
  async drain(timeoutMs: number): Promise<void> {
    const written = new Promise<void>((resolve) => {
      this.#whenWritten = resolve;
      setTimeout(resolve, timeoutMs).unref();
    });
    // Calls `drain` even if nothing waits.
    this.write('');
    await written;
  }

  #writeLost(): void {
    const [level, time, count] = [pino.levels.values['warn'], new Date().toISOString(), this.#lost];
    const msg = 'failed to write log lines, they are lost';
    this.#lost = 0;
    this.write(`${JSON.stringify({ level, time, count, msg })}\n`);
  }
}
