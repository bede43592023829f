import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Audience } from '../domain/grants.js';
import type { Consumer } from './consumer.js';
import { retry } from './retry.js';
import { PERSISTENT, type SessionOwner } from './sessions/session.js';
import type { Sessions } from './sessions/sessions.js';

const MS_PER_HOUR = 3_600_000;

/** The kinds of destination outside the gateway. */
type Outlet = 'bridge' | 'webhook';

export interface OutgoingQueueOptions {
  readonly name: string;
  readonly maxInFlight: number;
  readonly maxQueuedMessages: number;
  readonly maxQueuedBytes: number;
  readonly maxQueuedHours: number;
}

export interface OutgoingServices {
  readonly sessions: Sessions;
  readonly log: Logger;
}

/** The name of the bridge or webhook that owns a queue; undefined for other owners. */
export function outletName(outlet: Outlet, ownerKey: string): string | undefined {
  const prefix = ownerKeyOf(outlet, '');
  return ownerKey.startsWith(prefix) ? ownerKey.slice(prefix.length) : undefined;
}

/** Whether the owner of a queue is a bridge or webhook. */
export function isOutlet(ownerKey: string): boolean {
  return (
    outletName('bridge', ownerKey) !== undefined || outletName('webhook', ownerKey) !== undefined
  );
}

/** The key of a bridge or webhook as the owner of its queue. */
export function ownerKeyOf(outlet: Outlet, name: string): string {
  return `${outlet}:${name}`;
}

/**
 * A bridge or webhook as the owner of its queue, which is a session like a subscriber's.
 *
 * @param isKept whether the queue is kept even if it is not opened for days
 */
export function outgoingOwner(
  outlet: Outlet,
  options: OutgoingQueueOptions,
  mayReceive: (audience: Audience) => boolean,
  isKept = true,
): SessionOwner {
  const { name, maxInFlight, maxQueuedMessages, maxQueuedBytes, maxQueuedHours } = options;
  return {
    key: ownerKeyOf(outlet, name),
    mayReceive,
    isKept,
    limits: {
      maxInFlight,
      maxQueued: maxQueuedMessages,
      maxQueuedBytes,
      maxAgeMs: maxQueuedHours * MS_PER_HOUR,
    },
  };
}

/**
 * Opens the queue where it stopped, or creates one.
 *
 * New filters apply from now on; messages queued for others stay. Resolves once a change is stored, or storing has
 * failed. It is then retried until the signal, but a full disk must not stop a gateway from starting.
 *
 * @param filters undefined: those that it has
 */
export async function openOutgoingQueue(
  { sessions, log }: OutgoingServices,
  owner: SessionOwner,
  clientId: string,
  filters: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Consumer> {
  const { key, consumer, isSaved } = sessions.open(clientId, owner, PERSISTENT);
  const present = consumer.subscriptions.list().map(({ filter }) => filter);
  const wanted = filters ?? present;
  const removed = present.filter((filter) => !wanted.includes(filter));
  if (isSaved && isDeepStrictEqual(new Set(present), new Set(wanted))) return consumer;
  const requested = wanted.map((filter) => ({ filter, qos: 1 as const }));
  // New filters first, in the same turn and write: no message that both match is missed.
  const store = () =>
    Promise.all([sessions.subscribe(key, requested), sessions.unsubscribe(key, removed)]);
  await new Promise<void>((resolve) => {
    const onFailure = (err: unknown) => {
      log.warn({ session: key, err }, 'failed to store the queue of a bridge or webhook');
      resolve();
    };
    void retry(store, { signal, onFailure }).then(() => resolve());
  });
  return consumer;
}
