/** The queue of a bridge or webhook, which is a session like a subscriber's, and its dead letters. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Audience } from '../domain/grants.js';
import type { DeadLetter, DeadLetterStore } from '../site/bridge-list.js';
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

export interface DeadLettersOptions {
  /** Whose dead letters they are, as the store knows it. */
  readonly key: string;
  readonly store: Pick<DeadLetterStore, 'add'>;
  readonly log: Logger;
  /** Ends the retries: a message that is not stored by then stays in the queue. */
  readonly signal: AbortSignal;
  readonly onStored: (letter: DeadLetter) => void;
}

/**
 * Stores dead letters before their messages leave the queue.
 *
 * So no message is lost unlisted. A message that becomes a dead letter again while the store is
 * away is stored once: it returns with the same packet identifier [MQTT-4.4.0-1].
 */
export class DeadLetters {
  readonly #options: DeadLettersOptions;
  /** Drops each message; set by the last connection that made it a dead letter. */
  readonly #drops = new Map<string, () => void>();
  #isWarned = false;

  constructor(options: DeadLettersOptions) {
    this.#options = options;
  }

  /** @param drop called once the dead letter is stored */
  add(messageId: number, letter: DeadLetter, drop: () => void): void {
    const same = `${messageId}\n${letter.topic}\n${letter.payload.toString('base64')}`;
    const isPending = this.#drops.has(same);
    this.#drops.set(same, drop);
    if (!isPending) void this.#store(same, letter);
  }

  async #store(same: string, letter: DeadLetter): Promise<void> {
    const { key, store, signal, onStored } = this.#options;
    const onFailure = (error: unknown) => this.#warn(error);
    if (await retry(() => store.add(key, letter), { signal, onFailure })) {
      this.#isWarned = false;
      onStored(letter);
      this.#drops.get(same)?.();
    }
    this.#drops.delete(same);
  }

  #warn(error: unknown): void {
    if (!this.#isWarned) this.#options.log.warn({ err: error }, 'failed to store a dead letter');
    this.#isWarned = true;
  }
}
