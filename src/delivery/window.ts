import type { ConsumerServices } from './consumer.js';
import { DirectQueue } from './direct-queue.js';
import {
  asSentNow,
  type Entry,
  type LogName,
  type Message,
  type OutgoingPublish,
  publishOf,
  type Receiver,
} from './message.js';
import type { Queue } from './queue.js';
import type { Forwarding, QoS } from './sessions/subscriptions.js';

const MAX_MESSAGE_ID = 65_535;
const AT_QOS_0 = { qos: 0, messageId: 0, dup: false } as const;

/** How a message is sent. */
type Sending = Pick<OutgoingPublish, 'qos' | 'messageId' | 'dup' | 'entry'>;

/** A message in flight: an entry of a queue, a message that a group's member carries, or one that is sent only once. */
type Sent =
  | { readonly queue: Queue; readonly entry: Entry }
  | { readonly settle: (isRefused: boolean) => void }
  | undefined;

export interface WindowOptions {
  readonly queues: Readonly<Record<LogName, Queue>>;
  readonly services: Pick<ConsumerServices, 'elapsedSinceMs' | 'alarmSent' | 'leftOut' | 'now'>;
  /** The form in which the subscriptions that match a topic get its messages. */
  readonly forwardingFor: (topic: string, publisher: string | undefined) => Forwarding;
  /** The QoS granted for an alarm. */
  readonly qosFor: (topic: string, publisher: string | undefined) => QoS;
  /** Called when more may be sent. */
  readonly onReady: () => void;
  readonly onReadFailure: (error: unknown) => void;
  /** Called when a message cannot be built or written. */
  readonly onSendFailure: (error: unknown) => void;
}

