import type { Config } from './schema.js';

/** Shorter tokens can be guessed in the end, however slowly failures are answered. */
const ADVISABLE_LENGTH = 16;

/** What the configuration may say and should not, for `check-config` and the log of a start. */
export function configWarnings({ adminToken }: Config): string[] {
  if (adminToken === undefined || adminToken.length >= ADVISABLE_LENGTH) return [];
  return [`adminToken has less than ${ADVISABLE_LENGTH} characters: it could be guessed`];
}
