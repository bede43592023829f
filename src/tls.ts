import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import type { Logger } from 'pino';

/**
 * TLS 1.3, and of TLS 1.2 only suites with forward secrecy and authenticated encryption (RFC 9325, 4.2):
 * ECDSA before RSA, AES-128 before the slower ones, for a box has a small processor.
 */
export const SECURE_TLS: TlsOptions = {
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
  ciphers: [
    ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
    ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ].join(':'),
};

/** Logs failed TLS handshakes of a listener, with the address. */
export function logTlsFailures(server: EventEmitter, log: Logger): void {
  // Node's own listener ends the connection, whose address is then gone; this one comes before it.
  server.prependListener('tlsClientError', (error: Error, socket: Socket) => {
    const address = socket.remoteAddress ?? 'unknown';
    log.info({ address, reason: reasonOf(error) }, 'TLS handshake failed');
  });
}

/** The reason in words: OpenSSL's message is a line of its source code with a line break. */
function reasonOf(error: Error): string {
  if ('reason' in error && typeof error.reason === 'string') return error.reason;
  return 'code' in error ? String(error.code) : error.message;
}