/** Sends to one connection, within its in-flight limit: alarms first. Gives the packet identifiers. */
export class Window {
  readonly #options: WindowOptions;
  readonly #inFlight = new Map<number, Sent>();
  #counts: Record<LogName, number> = { alarms: 0, messages: 0 };
  /** The packet identifiers of entries that were in flight when a connection broke, by `Queue.nameOf`. */
  readonly #interrupted = new Map<unknown, number>();
  readonly #reserved = new Set<number>();
  /**
   * Starts at random, not at 1: a client may send a late acknowledgement on its next connection
   * (mqtt.js does), and this must not acknowledge another message with the same number.
   */
  #lastMessageId = Math.floor(Math.random() * MAX_MESSAGE_ID);
  /** One message at a time is timed. */
  #timed: { readonly messageId: number; readonly sentAtMs: number } | undefined;
  #lastRoundTripMs = 0;
  #direct: DirectQueue | undefined;
  #receiver: Receiver | undefined;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  get receiver(): Receiver | undefined {
    return this.#receiver;
  }

  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  /** How many packet identifiers are kept for what was interrupted, and comes again. */
  get reservedCount(): number {
    return this.#reserved.size;
  }

  countOf(log: LogName): number {
    return this.#counts[log];
  }

  /** How long the last timed message took, or the current one has taken so far, if longer. */
  get roundTripMs(): number {
    if (this.#timed === undefined) return this.#lastRoundTripMs;
    return Math.max(this.#lastRoundTripMs, performance.now() - this.#timed.sentAtMs);
  }

  get direct(): DirectQueue {
    this.#direct ??= new DirectQueue();
    return this.#direct;
  }

  open(receiver: Receiver): void {
    this.#receiver = receiver;
  }

  /**
   * Ends the connection.
   *
   * @returns the alarms in flight, which will be sent again under the same packet identifiers [MQTT-4.4.0-1]
   */
  close(): Entry[] {
    this.#receiver = undefined;
    const alarms: Entry[] = [];
    for (const [messageId, sent] of this.#inFlight) {
      if (sent === undefined || !('queue' in sent)) continue;
      if (sent.entry.log === 'alarms') alarms.push(sent.entry);
      const name = sent.queue.nameOf(sent.entry);
      if (name === undefined) continue;
      this.#interrupted.set(name, messageId);
      this.#reserved.add(messageId);
    }
    this.#inFlight.clear();
    this.#counts = { alarms: 0, messages: 0 };
    this.#timed = undefined;
    this.#lastRoundTripMs = 0;
    this.#direct = undefined;
    return alarms;
  }

  /** Returns whether the packet identifier was in flight. */
  acknowledge(messageId: number, isRefused: boolean): boolean {
    const isInFlight = this.#inFlight.has(messageId);
    settle(this.#leave(messageId), isRefused);
    return isInFlight;
  }

  /**
   * Turns a message into a dead letter. It stays in flight until the returned function settles it, on a later connection
   * too: some brokers close the connection on which they reject a message.
   */
  deadLetter(messageId: number): () => void {
    const sent = this.#inFlight.get(messageId);
    return () => {
      if (sent !== undefined && sent === this.#inFlight.get(messageId)) this.#leave(messageId);
      settle(sent, true);
      this.#options.onReady();
    };
  }

  /** Sends a message of a group's queue. Returns false if it is too large. */
  carry(publish: OutgoingPublish, whenAnswered: (isRefused: boolean) => void): boolean {
    const { messageId } = this.#add({ settle: whenAnswered });
    if (this.#receiver?.send({ ...publish, messageId, dup: false }) === true) return true;
    this.#leave(messageId);
    return false;
  }

  /**
   * Frees the identifier of an entry that was interrupted, and is not sent again.
   *
   * @param name as of `Queue.nameOf`
   */
  forget(name: unknown): void {
    const messageId = this.#interrupted.get(name);
    if (messageId === undefined) return;
    this.#interrupted.delete(name);
    this.#reserved.delete(messageId);
  }

  /** Fills the window: alarms first, telemetry in at most half of it. */
  fill(maxInFlight: number, oldestMs: number): void {
    const window = Math.min(maxInFlight, this.#receiver?.maxInFlight ?? Number.POSITIVE_INFINITY);
    const half = Math.max(1, Math.floor(window / 2));
    const { alarms, messages } = this.#options.queues;
    this.#sendFrom('alarms', oldestMs, () => this.#inFlight.size < window);
    if (this.#direct !== undefined) this.#sendDirect(this.#direct, half);
    // While alarms are being read, telemetry does not go before them.
    const hasRoom = () => this.#inFlight.size < window && this.#counts.messages < half;
    if (!alarms.isLoading) this.#sendFrom('messages', oldestMs, hasRoom);
    if (this.#interrupted.size > 0 && alarms.isSent && messages.isSent) this.#forgetInterrupted();
  }

  /** Sends at most once: a receiver that cannot keep up misses the message. Returns whether it needs no other attempt. */
  sendNow(message: Message): boolean {
    if (this.#receiver?.isWritable !== true) return false;
    this.#direct?.noteSent(message);
    const isSent = this.#transmit(message, AT_QOS_0);
    if (!isSent) this.#options.services.leftOut();
    return true;
  }

  #sendFrom(log: LogName, oldestMs: number, hasRoom: () => boolean): void {
    const queue = this.#options.queues[log];
    while (this.#receiver?.isWritable === true && hasRoom()) {
      const entry = queue.take(oldestMs);
      if (entry === 'not-loaded') this.#load(queue);
      if (entry === undefined || entry === 'not-loaded') return;
      this.#send(queue, entry);
      if (queue.wantsPage) this.#load(queue);
    }
  }

  #send(queue: Queue, entry: Entry): void {
    this.#direct?.noteSent(entry);
    const { qosFor } = this.#options;
    if (entry.log === 'alarms' && qosFor(entry.topic, entry.publisher) === 0) {
      const isSent = this.#transmit(entry, { ...AT_QOS_0, entry });
      queue.settle(entry, isSent ? 'delivered' : 'too-large');
      return;
    }
    const { messageId, isRepeated } = this.#add({ queue, entry });
    this.#counts[entry.log]++;
    const sending = { qos: 1, messageId, dup: isRepeated, entry } as const;
    if (this.#transmit(entry, sending)) return;
    this.#leave(messageId);
    queue.settle(entry, 'too-large');
  }

  #sendDirect(direct: DirectQueue, maxInFlight: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < maxInFlight) {
      const message = direct.take(this.#options.services.now());
      if (message === undefined && direct.isIdle) this.#direct = undefined;
      if (message === undefined) return;
      if (message.retain !== true) direct.noteSent(message);
      const messageId = message.qos === 0 ? 0 : this.#add(undefined).messageId;
      const sending = { qos: message.qos ?? 1, messageId, dup: false };
      const isSent = this.#transmit(message, sending);
      if (isSent) continue;
      if (messageId > 0) this.#leave(messageId);
      this.#options.services.leftOut();
    }
  }

  /**
   * Sends a message, as it is now. Returns false if it is too large.
   *
   * If a message cannot be built or written, it counts as sent: the others go on. At QoS 1 its queue keeps it.
   */
  #transmit(message: Message | Entry, sending: Sending): boolean {
    const { services, onSendFailure } = this.#options;
    try {
      const current = 'log' in message ? asSentNow(message, services) : message;
      return this.#receiver?.send(this.#publishOf(current, sending)) === true;
    } catch (error) {
      onSendFailure(error);
      return true;
    }
  }

  #publishOf(message: Message, sending: Sending): OutgoingPublish {
    const { services, forwardingFor } = this.#options;
    const takesProperties = this.#receiver?.takesProperties === true;
    const { topic, publisher } = message;
    const forwarding = takesProperties ? forwardingFor(topic, publisher) : undefined;
    return publishOf(message, sending, forwarding, services.now);
  }

  /** Gives the message the packet identifier it had before [MQTT-4.4.0-1], or else an unused one [MQTT-2.3.1-4]. */
  #add(sent: Sent): { readonly messageId: number; readonly isRepeated: boolean } {
    const before = this.#interrupted.size === 0 ? undefined : this.#identifierBefore(sent);
    const messageId = before ?? this.#unused();
    this.#inFlight.set(messageId, sent);
    this.#timed ??= { messageId, sentAtMs: performance.now() };
    return { messageId, isRepeated: before !== undefined };
  }

  #identifierBefore(sent: Sent): number | undefined {
    if (sent === undefined || !('queue' in sent)) return undefined;
    const name = sent.queue.nameOf(sent.entry);
    const messageId = this.#interrupted.get(name);
    if (messageId === undefined) return undefined;
    this.forget(name);
    return messageId;
  }

  #unused(): number {
    if (this.#inFlight.size + this.#reserved.size >= MAX_MESSAGE_ID) this.#forgetInterrupted();
    do {
      this.#lastMessageId = (this.#lastMessageId % MAX_MESSAGE_ID) + 1;
    } while (this.#inFlight.has(this.#lastMessageId) || this.#reserved.has(this.#lastMessageId));
    return this.#lastMessageId;
  }

  /** The entries left have expired or were dropped: they must not keep their identifiers. */
  #forgetInterrupted(): void {
    this.#interrupted.clear();
    this.#reserved.clear();
  }

  #leave(messageId: number): Sent {
    if (messageId === this.#timed?.messageId) {
      this.#lastRoundTripMs = performance.now() - this.#timed.sentAtMs;
      this.#timed = undefined;
    }
    const sent = this.#inFlight.get(messageId);
    this.#inFlight.delete(messageId);
    if (sent !== undefined && 'queue' in sent) this.#counts[sent.entry.log]--;
    return sent;
  }

  #load(queue: Queue): void {
    const { onReady, onReadFailure } = this.#options;
    if (!queue.isLoading) queue.load().then(onReady, onReadFailure);
  }
}

function settle(sent: Sent, isRefused: boolean): void {
  if (sent === undefined) return;
  if ('queue' in sent) sent.queue.settle(sent.entry, isRefused ? 'refused' : 'delivered');
  else sent.settle(isRefused);
}
