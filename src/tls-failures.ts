import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';

/** Lines logged a minute: more say nothing new, and failing on purpose is easy. */
const MAX_LINES = 60;
const WINDOW_MS = 60_000;

/**
 * Logs failed TLS handshakes of a listener, with the address.
 *
 * Failures beyond sixty a minute are only counted, and their number is logged with the next one.
 */
export function logTlsFailures(server: EventEmitter, log: Logger): void {
  let windowEndsAtMs = 0;
  let count = 0;
  // Node's own listener ends the connection, whose address is then gone; this one comes before it.
  server.prependListener('tlsClientError', (error: Error, socket: Socket) => {
    const nowMs = performance.now();
    const unlogged = Math.max(0, count - MAX_LINES);
    if (nowMs >= windowEndsAtMs) {
      windowEndsAtMs = nowMs + WINDOW_MS;
      count = 0;
    }
    count++;
    if (count > MAX_LINES) return;
    const address = socket.remoteAddress ?? 'unknown';
    const omitted = count === 1 && unlogged > 0 ? { unlogged } : {};
    log.info({ address, reason: reasonOf(error), ...omitted }, 'TLS handshake failed');
  });
}

/** The reason in words: OpenSSL's message is a line of its source code with a line break. */
function reasonOf(error: Error): string {
  if ('reason' in error && typeof error.reason === 'string') return error.reason;
  return 'code' in error ? String(error.code) : error.message;
}
