/** The code with which the store refuses a write when another gateway has the lease. */
const FENCED = 'FENCED';

/** The lease under which a gateway writes. */
export interface Fence {
  /** The hash of the lease, in the slot of all written keys. */
  readonly key: string;
  /** The value of its field `token` while nobody else holds the lease. */
  readonly token: string;
}

/** Guards each write while the gateway serves under a lease. */
export interface WriteGuard {
  /** A write succeeds only while the lease has this token; otherwise the store refuses it with `FENCED`. */
  readonly fence: Fence;
  /** Called for each refused write. */
  readonly fenced: () => void;
}

/**
 * The check at the start of every script: the lease is its last key, the token its last argument.
 *
 * It removes both, because scripts count their keys and arguments.
 */
export const FENCE_PROLOGUE = `if redis.call('HGET', table.remove(KEYS), 'token') ~= table.remove(ARGV) then
return redis.error_reply('${FENCED} another gateway holds the lease') end
`;

/** Whether a write failed because another gateway has the lease. */
export function isFenced(error: unknown): boolean {
  return [error, error instanceof Error && error.cause].some(
    (one) => one instanceof Error && one.message.startsWith(FENCED),
  );
}
