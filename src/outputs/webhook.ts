import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Consumer } from '../delivery/consumer.js';
import type { OutgoingPublish, Receiver } from '../delivery/receiver.js';
import { retry } from '../delivery/retry.js';
import { PERSISTENT, type SessionOwner } from '../delivery/sessions/session.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import type { Phrase } from '../domain/faults/faults.js';
import { decodeUtf8, isJson, newId } from '../domain/notation.js';
import { WEBHOOK_CLIENT_ID_PREFIX, type WebhookOptions } from '../domain/output-schema.js';
import { parseForwardedTopic } from '../domain/topics.js';
import type { DeadLetterStore } from '../site/bridge-list.js';
import { pause } from '../site/clock/pause.js';
import { type WebhookMessage, WebhookSender } from './webhook-request.js';

const OWNER_PREFIX = 'webhook:';
const MS_PER_HOUR = 3_600_000;
const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;
/** A webhook reads at its own pace, and never decides how fast devices are read. */
const REPLAY_PER_SECOND = 1_000;

/** The webhook whose queue has this owner; undefined for other owners. */
export function webhookNameOf(ownerKey: string): string | undefined {
  return ownerKey.startsWith(OWNER_PREFIX) ? ownerKey.slice(OWNER_PREFIX.length) : undefined;
}

/** The key of a webhook's dead letters, which are kept along with those of bridges. */
export function deadLetterKey(name: string): string {
  return WEBHOOK_CLIENT_ID_PREFIX + name;
}

/** A webhook as the owner of its queue, which is a session like a subscriber's. */
export function webhookOwner(name: string, options: WebhookOptions | undefined): SessionOwner {
  const locations = options?.locations;
  const owner = {
    key: OWNER_PREFIX + name,
    mayReceive: ({ locationId }: { readonly locationId: string | null }) =>
      locations === undefined || (locationId !== null && locations.includes(locationId)),
  };
  if (options === undefined) return owner;
  const { maxSentAtOnce, maxQueuedMessages, maxQueuedBytes, maxQueuedHours } = options;
  const limits = {
    maxInFlight: maxSentAtOnce,
    maxQueued: maxQueuedMessages,
    maxQueuedBytes,
    maxAgeMs: maxQueuedHours * MS_PER_HOUR,
    replayPerSecond: REPLAY_PER_SECOND,
  };
  return { ...owner, isKept: true, limits };
}

export interface WebhookServices {
  /** Distinguishes this gateway from others at the same receiver. */
  readonly installation: string;
  readonly sessions: Sessions;
  readonly deadLetters: Pick<DeadLetterStore, 'add'>;
  /** Called with the reason when delivery fails, and with undefined when it works again. */
  readonly onFailing: (reason: Phrase | undefined) => void;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Delivers one queue of forwarded messages by POSTs.
 *
 * The queue is a session like any subscriber's: a message leaves it only when the receiver has answered it with 2xx, or
 * as a dead letter. Messages of one device go out one after another. When the receiver fails, everything waits, and
 * messages are tried one at a time until it answers again. This delays nobody else.
 */
export class Webhook implements Receiver {
  readonly options: WebhookOptions;
  readonly isWritable = true;
  readonly maxInFlight: number;
  readonly #services: WebhookServices;
  readonly #sender: WebhookSender;
  readonly #stopping = new AbortController();
  /** The end of what is being sent, by device, or by topic if there is no device. */
  readonly #chains = new Map<string, Promise<void>>();
  #queue: Consumer | undefined;
  #backoffMs = 0;
  #failing: Phrase | undefined;
  /** Resolves when the receiver may be tried again, one at a time. */
  #gate: Promise<void> = Promise.resolve();

  constructor(options: WebhookOptions, services: WebhookServices) {
    this.options = options;
    this.maxInFlight = options.maxSentAtOnce;
    this.#services = services;
    this.#sender = new WebhookSender(options, services.now);
  }

  get queue(): Consumer | undefined {
    return this.#queue;
  }

  get isFailing(): boolean {
    return this.#failing !== undefined;
  }

