/** The code with which a store refuses the write of a gateway whose lease is another's (write-guard.ts). */
export const FENCED = 'FENCED';

/** Whether a write failed because another gateway has the lease. */
export function isFenced(error: unknown): boolean {
  return [error, error instanceof Error && error.cause].some(
    (one) => one instanceof Error && one.message.startsWith(FENCED),
  );
}
