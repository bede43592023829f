/** Secrets and certificates of devices, access tokens, and the end of the gateway's own certificate. */

import { createHash, randomBytes, timingSafeEqual, X509Certificate } from 'node:crypto';
import { type FaultReport, fault } from './fault.js';
import { isUuid } from './ids.js';

const DAY_MS = 24 * 3_600_000;
/** So many days before its end a certificate is a fault, and one that the gateway issues is renewed. */
export const WARNED_DAYS = 30;
/**
 * The certificate that the gateway issues for itself (`tls.selfSigned`), in the data directory. One file with its key: they
 * always belong together.
 */
export const SELF_SIGNED_FILE = 'tls/server.pem';
const SECRET_BYTES = 32;
/** Length of these bytes in base64url, without padding (RFC 4648, 5). */
const GENERATED = /^[A-Za-z0-9_-]{43}$/;

/**
 * A fresh secret of 256 random bits, for a device or an access token.
 *
 * Never begins with a minus: commands would take it for an option, spreadsheets for a formula.
 */
export function newSecret(): string {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return secret.startsWith('-') ? newSecret() : secret;
}

/**
 * Whether a secret has the form of a generated one.
 *
 * Nobody can guess a generated secret. Somebody may guess a secret that an administrator made up for a
 * configuration.
 */
export function looksGenerated(secret: string | Uint8Array): boolean {
  return GENERATED.test(Buffer.from(secret).toString('latin1'));
}

/**
 * Digests a secret for the store.
 *
 * A plain SHA-256 is enough: nobody can guess 256 random bits, so a slow hash would protect nothing.
 */
export function hashSecret(secret: string | Uint8Array): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether the secret has this hash; takes the same time either way. */
export function secretMatches(secret: string | Uint8Array, hash: string): boolean {
  const given = Buffer.from(hashSecret(secret), 'hex');
  const expected = Buffer.from(hash, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** What a client certificate says of its owner, which its authority has verified. */
export interface ClientCertificate {
  /** The ids that it names: its CN and its URIs, as a bare UUID or `urn:uuid:<UUID>`; in lower case. */
  readonly ids: readonly string[];
  readonly issuedAtMs: number;
  readonly endMs: number;
}

/** Reads a client certificate. In its texts a comma or a line break within a value is escaped. */
export function readClientCertificate(certificate: X509Certificate): ClientCertificate {
  const { subject, subjectAltName = '', validFrom, validTo } = certificate;
  const names = [
    ...Array.from(subject?.matchAll(/^CN=(.*)$/gm) ?? [], ([, name = '']) => name),
    ...subjectAltName.split(', ').flatMap((name) => /^URI:(.*)$/.exec(name)?.[1] ?? []),
  ];
  const ids = names.map((name) => name.toLowerCase().replace(/^urn:uuid:/, '')).filter(isUuid);
  return { ids, issuedAtMs: Date.parse(validFrom), endMs: Date.parse(validTo) };
}

/** When a certificate ends; in a chain, the first one, which is the gateway's own. */
export function certificateEndMs(pem: string): number {
  return Date.parse(new X509Certificate(pem).validTo);
}

/** The fault of a certificate that has ended, or ends within 30 days; undefined for any other. */
export function endingFault(endMs: number, nowMs: number): FaultReport | undefined {
  if (endMs <= nowMs) return fault('certificateEnded');
  const days = Math.ceil((endMs - nowMs) / DAY_MS);
  if (days > WARNED_DAYS) return undefined;
  const isOne = days === 1;
  return fault('certificateEnding', {
    days: { en: isOne ? '1 day' : `${days} days`, de: isOne ? '1 Tag' : `${days} Tagen` },
  });
}
