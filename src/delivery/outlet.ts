/** The queue of a bridge or webhook: a session like a subscriber's, and the dead letters of its messages. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { BRIDGE_CLIENT_ID_PREFIX } from '../domain/bridge-schema.js';
import type { Audience } from '../domain/grants.js';
import { WEBHOOK_CLIENT_ID_PREFIX } from '../domain/output-schema.js';
import { pause } from '../site/clock/pause.js';
import type { DeadLetter, DeadLetterStoreRedis } from '../store/lists.js';
import { OldestQueued, type QueueFigures, queueFigures } from './accounts.js';
import type { Consumer } from './consumer.js';
import type { OutgoingPublish, Receiver } from './message.js';
import { PERSISTENT, type SessionOwner } from './sessions/session.js';
import type { Sessions } from './sessions/sessions.js';

const MS_PER_HOUR = 3_600_000;
const BACKOFF_MS = 1_000;

/** The kinds of destination outside the gateway. */
type OutletKind = 'bridge' | 'webhook';
/** Of the session that is the queue. */
const CLIENT_ID_PREFIXES = { bridge: BRIDGE_CLIENT_ID_PREFIX, webhook: WEBHOOK_CLIENT_ID_PREFIX };

/** The bounds of a queue, as configured. */
export interface OutletLimits {
  readonly name: string;
  readonly maxInFlight: number;
  readonly maxQueuedMessages: number;
  readonly maxQueuedBytes: number;
  readonly maxQueuedHours: number;
}

/** The name of the bridge or webhook that owns a queue; undefined for other owners. */
export function outletName(kind: OutletKind, ownerKey: string): string | undefined {
  const prefix = ownerKeyOf(kind, '');
  return ownerKey.startsWith(prefix) ? ownerKey.slice(prefix.length) : undefined;
}

/** Whether the owner of a queue is a bridge or webhook. */
export function isOutlet(ownerKey: string): boolean {
  return (
    outletName('bridge', ownerKey) !== undefined || outletName('webhook', ownerKey) !== undefined
  );
}

/** The key of a bridge or webhook as the owner of its queue. */
export function ownerKeyOf(kind: OutletKind, name: string): string {
  return `${kind}:${name}`;
}

/** The key of the dead letters of a bridge or webhook. */
export function deadLetterKey(kind: OutletKind, name: string): string {
  return kind === 'bridge' ? name : WEBHOOK_CLIENT_ID_PREFIX + name;
}

/**
 * A bridge or webhook as the owner of its queue.
 *
 * @param isKept whether the queue is kept even if it is not opened for days
 */
