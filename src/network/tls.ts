/** TLS in front of the listeners: which versions and suites, when a handshake begins, and how long it may take. */

import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { networkOf, plainAddress } from '../domain/addresses.js';
import { type ClientCertificate, readClientCertificate } from '../domain/credentials.js';
import type { Circle } from './circle.js';
import type { ServerCertificate } from './server-certificate.js';

/**
 * TLS 1.3, and of TLS 1.2 only suites with forward secrecy and authenticated encryption (RFC 9325, 4.2): ECDSA before RSA,
 * and AES-128 before the slower ones, because a box has a small processor. For the same reason there are only the two
 * fast groups, and no second handshake on a connection.
 */
const SECURE_TLS: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  ecdhCurve: 'X25519:prime256v1',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
};

/** Node's default is two minutes. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

export interface TlsFrontOptions {
  readonly certificate: ServerCertificate;
  /** Whether a client without a certificate of the right authority cannot finish the handshake. */
  readonly requiresClients?: boolean | undefined;
  /** Protocols for ALPN. */
  readonly protocols?: string[];
  /** The turns in which handshakes begin. */
  readonly circle: Circle;
  readonly handshakeTimeoutMs?: number;
  readonly onSecure: (secured: TLSSocket) => void;
  readonly onFailed?: (address: string, reason: string) => void;
  readonly log: Logger;
}

/**
 * Turns accepted connections into TLS connections.
 *
 * A handshake costs milliseconds of processor time, and anybody can ask for one: each begins in its turn, once its first
 * bytes are there.
 */
export class TlsFront {
  readonly #circle: Circle;
  readonly #timeoutMs: number;
  readonly #server: Server;

  constructor(options: TlsFrontOptions) {
    const { certificate, protocols, circle, onSecure, onFailed, log } = options;
    const { handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS, requiresClients = false } = options;
    this.#circle = circle;
    this.#timeoutMs = handshakeTimeoutMs;
    this.#server = createServer({
      ...SECURE_TLS,
      handshakeTimeout: handshakeTimeoutMs,
      requestCert: certificate.asksClients,
      rejectUnauthorized: requiresClients,
      ...(protocols !== undefined && { ALPNProtocols: protocols }),
    });
    certificate.onChange((texts) => {
      // It takes no tickets of the one before: nobody resumes a session of an authority that is gone.
      this.#server.setSecureContext({ ...SECURE_TLS, ...texts });
    });
    this.#server.on('secureConnection', onSecure);
    this.#server.on('tlsClientError', (error, socket) => {
      const address = plainAddress(socket.remoteAddress);
      const reason = socket.authorizationError
        ? String(socket.authorizationError)
        : reasonOf(error);
      log.info({ address, reason }, 'TLS handshake failed');
      onFailed?.(address, reason);
      socket.destroy();
    });
  }

  /** Begins a handshake when it is due. The connection is closed if that fails. */
  accept(socket: Socket): void {
    // Handshakes of one client do not delay the requests of others.
    const line = `TLS of ${networkOf(plainAddress(socket.remoteAddress))}`;
    const end = () => socket.destroy();
    const begin = () => {
      if (socket.destroyed) return;
      socket.off('timeout', end);
      this.#server.emit('connection', socket);
    };
    socket.setTimeout(this.#timeoutMs).once('timeout', end);
    socket.once('readable', () => {
      // At the end of the stream, nothing is left to read.
      if (socket.readableLength > 0) this.#circle.want(line, begin);
      else end();
    });
    socket.once('close', () => this.#circle.leave(line, begin));
  }
}

/** The certificate that a client has shown, if its authority is the one of `tls.clientCaFile`. */
export function clientCertificateOf(socket: Socket): ClientCertificate | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  // Without a certificate a resumed session is authorized, too.
  const certificate = socket.getPeerX509Certificate();
  return certificate && readClientCertificate(certificate);
}

/** The reason in words: OpenSSL's message is a line of its source code with a line break. */
function reasonOf(error: Error): string {
  if ('reason' in error && typeof error.reason === 'string') return error.reason;
  return 'code' in error ? String(error.code) : error.message;
}
