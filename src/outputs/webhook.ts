import { hash } from 'node:crypto';
import { z } from 'zod';
import type { OutgoingPublish, Receiver } from '../delivery/message.js';
import { Outlet, type OutletServices, outletOwner, ownerKeyOf } from '../delivery/outlet.js';
import type { SessionOwner } from '../delivery/sessions/session.js';
import type { Phrase } from '../domain/fault.js';
import type { Audience } from '../domain/grants.js';
import { newId } from '../domain/ids.js';
import { decodeUtf8, isJson } from '../domain/json.js';
import type { WebhookOptions } from '../domain/output-schema.js';
import { isAlarmTopic, parseForwardedTopic } from '../domain/topics.js';
import { pause } from '../site/clock/pause.js';
import type { DeadLetter } from '../store/lists.js';
import type { OutputStatus } from './outputs.js';
import { type WebhookMessage, type WebhookOutcome, WebhookSender } from './webhook-request.js';

/** Topics of the gateway itself, which concern no location. */
const GATEWAY_TOPICS = 'gateway/';
const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** What tells an alarm, a state of one, or an event of the gateway from others. */
const namedSchema = z.object({ id: z.string().optional(), state: z.string().optional() });

type FailedOutcome = Extract<WebhookOutcome, { type: 'failed' }>;

/** How a message is tried again. */
interface Retry {
  /** The next step of the backoff, whatever the receiver has asked for. */
  readonly backoffMs: number;
  readonly waitMs: number;
  /** How many final answers there were when it failed. */
  readonly answeredCount: number;
  /** Whether the receiver takes others. */
  readonly isOdd: boolean;
}

/** A webhook as the owner of its queue; one that is missing from the configuration owns it within the usual limits. */
export function webhookOwner(name: string, options: WebhookOptions | undefined): SessionOwner {
  if (options === undefined) {
    return { key: ownerKeyOf('webhook', name), mayReceive: () => true };
  }
  const { locations, maxSentAtOnce: maxInFlight } = options;
  const mayReceive = ({ topic, locationId }: Audience) => {
    // A device's commands and its own `rejected` are for the device alone.
    if (locationId === null) return locations === undefined && topic.startsWith(GATEWAY_TOPICS);
    return locations === undefined || locations.includes(locationId);
  };
  return outletOwner('webhook', { ...options, maxInFlight }, mayReceive);
}

export interface WebhookServices extends OutletServices {
  /** Distinguishes this gateway from others at the same receiver. */
  readonly installation: string;
  /** Called with the reason when delivery fails, and with undefined when it works again. */
  readonly onFailing: (reason: Phrase | undefined) => void;
  /** Called with the reason when the receiver refuses an alarm, and with undefined when it takes one again. */
  readonly onRefusing: (reason: Phrase | undefined) => void;
  /** Called with the reason when the receiver refuses any message for good. */
  readonly onDeadLetter: (reason: Phrase) => void;
}

/**
 * Delivers one queue of forwarded messages by POSTs.
 *
 * The queue is a session like any subscriber's: a message leaves it only when the receiver has answered it with 2xx, or
 * as a dead letter. Messages of one device go out one after another. When the receiver fails, each waits longer and longer,
 * and they are tried one at a time, never sooner than a second, until it answers again. What it refuses while it takes
 * others waits by itself. This delays nobody else.
 */
export class Webhook implements Receiver {
  readonly options: WebhookOptions;
  readonly isWritable = true;
  readonly maxInFlight: number;
  readonly #services: WebhookServices;
  readonly #sender: WebhookSender;
  readonly outlet: Outlet;
  /** The end of what is being sent, by device, or by topic if there is no device. */
  readonly #chains = new Map<string, Promise<void>>();
  #failing: Phrase | undefined;
  /** Why the receiver refuses alarms, as reported. */
  #refusing: Phrase | undefined;
  /** Why the last alarm was refused; undefined once one is taken. */
  #refusal: Phrase | undefined;
  #answeredCount = 0;
  /** Ends the waits of what failed, once the receiver answers. */
  #recovery = new AbortController();
  /** Resolves when the receiver may be tried again, one at a time. */
  #gate: Promise<unknown> = Promise.resolve();

  constructor(options: WebhookOptions, services: WebhookServices) {
    this.options = options;
    this.maxInFlight = options.maxSentAtOnce;
    this.#services = services;
    this.#sender = new WebhookSender(options, services.now);
    const { name } = options;
    const log = services.log.child({ webhook: name });
    const owner = webhookOwner(name, options);
    const onDeadLetter = ({ topic, reason }: DeadLetter) => {
      log.warn({ topic, reason }, 'message became a dead letter');
    };
    this.outlet = new Outlet({ kind: 'webhook', name, owner, onDeadLetter }, { ...services, log });
  }

  get state(): OutputStatus['state'] {
    if (this.#failing !== undefined) return 'failing';
    return this.#refusing === undefined ? 'delivering' : 'refusing';
  }

  /** Opens the queue. Resolves once a change of its filters is stored, or retried. */
  async start(): Promise<void> {
    await this.outlet.open(this.options.topics);
  }

  connect(): void {
    this.outlet.connect(this);
  }

  /** Aborts what is being sent; it stays in the queue. */
  stop(): void {
    this.outlet.stop();
    this.outlet.disconnect(this);
    this.#sender.close();
  }

  send(publish: OutgoingPublish): boolean {
    const subject = parseForwardedTopic(publish.topic)?.deviceId ?? publish.topic;
    // QoS 0 is not queued: it would delay the device's alarms, and fill the memory while the receiver fails.
    const isBusy = this.#failing !== undefined || this.#chains.has(subject);
    if (publish.messageId === 0 && isBusy) return true;
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
    if (outcome.type === 'delivered') {
      if (isAlarmTopic(topic)) this.#refusal = undefined;
      this.#report(this.#failing);
      return undefined;
    }
    return outcome.reason.en;
  }

  get #signal(): AbortSignal {
    return this.outlet.signal;
  }