export function outletOwner(
  kind: OutletKind,
  limits: OutletLimits,
  mayReceive: (audience: Audience) => boolean,
  isKept = true,
): SessionOwner {
  const { name, maxInFlight, maxQueuedMessages, maxQueuedBytes, maxQueuedHours } = limits;
  return {
    key: ownerKeyOf(kind, name),
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

export interface OutletOptions {
  readonly kind: OutletKind;
  readonly name: string;
  readonly owner: SessionOwner;
  /** Called with each stored dead letter. */
  readonly onDeadLetter: (letter: DeadLetter) => void;
}

export interface OutletServices {
  readonly sessions: Sessions;
  readonly deadLetters: Pick<DeadLetterStoreRedis, 'add'>;
  readonly log: Logger;
  readonly now: () => number;
}

/** The queue of one bridge or webhook. A message leaves it once it is acknowledged, or stored as a dead letter. */
export class Outlet {
  readonly #options: OutletOptions;
  readonly #services: OutletServices;
  readonly #stopping = new AbortController();
  readonly #deadLetters: DeadLetters;
  #queue: Consumer | undefined;
  #oldest: OldestQueued | undefined;

  constructor(options: OutletOptions, services: OutletServices) {
    this.#options = options;
    this.#services = services;
    const { kind, name, onDeadLetter: onStored } = options;
    const { deadLetters: store, log } = services;
    const key = deadLetterKey(kind, name);
    this.#deadLetters = new DeadLetters({ key, store, log, signal: this.signal, onStored });
  }

  /** Aborts when the outlet stops. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** How many messages wait. */
  get queued(): number {
    const { alarms = 0, messages = 0 } = this.#queue?.queued ?? {};
    return alarms + messages;
  }

  /**
   * Opens the queue where it stopped, or creates one.
   *
   * New filters apply from now on; messages queued for others stay. Resolves once a change is stored, or storing has
   * failed. It is then retried until the outlet stops, but a full disk must not stop a gateway from starting.
   *
   * @param filters undefined: those that it has
   */
  async open(filters: readonly string[] | undefined): Promise<void> {
    const { sessions, log } = this.#services;
    const { kind, name, owner } = this.#options;
    const clientId = CLIENT_ID_PREFIXES[kind] + name;
    const { key, consumer, isSaved } = sessions.open(clientId, owner, PERSISTENT);
    this.#queue = consumer;
    this.#oldest = new OldestQueued(consumer);
    const present = consumer.subscriptions.list().map(({ filter }) => filter);
    const wanted = filters ?? present;
    const removed = present.filter((filter) => !wanted.includes(filter));
    if (isSaved && isDeepStrictEqual(new Set(present), new Set(wanted))) return;
    const requested = wanted.map((filter) => ({ filter, qos: 1 as const }));
    // New filters first, in the same turn and write: no message that both match is missed.
    const store = () =>
      Promise.all([sessions.subscribe(key, requested), sessions.unsubscribe(key, removed)]);
    await new Promise<void>((resolve) => {
      const onFailure = (err: unknown) => {
        log.warn({ session: key, err }, 'failed to store the queue of a bridge or webhook');
        resolve();
      };
      void retry(store, this.signal, onFailure).then(() => resolve());
    });
  }

  connect(receiver: Receiver): void {
    this.#queue?.connect(receiver);
  }

  disconnect(receiver: Receiver): void {
    this.#queue?.disconnect(receiver);
  }

  /** Sends as much as the receiver takes. */
  wake(): void {
    this.#queue?.wake();
  }

  acknowledge(messageId: number): void {
    this.#queue?.acknowledge(messageId);
  }

  /** Keeps a message that is never taken; it leaves the queue once stored as a dead letter. */
  deadLetter({ topic, payload, messageId }: OutgoingPublish, reason: string): void {
    if (this.#queue === undefined) return;
    const letter = { atMs: this.#services.now(), topic, reason, payload };
    this.#deadLetters.add(messageId, letter, this.#queue.window.deadLetter(messageId));
  }

  /** When the oldest message was received; null for none, undefined when the store does not answer in time. */
  async oldestReceivedAtMs(): Promise<number | null | undefined> {
    return this.#oldest?.receivedAtMs();
  }

  /** @param wallTimeOf converts a steady time to the wall time that people see */
  figures(wallTimeOf: (steadyMs: number) => number): Promise<QueueFigures> {
    return queueFigures(this.#queue, this.#oldest, wallTimeOf);
  }

  /** Stores no more. The queue stays. */
  stop(): void {
    this.#stopping.abort();
  }
}

interface DeadLettersOptions {
  /** Whose dead letters they are, as the store knows it. */
  readonly key: string;
  readonly store: Pick<DeadLetterStoreRedis, 'add'>;
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
class DeadLetters {
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
    if (await retry(() => store.add(key, letter), signal, onFailure)) {
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

/** Repeats an attempt until it succeeds or the signal aborts. Resolves to whether it succeeded. */
async function retry(
  attempt: () => Promise<unknown>,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<boolean> {
  while (!signal.aborted) {
    try {
      await attempt();
      return true;
    } catch (error) {
      onFailure(error);
      await pause(BACKOFF_MS, signal);
    }
  }
  return false;
}