  /** Opens the queue where it stopped, or a new one. Resolves once a change of its filters is stored, or retried. */
  async start(): Promise<void> {
    const { sessions, log } = this.#services;
    const { name, topics } = this.options;
    const owner = webhookOwner(name, this.options);
    const clientId = WEBHOOK_CLIENT_ID_PREFIX + name;
    const { key, consumer, isSaved } = sessions.open(clientId, owner, PERSISTENT);
    this.#queue = consumer;
    const present = consumer.subscriptions.list().map(({ filter }) => filter);
    if (isSaved && isDeepStrictEqual(new Set(present), new Set(topics))) return;
    const removed = present.filter((filter) => !topics.includes(filter));
    const requested = topics.map((filter) => ({ filter, qos: 1 as const }));
    // New filters first, in the same turn and write: no message that both match is missed.
    const store = () =>
      Promise.all([sessions.subscribe(key, requested), sessions.unsubscribe(key, removed)]);
    await new Promise<void>((resolve) => {
      const onFailure = (err: unknown) => {
        log.warn({ webhook: name, err }, "failed to store the webhook's queue");
        resolve();
      };
      void retry(store, { signal: this.#stopping.signal, onFailure }).then(() => resolve());
    });
  }

  connect(): void {
    this.#queue?.connect(this);
  }

  /** Aborts what is being sent; it stays in the queue. */
  stop(): void {
    this.#stopping.abort();
    this.#queue?.disconnect(this);
    this.#sender.close();
  }

  send(publish: OutgoingPublish): boolean {
    const subject = parseForwardedTopic(publish.topic)?.deviceId ?? publish.topic;
    const before = this.#chains.get(subject) ?? Promise.resolve();
    const sending = before.then(() => this.#deliver(publish));
    this.#chains.set(subject, sending);
    void sending.then(() => {
      if (this.#chains.get(subject) === sending) this.#chains.delete(subject);
    });
    return true;
  }

  /** Tries a message once, outside the queue. */
  async trySend(topic: string, payload: Buffer, id: string): Promise<string | undefined> {
    const outcome = await this.#sender.send({ id, body: bodyOf(topic, payload) }, this.#signal);
    if (outcome.type === 'delivered') return undefined;
    return outcome.type === 'refused' ? outcome.reason : outcome.reason.en;
  }

  get #signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Sends a message until the receiver gives a final answer, or the gateway stops; never rejects. */
  async #deliver(publish: OutgoingPublish): Promise<void> {
    const { topic, payload, messageId } = publish;
    const message = { id: this.#idOf(publish), body: bodyOf(topic, payload) };
    while (!this.#signal.aborted) {
      const outcome =
        this.#failing === undefined ? await this.#try(message, false) : await this.#probe(message);
      if (this.#signal.aborted) return;
      if (outcome === 'again') continue;
      if (outcome !== undefined) await this.#deadLetter(publish, outcome);
      else this.#queue?.acknowledge(messageId);
      return;
    }
  }

  /** Tries again after the backoff, one message at a time. */
  #probe(message: WebhookMessage): Promise<'again' | string | undefined> {
    const probing = this.#gate.then(async () => {
      if (this.#failing !== undefined) await pause(this.#backoffMs, this.#signal);
      return this.#signal.aborted ? ('again' as const) : this.#try(message, true);
    });
    this.#gate = probing.then(() => undefined);
    return probing;
  }

  /**
   * @param isProbe whether it is the one message tried while the receiver fails
   * @returns undefined when it is delivered, `again`, or why the receiver never takes it
   */
  async #try(message: WebhookMessage, isProbe: boolean): Promise<'again' | string | undefined> {
    const outcome = await this.#sender.send(message, this.#signal);
    if (this.#signal.aborted) return 'again';
    if (outcome.type === 'failed') {
      // What fails at the same time as the first, or as a probe, belongs to the same outage.
      if (isProbe || this.#failing === undefined) {
        const nextMs = isProbe ? 2 * this.#backoffMs : FIRST_BACKOFF_MS;
        this.#backoffMs = outcome.afterMs ?? Math.min(nextMs, MAX_BACKOFF_MS);
      }
      this.#setFailing(outcome.reason);
      return 'again';
    }
    this.#setFailing(undefined);
    return outcome.type === 'refused' ? outcome.reason : undefined;
  }

  #setFailing(reason: Phrase | undefined): void {
    if (this.#failing?.en === reason?.en) return;
    this.#failing = reason;
    this.#services.onFailing(reason);
  }

  /** Keeps a message that the receiver never takes; it leaves the queue once stored as a dead letter. */
  async #deadLetter({ topic, payload, messageId }: OutgoingPublish, reason: string): Promise<void> {
    const { deadLetters, log, now } = this.#services;
    const { name } = this.options;
    const letter = { atMs: now(), topic, reason, payload };
    const add = () => deadLetters.add(deadLetterKey(name), letter);
    let isWarned = false;
    const onFailure = (err: unknown) => {
      if (!isWarned) log.warn({ webhook: name, err }, 'failed to store a dead letter');
      isWarned = true;
    };
    const drop = this.#queue?.window.deadLetter(messageId);
    if (!(await retry(add, { signal: this.#signal, onFailure }))) return;
    log.warn({ webhook: name, topic, reason }, 'message became a dead letter');
    drop?.();
  }

  /** The same for each attempt, even after a restart. */
  #idOf({ entry }: OutgoingPublish): string {
    const { installation } = this.#services;
    if (entry === undefined || entry.item === 0) return `msg_${newId()}`;
    return `msg_${installation}_${entry.log}_${entry.item}`;
  }
}

/** Forwarded payloads are JSON; an empty one becomes `null`. */
function bodyOf(topic: string, payload: Buffer): Buffer {
  const text = decodeUtf8(payload);
  const value = text !== undefined && isJson(text) ? text : 'null';
  return Buffer.from(`{"topic":${JSON.stringify(topic)},"payload":${value}}`);
}
