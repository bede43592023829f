import type { Session } from './session.js';

/**
 * Chooses the absent session that makes room for a new one of its owner.
 *
 * The longest absent of those that hold nothing, neither a subscription nor a backlog. A nurse-call system
 * loses no session that holds something: its backlog is what the gateway promises to keep. A device loses
 * the longest absent one even so, for it must not be kept from sending alarms by the sessions of clients
 * that it no longer is.
 *
 * @param absent the owner's sessions that are not in use
 */
export function sessionToReplace(
  absent: readonly Session[],
  isDevice: boolean,
): Session | undefined {
  const byAbsence = absent.toSorted((one, other) => one.seenAtMs - other.seenAtMs);
  return byAbsence.find(holdsNothing) ?? (isDevice ? byAbsence[0] : undefined);
}

function holdsNothing({ consumer }: Session): boolean {
  if (consumer === undefined) return true;
  const { subscriptions, queued } = consumer;
  return subscriptions.size + queued.alarms + queued.messages === 0;
}
