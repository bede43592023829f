import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';

/** Log lines a minute: more say nothing new, and failing on purpose is easy. */
const MAX_LINES = 60;
const WINDOW_MS = 60_000;

/**
 * Logs each TLS handshake of a listener that fails, with where it came from; of those beyond sixty a
 * minute only the number, with the next one that is logged. Listeners without TLS have none.
 */
export function logTlsFailures(server: EventEmitter, log: Logger): void {
  let windowEndsAtMs = 0;
  let count = 0;
  // Before Node's own listener, which ends the connection: one that has ended has no address.
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

/** OpenSSL's message is a line of its source code, with a line break; `reason` is what it means. */
function reasonOf(error: Error): string {
  if ('reason' in error && typeof error.reason === 'string') return error.reason;
  return 'code' in error ? String(error.code) : error.message;
}
