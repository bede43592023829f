import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import type { Logger } from 'pino';

/**
 * TLS 1.3, and of TLS 1.2 only suites with forward secrecy and authenticated encryption (RFC 9325, 4.2):
 * ECDSA before RSA, AES-128 before the slower ones, for a box has a small processor. For the same reason it
 * has the two groups that are fast, and makes no second handshake on a connection.
 */
export const SECURE_TLS: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  ecdhCurve: 'X25519:prime256v1',
  ciphers: [
    ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
    ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ].join(':'),
};

/** Log lines a minute: more say nothing new, and failing on purpose is easy. */
const MAX_LINES = 60;
const WINDOW_MS = 60_000;

/**
 * Logs failed TLS handshakes of a listener, with the address.
 *
 * Failures beyond sixty a minute are only counted, and their number is logged with the next one.
 */
export function tlsFailureLog(log: Logger): (error: Error, address: string) => void {
  let windowEndsAtMs = 0;
  let count = 0;
  return (error, address) => {
    const nowMs = performance.now();
    const unlogged = Math.max(0, count - MAX_LINES);
    if (nowMs >= windowEndsAtMs) {
      windowEndsAtMs = nowMs + WINDOW_MS;
      count = 0;
    }
    count++;
    if (count > MAX_LINES) return;
    const omitted = count === 1 && unlogged > 0 ? { unlogged } : {};
    log.info({ address, reason: reasonOf(error), ...omitted }, 'TLS handshake failed');
  };
}

/** The reason in words: OpenSSL's message is a line of its source code with a line break. */
function reasonOf(error: Error): string {
  if ('reason' in error && typeof error.reason === 'string') return error.reason;
  return 'code' in error ? String(error.code) : error.message;
}
