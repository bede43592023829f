import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** Names whose values are never logged (CONTRACT 1, logs). */
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
const MAX_SECRET_DEPTH = 4;
const MAX_CAUSES = 5;

/** The options of the log. */
export interface LogOptions {
  readonly level: string;
  readonly destination: DestinationStream;
}

/** The gateway's log: one JSON object a line, without secrets, tokens, footage or custom data. */
export function createLog({ level, destination }: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: secretPaths(), censor: '[redacted]' },
    serializers: { err: (error: unknown) => describeError(error) },
  };
  return pino(options, destination);
}

/** Renders the line with the number of lost lines. */
export function lostLines(count: number): string {
  const line = { level: pino.levels.values['warn'], time: new Date().toISOString(), count };
  return `${JSON.stringify({ ...line, msg: 'failed to write log lines, they are lost' })}\n`;
}

/** Patterns for every depth, as the redaction library has none for any depth. */
function secretPaths(): string[] {
  const depths = Array.from({ length: MAX_SECRET_DEPTH }, (_, depth) => '*.'.repeat(depth));
  return depths.flatMap((prefix) => SECRET_NAMES.map((name) => prefix + name));
}

/**
 * Serializes errors for the log.
 *
 * pino's own serializer copies every property, and an error of ioredis has the failed command's arguments
 * among them: custom data, hashes of secrets.
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
