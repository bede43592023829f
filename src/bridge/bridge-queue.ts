import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Consumer } from '../delivery/consumer.js';
import { retry } from '../delivery/retry.js';
import { PERSISTENT, type SessionOwner } from '../delivery/sessions/session.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import { BRIDGE_CLIENT_ID_PREFIX, type BridgeOptions } from '../domain/bridge-schema.js';
import { selectedFilters } from '../domain/bridge-topics.js';

const MS_PER_HOUR = 3_600_000;
const OWNER_PREFIX = 'bridge:';

/** The bridge whose queue has this owner; undefined for other owners. */
export function bridgeNameOf(ownerKey: string): string | undefined {
  return ownerKey.startsWith(OWNER_PREFIX) ? ownerKey.slice(OWNER_PREFIX.length) : undefined;
}

/** A bridge as the owner of its queue, which is a session like a subscriber's. */
export function bridgeOwner(options: BridgeOptions): SessionOwner {
  const { name, maxInFlight, maxQueuedMessages, maxQueuedHours, replayPerSecond } = options;
  return {
    key: `${OWNER_PREFIX}${name}`,
    mayReceive: () => true,
    isKept: options.isMissing !== true,
    limits: {
      maxInFlight,
      maxQueued: maxQueuedMessages,
      maxQueuedBytes: options.maxQueuedBytes,
      maxAgeMs: maxQueuedHours * MS_PER_HOUR,
      replayPerSecond,
    },
  };
}

/**
 * Opens the bridge's queue where it stopped, or creates one.
 * New filters apply from now on; messages queued for others stay. A missing bridge keeps its filters.
 * Resolves once a change is stored, or storing has failed. It is then retried until the signal, but a full disk
 * must not stop a gateway from starting.
 */
export async function openQueue(
  { sessions, log }: { readonly sessions: Sessions; readonly log: Logger },
  options: BridgeOptions,
  signal: AbortSignal,
): Promise<Consumer> {
  const owner = bridgeOwner(options);
  const clientId = BRIDGE_CLIENT_ID_PREFIX + options.name;
  const { key, consumer, isSaved } = sessions.open(clientId, owner, PERSISTENT);
  const present = consumer.subscriptions.list().map(({ filter }) => filter);
  const wanted = options.isMissing === true ? present : selectedFilters(options);
  const removed = present.filter((filter) => !wanted.includes(filter));
  if (isSaved && isDeepStrictEqual(new Set(present), new Set(wanted))) return consumer;
  const requested = wanted.map((filter) => ({ filter, qos: 1 as const }));
  // New filters first, in the same turn and write: no message that both match is missed.
  const store = () =>
    Promise.all([sessions.subscribe(key, requested), sessions.unsubscribe(key, removed)]);
  await new Promise<void>((resolve) => {
    const onFailure = (error: unknown) => {
      log.warn({ err: error, bridge: options.name }, "failed to store the bridge's queue");
      resolve();
    };
    void retry(store, { signal, onFailure }).then(() => resolve());
  });
  return consumer;
}

/** Deletes the bridge's queue with every message in it. */
export async function discardQueue(sessions: Sessions, name: string): Promise<void> {
  await sessions.discardAllOf(OWNER_PREFIX + name);
}
