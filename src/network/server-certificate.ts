import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import { certificateEndMs, endingFault } from '../domain/credentials.js';
import { fault, NO_PAIR } from '../domain/fault.js';
import { formatTime } from '../domain/time.js';
import { GatewayError, systemErrorCode } from '../errors.js';
import type { Health } from '../site/health/health.js';
import type { SelfSigned } from './self-signed.js';

export const CERTIFICATE_CHECK_MS = 2_000;

interface TlsTexts {
  /** PEM */
  readonly cert: string;
  readonly key: string;
  /** The authority of client certificates; undefined: none is asked for. */
  readonly ca: string | undefined;
  readonly endMs: number;
}
type ForHandshakes = Pick<TlsTexts, 'cert' | 'key' | 'ca'>;

export interface ServerCertificateOptions {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string | undefined;
  /** Issues the certificate, whose file is then read. */
  readonly issuer?: SelfSigned | undefined;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
  /** The wall clock. */
  readonly now: () => number;
}

/**
 * The certificate of the TLS listeners, read again when its files change.
 *
 * Files that cannot be used leave the old certificate in place. One that has ended is used, and is a fault.
 */
export class ServerCertificate {
  readonly #options: ServerCertificateOptions;
  readonly #users: ((texts: ForHandshakes) => void)[] = [];
  #texts: TlsTexts;
  /** The state of the files when they were last read, and when they were last checked. */
  #readState = '';
  #seenState = '';

  private constructor(options: ServerCertificateOptions, texts: TlsTexts) {
    this.#options = options;
    this.#texts = texts;
  }

  /** @throws GatewayError `start-failed` */
  static async open(options: ServerCertificateOptions): Promise<ServerCertificate> {
    try {
      await options.issuer?.renew();
      const state = await stateOf(options);
      const certificate = new ServerCertificate(options, await readTexts(options));
      certificate.#readState = state;
      certificate.#reportEnd();
      return certificate;
    } catch (cause) {
      const detail = 'The TLS certificate or key cannot be read.';
      throw new GatewayError('start-failed', detail, { cause });
    }
  }

  get cert(): string {
    return this.#texts.cert;
  }

  /** The authority that clients are to trust, PEM; undefined unless the gateway has its own. */
  get authority(): string | undefined {
    return this.#options.issuer?.authority;
  }

  /** Whether clients are asked for certificates of their own. */
  get asksClients(): boolean {
    return this.#options.clientCaFile !== undefined;
  }

  /** Calls with certificate and key, now and after each change: for later handshakes. */
  onChange(use: (texts: ForHandshakes) => void): void {
    this.#users.push(use);
    use(this.#texts);
  }

  get endMs(): number {
    return this.#texts.endMs;
  }

  /**
   * Issues the certificate if it is due, or else reads files that have changed and are no longer being written; call it
   * every `CERTIFICATE_CHECK_MS`.
   */
  async check(): Promise<void> {
    try {
      if (await this.#options.issuer?.renew()) await this.reload();
    } catch (error) {
      this.#keepOld(error);
    }
    const state = await stateOf(this.#options);
    const isSettled = state === this.#seenState;
    this.#seenState = state;
    if (isSettled && state !== this.#readState) await this.reload();
    this.#reportEnd();
  }

  /** Reads the files now. Later handshakes use their content, if it is usable. */
  async reload(): Promise<void> {
    const { health, log } = this.#options;
    this.#readState = await stateOf(this.#options);
    try {
      this.#texts = await readTexts(this.#options);
      for (const use of this.#users) use(this.#texts);
      log.info({ validUntil: formatTime(this.endMs) }, 'read the TLS certificate again');
      health.report('certificate-files', undefined);
    } catch (error) {
      this.#keepOld(error);
    }
    this.#reportEnd();
  }

  #keepOld(error: unknown): void {
    const { health, log } = this.#options;
    log.error({ err: error }, 'the new TLS certificate cannot be used, the old one stays');
    const reason = systemErrorCode(error) ?? NO_PAIR;
    health.report('certificate-files', fault('certificateUnusable', { reason }));
  }

  #reportEnd(): void {
    const { health, now } = this.#options;
    health.report('certificate-end', endingFault(this.endMs, now()));
  }
}

/** @throws Error of the file system or of OpenSSL unless certificate and key are there, complete and a pair */
async function readTexts(options: ServerCertificateOptions): Promise<TlsTexts> {
  const { certFile, keyFile, clientCaFile } = options;
  const [cert, key, ca] = await Promise.all([
    readFile(certFile, 'utf8'),
    readFile(keyFile, 'utf8'),
    clientCaFile === undefined ? undefined : readFile(clientCaFile, 'utf8'),
  ]);
  createSecureContext({ cert, key });
  // In OpenSSL's context an authority that is no certificate would just be missing.
  if (ca !== undefined) new X509Certificate(ca);
  return { cert, key, ca, endMs: certificateEndMs(cert) };
}

/** Changes whenever one of the files is written, replaced, or reached through another link. */
async function stateOf(options: ServerCertificateOptions): Promise<string> {
  const { certFile, keyFile, clientCaFile = certFile } = options;
  const states = [certFile, keyFile, clientCaFile].map(async (file) => {
    const { ino, size, ctimeMs } = await stat(file);
    return `${ino} ${size} ${ctimeMs}`;
  });
  const results = await Promise.allSettled(states);
  return results.map((one) => (one.status === 'fulfilled' ? one.value : 'none')).join();
}
