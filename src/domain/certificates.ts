import { X509Certificate } from 'node:crypto';
import { type FaultReport, fault } from './fault.js';

const DAY_MS = 24 * 3_600_000;
const WARNED_DAYS = 30;

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
