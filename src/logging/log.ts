import {
  type DestinationStream,
  type Logger,
  type LoggerOptions,
  pino,
  stdTimeFunctions,
} from 'pino';
import { networkOf } from '../domain/addresses.js';
import { shortened } from '../site/access/denials.js';
import { isFenced } from '../store/scripts.js';
import type { RepeatedLines } from './repeated-lines.js';

/** Names whose values are never logged (docs/reference/contract.md, 1, logs). */
const SECRET_NAMES = [
  'accessKeyId',
  'adminToken',
  'args',
  'audio',
  'authorization',
  'Authorization',
  'cookie',
  'customData',
  'footage',
  'password',
  'payload',
  'secret',
  'secretAccessKey',
  'secretHash',
  'signature',
  'token',
  'tokenHash',
  'uploadUrl',
  'url',
  'video',
];
const DEBUG = pino.levels.values['debug'] ?? 20;
const MAX_SECRET_DEPTH = 4;
const MAX_CAUSES = 5;

/**
 * Fields that name whom or what a line is about; the first one in a line counts.
 *
 * A line with one of them comes once a minute for each subject. Clients choose client ids, of which `session` has one: an
 * address or a principal counts before.
 */
export const SUBJECT_FIELDS = [
  'principal',
  'deviceId',
  'bridge',
  'webhook',
  'address',
  'session',
  'clientId',
  'locationId',
  'log',
  'part',
  'quota',
];

/** The options of the log. */
export interface LogOptions {
  readonly level: string;
  readonly destination: DestinationStream;
  /** Holds repeated lines back; without it every line is written. */
  readonly repeated?: RepeatedLines;
}

/**
 * The gateway's log: one JSON object a line, without secrets, tokens, footage or custom data.
 *
 * Nobody can flood it: a line that names its subject (`SUBJECT_FIELDS`) comes once a minute for that
 * subject, with the number of those held back as `repeated`. At debug level all of them are written.
 */
export function createLog({ level, destination, repeated }: LogOptions): Logger {
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
        if (repeated?.holdsBack({ message, subject, write }) === true) this.debug(fields, message);
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

/** Renders the line with the number of lost lines. */
export function lostLines(count: number): string {
  const line = { level: pino.levels.values['warn'], time: new Date().toISOString(), count };
  return `${JSON.stringify({ ...line, msg: 'failed to write log lines, they are lost' })}\n`;
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