  /** Sends a message until the receiver gives a final answer, or the gateway stops; never rejects. */
  async #deliver(publish: OutgoingPublish): Promise<void> {
    const { topic, payload, messageId } = publish;
    const message = { id: this.#idOf(publish), body: bodyOf(topic, payload) };
    for (let retry: Retry | undefined; ; ) {
      const outcome = await this.#attempt(message, retry);
      if (this.#signal.aborted) return;
      const isAlarm = isAlarmTopic(topic);
      if (outcome.type === 'failed') {
        if (isAlarm && outcome.isAnswered) this.#refusal = outcome.reason;
        retry = this.#failed(outcome, retry);
        continue;
      }
      if (outcome.type === 'delivered') this.outlet.acknowledge(messageId);
      else this.#deadLetter(publish, outcome.reason);
      if (isAlarm) this.#refusal = outcome.type === 'delivered' ? undefined : outcome.reason;
      this.#answered();
      return;
    }
  }

  /** At once while the receiver takes messages; otherwise after the message's own wait, and one at a time. */
  async #attempt(message: WebhookMessage, retry: Retry | undefined): Promise<WebhookOutcome> {
    const send = () => this.#sender.send(message, this.#signal);
    if (retry === undefined && this.#failing === undefined) {
      const outcome = await send();
      if (outcome.type === 'failed') this.#rest(outcome, retry);
      return outcome;
    }
    if (retry !== undefined) await pause(retry.waitMs, this.#wakenBy(retry));
    const sending = this.#gate.then(send);
    this.#gate = sending.then((outcome) => {
      if (outcome.type === 'failed') this.#rest(outcome, retry);
    });
    return sending;
  }

  /** Leaves the receiver alone for a second, or as long as it asks for. */
  #rest(outcome: FailedOutcome, retry: Retry | undefined): void {
    const askedMs = this.#isOdd(outcome, retry) ? 0 : (outcome.afterMs ?? 0);
    const resting = pause(Math.max(FIRST_BACKOFF_MS, askedMs), this.#signal);
    this.#gate = Promise.all([this.#gate, resting]).then(() => undefined);
  }

  /** A receiver that answers again gets everything at once, but not what it alone refuses. */
  #wakenBy({ isOdd }: Retry): AbortSignal {
    return isOdd ? this.#signal : AbortSignal.any([this.#signal, this.#recovery.signal]);
  }

  /** Whether the receiver takes others, but not this message: then it must not hold them up. */
  #isOdd({ isAnswered }: FailedOutcome, retry: Retry | undefined): boolean {
    if (retry === undefined || !isAnswered) return false;
    return retry.isOdd || this.#answeredCount > retry.answeredCount;
  }

  #failed(outcome: FailedOutcome, retry: Retry | undefined): Retry {
    const isOdd = this.#isOdd(outcome, retry);
    const backoffMs =
      retry === undefined ? FIRST_BACKOFF_MS : Math.min(2 * retry.backoffMs, MAX_BACKOFF_MS);
    this.#report(isOdd ? this.#failing : outcome.reason);
    const waitMs = Math.max(backoffMs, outcome.afterMs ?? 0);
    return { backoffMs, waitMs, answeredCount: this.#answeredCount, isOdd };
  }

  /** Notes a final answer. */
  #answered(): void {
    this.#answeredCount++;
    this.#report(undefined);
    this.#recovery.abort();
    this.#recovery = new AbortController();
  }

  /** Reports that it is failing, or else that alarms are refused. */
  #report(failing: Phrase | undefined): void {
    const { onFailing, onRefusing } = this.#services;
    if (this.#failing?.en !== failing?.en) {
      this.#failing = failing;
      onFailing(failing);
    }
    const refusing = failing === undefined ? this.#refusal : undefined;
    if (this.#refusing?.en === refusing?.en) return;
    this.#refusing = refusing;
    onRefusing(refusing);
  }

  #deadLetter(publish: OutgoingPublish, reason: Phrase): void {
    this.#services.onDeadLetter(reason);
    this.outlet.deadLetter(publish, reason.en);
  }

  /**
   * The same for each attempt, even after a restart.
   *
   * What is in the history keeps it if the store loses it and it is stored again: an alarm's has its device's and its own,
   * anything else has one of its topic, its id and its state.
   */
  #idOf({ topic, payload }: OutgoingPublish): string {
    const { installation } = this.#services;
    const text = decodeUtf8(payload);
    const named = namedSchema.safeParse(text !== undefined && isJson(text) ? JSON.parse(text) : {});
    const { id, state } = named.data ?? {};
    if (id === undefined) return `msg_${newId()}`;
    // Two devices may use one id.
    if (isAlarmTopic(topic))
      return `msg_${installation}_${parseForwardedTopic(topic)?.deviceId}_${id}`;
    const digest = hash('sha256', JSON.stringify([topic, id, state]), 'hex').slice(0, 32);
    return `msg_${installation}_${digest}`;
  }
}

/** Forwarded payloads are JSON; an empty one becomes `null`. */
function bodyOf(topic: string, payload: Buffer): Buffer {
  const text = decodeUtf8(payload);
  const value = text !== undefined && isJson(text) ? text : 'null';
  return Buffer.from(`{"topic":${JSON.stringify(topic)},"payload":${value}}`);
}
