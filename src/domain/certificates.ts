import { X509Certificate } from 'node:crypto';

const DAY_MS = 24 * 3_600_000;
const WARNED_DAYS = 30;

/** When a certificate ends; the first one of a chain, which is the gateway's own. */
export function certificateEndMs(pem: string): number {
  return Date.parse(new X509Certificate(pem).validTo);
}

/** Words for a certificate that has ended, or ends within 30 days; undefined for any other. */
export function endingWords(endMs: number, nowMs: number): string | undefined {
  if (endMs <= nowMs) return 'has ended';
  const days = Math.ceil((endMs - nowMs) / DAY_MS);
  if (days > WARNED_DAYS) return undefined;
  return `ends in ${days} ${days === 1 ? 'day' : 'days'}`;
}
