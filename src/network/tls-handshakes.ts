import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import {
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  TLSSocket,
} from 'node:tls';
import type { Logger } from 'pino';
import { networkOf, plainAddress } from '../domain/addresses.js';
import type { ProcessorShare, ShareUser } from './processor-share.js';

/**
 * TLS 1.3, and of TLS 1.2 only suites with forward secrecy and authenticated encryption (RFC 9325, 4.2):
 * ECDSA before RSA, and AES-128 before the slower ones, because a box has a small processor. For the same
 * reason there are only the two fast groups, and no second handshake on a connection.
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
const HANDSHAKE_TIMEOUT_MS = 10_000;

export interface TlsHandshakesOptions {
  /** PEM texts; each handshake uses the current ones. */
  readonly tls: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** Protocols for ALPN. */
  readonly protocols?: string[];
  readonly turns: ProcessorShare;
  /** Timeout of a handshake and of its turn, ten seconds by default. */
  readonly handshakeTimeoutMs?: number | undefined;
  readonly onFailed?: ((address: string, reason: string) => void) | undefined;
  readonly log: Logger;
}

/**
 * Turns accepted connections into TLS connections, each when its turn comes.
 *
 * A handshake costs milliseconds of processor time, and anybody can ask for one. A handshake that
 * waits costs a socket, until its timeout.
 */
export class TlsHandshakes {
  readonly #options: TlsHandshakesOptions;
  #made: { readonly cert: unknown; readonly key: unknown; readonly context: SecureContext };

  constructor(options: TlsHandshakesOptions) {
    this.#options = options;
    this.#made = secureContextOf(options.tls);
  }

  /** The context of the present certificate. */
  get #context(): SecureContext {
    const { tls } = this.#options;
    const isPresent = this.#made.cert === tls.cert && this.#made.key === tls.key;
    if (!isPresent) this.#made = secureContextOf(tls);
    return this.#made.context;
  }

  /** Begins a handshake when it is due. The socket is closed if that fails. */
  accept(socket: Socket, onSecure: (secured: TLSSocket) => void): void {
    const address = plainAddress(socket.remoteAddress);
    const { turns, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS } = this.#options;
    const timeout = setTimeout(() => socket.destroy(), handshakeTimeoutMs);
    const begin = () =>
      this.#begin(socket, address, (secured) => {
        clearTimeout(timeout);
        onSecure(secured);
      });
    const waiting = new WaitingHandshake(socket, networkOf(address), turns, begin);
    socket.once('close', () => {
      clearTimeout(timeout);
      turns.leave(waiting);
    });
  }

  #begin(socket: Socket, address: string, onSecure: (secured: TLSSocket) => void): void {
    const { protocols: ALPNProtocols, onFailed, log } = this.#options;
    const secured = new TLSSocket(socket, {
      isServer: true,
      secureContext: this.#context,
      ...(ALPNProtocols && { ALPNProtocols }),
    });
    const fail = (error: Error) => {
      const reason = reasonOf(error);
      log.info({ address, reason }, 'TLS handshake failed');
      onFailed?.(address, reason);
      socket.destroy();
    };
    secured.once('error', fail);
    secured.once('secure', () => {
      secured.off('error', fail);
      onSecure(secured);
    });
  }
}

function secureContextOf({ cert, key }: TlsHandshakesOptions['tls']) {
  return { cert, key, context: createSecureContext({ ...SECURE_TLS, cert, key }) };
}

/** The reason in words: OpenSSL's message is a line of its source code with a line break. */
function reasonOf(error: Error): string {
  if ('reason' in error && typeof error.reason === 'string') return error.reason;
  return 'code' in error ? String(error.code) : error.message;
}

/** A connection that waits for its ClientHello, and then for its turn. */
class WaitingHandshake implements ShareUser {
  readonly line: string;
  readonly #socket: Socket;
  readonly #begin: () => void;

  constructor(socket: Socket, network: string, turns: ProcessorShare, begin: () => void) {
    // Handshakes of one client do not delay the requests of others.
    this.line = `TLS of ${network}`;
    this.#socket = socket;
    this.#begin = begin;
    socket.once('readable', () => {
      // At the end of the stream, nothing is left to read.
      if (socket.readableLength > 0) turns.want(this);
      else socket.destroy();
    });
  }

  takeTurn(): void {
    if (!this.#socket.destroyed) this.#begin();
  }
}
