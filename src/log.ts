import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** Whatever carries one of these names is not for the log (CONTRACT 1, logs). */
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

/** How to write the log. */
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

/** The line that says how many could not be written. */
export function lostLines(count: number): string {
  const line = { level: pino.levels.values['warn'], time: new Date().toISOString(), count };
  return `${JSON.stringify({ ...line, msg: 'log lines lost, they could not be written' })}\n`;
}

/** The redaction library knows no "at any depth", so every depth has its own pattern. */
function secretPaths(): string[] {
  const depths = Array.from({ length: MAX_SECRET_DEPTH }, (_, depth) => '*.'.repeat(depth));
  return depths.flatMap((prefix) => SECRET_NAMES.map((name) => prefix + name));
}

/**
 * Serializes errors for the log. pino's own serializer copies every property, and an error of
 * ioredis has the failed command's arguments among them: custom data, hashes of secrets.
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
