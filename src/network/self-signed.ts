/**
 * The authority of a box, and the certificate that it issues for the box: `tls.selfSigned`.
 *
 * Hides which names a box has, and when a certificate is due. The key of the authority stays in its file. Nothing ends the
 * authority, no wrong clock either: every client would have to trust another one.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { SELF_SIGNED_FILE, WARNED_DAYS } from '../domain/credentials.js';
import { formatTime, PLAUSIBLE_FROM_MS } from '../domain/time.js';
import { GatewayError } from '../errors.js';
import { createDataDirectory, unlessMissing, writeDurably } from '../files.js';

const DAY_MS = 24 * 3_600_000;
/** Apple's devices take no longer one of a server. */
const SERVER_DAYS = 398;
const AUTHORITY_DAYS = 3_653;
/** The clocks of sensors may be behind. */
const BACKDATED_MS = DAY_MS;

export interface SelfSignedOptions {
  readonly dataDir: string;
  /** `http.publicUrl`, whose host is one of the names. */
  readonly publicUrl: string | undefined;
  readonly log: Logger;
  /** The wall clock. */
  readonly now: () => number;
}

interface Authority {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
}

export class SelfSigned {
  readonly #options: SelfSignedOptions;
  readonly #authority: Authority;
  #certificate: X509Certificate | undefined;
  /** The names in the certificate. */
  #names: string;
  #isRenewing = false;

  private constructor(options: SelfSignedOptions, authority: Authority, kept?: X509Certificate) {
    this.#options = options;
    this.#authority = authority;
    const names = namesOf(options);
    const isUsable =
      kept?.verify(authority.certificate.publicKey) === true && hasNames(kept, names);
    this.#certificate = isUsable ? kept : undefined;
    this.#names = names.join();
  }

  /**
   * Loads the authority, or makes one. The certificate of the box is there after the first `renew`.
   *
   * @throws GatewayError `start-failed` when its files cannot be read or written
   */
  static async open(options: SelfSignedOptions): Promise<SelfSigned> {
    const file = join(options.dataDir, SELF_SIGNED_FILE);
    const directory = dirname(file);
    await createDataDirectory(directory);
    try {
      const authority =
        (await loadAuthority(directory)) ?? (await makeAuthority(directory, options));
      const kept = await unlessMissing(readFile(file, 'utf8'));
      return new SelfSigned(options, authority, kept === undefined ? undefined : parsed(kept));
    } catch (cause) {
      const detail = `the certificate authority in ${directory} cannot be used: if it is damaged, restore it, or remove the directory and have every client trust the new one`;
      throw new GatewayError('start-failed', detail, { cause });
    }
  }

  /** The certificate of the authority, PEM. */
  get authority(): string {
    return this.#authority.certificate.toString();
  }

  /**
   * Issues another certificate if the present one is due, or the names of the machine have changed.
   *
   * @returns whether it has
   * @throws Error of the file system
   */
  async renew(): Promise<boolean> {
    const names = namesOf(this.#options);
    if (this.#isRenewing || !this.#isDue(names)) return false;
    this.#isRenewing = true;
    try {
      await this.#issue(names);
      return true;
    } finally {
      this.#isRenewing = false;
    }
  }

  #isDue(names: readonly string[]): boolean {
    if (this.#certificate === undefined || names.join() !== this.#names) return true;
    const { beginMs, endMs } = validityOf(this.#certificate);
    const nowMs = this.#options.now();
    const isEnding = endMs - nowMs <= WARNED_DAYS * DAY_MS;
    // No certificate outlives the authority; a clock that was ahead has made one for later.
    return (isEnding && endMs < validityOf(this.#authority.certificate).endMs) || nowMs < beginMs;
  }

  async #issue(names: readonly string[]): Promise<void> {
    const { dataDir, log, now } = this.#options;
    const { certificate: issuer, key } = this.#authority;
    const beginMs = now() - BACKDATED_MS;
    const endMs = Math.min(beginMs + SERVER_DAYS * DAY_MS, validityOf(issuer).endMs);
    // Only where it is needed, or every start would load it.
    const { issueServer } = await import('./x509.js');
    const issued = issueServer(issuer, key, names, { beginMs, endMs });
    await writeDurably(join(dataDir, SELF_SIGNED_FILE), issued.key + issued.certificate);
    this.#certificate = new X509Certificate(issued.certificate);
    this.#names = names.join();
    log.info({ names, validUntil: formatTime(endMs) }, 'issued a TLS certificate for this machine');
  }
}

/** Host names and addresses under which clients reach this machine; its own name comes first. */
function namesOf({ publicUrl }: SelfSignedOptions): string[] {
  const own = hostname();
  const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const outer = addresses.filter(({ internal }) => !internal).map(({ address }) => address);
  return [
    ...new Set([
      own,
      ...(own.includes('.') ? [] : [`${own}.local`]),
      'localhost',
      '127.0.0.1',
      '::1',
      ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1')]),
      ...outer.toSorted(),
    ]),
  ];
}

/** Whether the certificate has these names and no others. */
function hasNames(certificate: X509Certificate, names: readonly string[]): boolean {
  const isAmong = (name: string) =>
    (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;
  return certificate.subjectAltName?.split(', ').length === names.length && names.every(isAmong);
}

/** Undefined if there is none, or the making of one was cut off. */
async function loadAuthority(directory: string): Promise<Authority | undefined> {
  const read = (name: string) => unlessMissing(readFile(join(directory, name), 'utf8'));
  const [certificate, key] = [await read('ca.crt'), await read('ca.key')];
  if (certificate === undefined || key === undefined) return undefined;
  const authority = { certificate: new X509Certificate(certificate), key: createPrivateKey(key) };
  if (authority.certificate.checkPrivateKey(authority.key)) return authority;
  throw new Error('ca.key is not the key of ca.crt');
}

async function makeAuthority(
  directory: string,
  { log, now }: SelfSignedOptions,
): Promise<Authority> {
  const { issueAuthority } = await import('./x509.js');
  // A clock that is not set yet must not make one that has ended when it is.
  const beginMs = Math.max(now(), PLAUSIBLE_FROM_MS) - BACKDATED_MS;
  const endMs = beginMs + AUTHORITY_DAYS * DAY_MS;
  const { certificate, key } = issueAuthority(`Care-home gateway ${hostname()}`, {
    beginMs,
    endMs,
  });
  await writeDurably(join(directory, 'ca.key'), key);
  await writeDurably(join(directory, 'ca.crt'), certificate);
  log.info({ directory, validUntil: formatTime(endMs) }, 'made a certificate authority');
  return { certificate: new X509Certificate(certificate), key: createPrivateKey(key) };
}

/** Undefined if it is damaged: another one is issued. */
function parsed(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function validityOf({ validFrom, validTo }: X509Certificate): { beginMs: number; endMs: number } {
  return { beginMs: Date.parse(validFrom), endMs: Date.parse(validTo) };
}
