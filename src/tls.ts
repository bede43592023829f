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

/** Logs failed TLS handshakes of a listener, with the address. */
export function tlsFailureLog(log: Logger): (error: Error, address: string) => void {
  return (error, address) => {
    log.info({ address, reason: reasonOf(error) }, 'TLS handshake failed');
  };
}

/** The reason in words: OpenSSL's message is a line of its source code with a line break. */
function reasonOf(error: Error): string {
  if ('reason' in error && typeof error.reason === 'string') return error.reason;
  return 'code' in error ? String(error.code) : error.message;
}
