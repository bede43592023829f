/** The code with which a store refuses the write of a gateway whose lease is another's. */
const FENCED = 'FENCED';

/** The lease under which a gateway writes. */
export interface Fence {
  /** The hash that is the lease, in the slot of all that is written. */
  readonly key: string;
  /** What its field `token` holds as long as nobody else holds the lease. */
  readonly token: string;
}

/** What each write is subject to while the gateway serves under a lease. */
export interface WriteGuard {
  /** Each write is made only while the lease has this token, and is refused with `FENCED` otherwise. */
  readonly fence: Fence;
  /**
   * Asked for each reply: undefined while the lease was renewed in time.
   *
   * Otherwise it resolves to whether the lease is still this gateway's: a reply may have waited in the socket of a
   * process that was frozen while another gateway began to serve.
   */
  readonly overdue: () => Promise<boolean> | undefined;
  /** Called for each write that was refused. */
  readonly fenced: () => void;
}

/**
 * The check, before any other line of a script: the lease is its last key, the token its last argument.
 *
 * Both are taken away again, as scripts count theirs.
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

/** The failure of a write whose reply was read too late. */
export function lateReply(): Error {
  return new Error(`${FENCED} another gateway had the lease before the reply was read`);
}
