import { readFileSync } from 'node:fs';
import { certificateEndMs, endingFault } from '../domain/certificates.js';
import { faultWords } from '../domain/fault.js';
import { matchesSent } from '../domain/output-schema.js';
import type { FieldFault } from '../errors.js';
import type { Config } from './schema.js';

/**
 * The fault of a certificate that has ended, for `check-config`.
 *
 * A start only warns: alarms of clients that use no TLS, or do not check it, must not wait for a new certificate.
 */
export function endedCertificateFaults({ tls }: Config, nowMs: number): FieldFault[] {
  const hasEnded = tls !== undefined && endOf(tls) <= nowMs;
  return hasEnded ? [{ path: 'tls.certFile', message: 'the certificate has ended' }] : [];
}

function endOf({ certFile }: NonNullable<Config['tls']>): number {
  return certificateEndMs(readFileSync(certFile, 'utf8'));
}

/** Warnings about a valid configuration, for `check-config` and the log at start-up. */
export function configWarnings({ tls, outputs }: Config, nowMs: number): string[] {
  const ending = tls && endingFault(endOf(tls), nowMs);
  return [
    ...(ending === undefined ? [] : [`tls.certFile: ${faultWords(ending, 'en').message}`]),
    ...outputs.flatMap(({ name, topics }) =>
      topics
        .filter((filter) => !matchesSent(filter))
        .map((filter) => `outputs: ${filter} of ${name} matches no topic that is sent`),
    ),
  ];
}
