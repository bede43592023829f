import type { ConsumerServices } from './consumer-options.js';
import { DirectQueue } from './direct-queue.js';
import { InterruptedIdentifiers } from './interrupted-identifiers.js';
import {
  type Carried,
  isEntry,
  type LogEntry,
  type LogName,
  messageOf,
  nameOf,
  publishOf,
  type Sendable,
  type Sending,
  type Sent,
} from './log/log-entry.js';
import type { Queue, Queues } from './queues/queue.js';
import type { Replay } from './queues/replay.js';
import type { OutgoingPublish, Receiver } from './receiver.js';
import type { Forwarding, QoS } from './sessions/subscriptions.js';

const MAX_MESSAGE_ID = 65_535;

export interface SendingWindowOptions {
  readonly queues: Queues;
  readonly services: Pick<ConsumerServices, 'elapsedSinceMs' | 'alarmSent' | 'leftOut' | 'now'>;
  /** What the subscriptions matching a topic ask of its messages. */
  readonly forwardingFor: (topic: string, publisher: string | undefined) => Forwarding;
  /** The QoS granted for an alarm. */
  readonly qosFor: (topic: string, publisher: string | undefined) => QoS;
  /** Called when more may be sent. */
  readonly onReady: () => void;
  readonly onReadFailure: (error: unknown) => void;
}

/** Sends to one connection, within its in-flight limit. */
export class SendingWindow {
  replay: Replay | undefined;
  readonly #options: SendingWindowOptions;
  readonly #inFlight = new InFlight<Sent>(nameOf);
  #counts: Record<LogName, number> = { alarms: 0, messages: 0 };
  #direct: DirectQueue | undefined;
  #receiver: Receiver | undefined;

  constructor(options: SendingWindowOptions) {
    this.#options = options;
  }

  get receiver(): Receiver | undefined {
    return this.#receiver;
  }

  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  countOf(log: LogName): number {
    return this.#counts[log];
  }

  /** How long the receiver takes to acknowledge, in milliseconds. */
  get roundTripMs(): number {
    return this.#inFlight.roundTripMs;
  }

  get direct(): DirectQueue {
    this.#direct ??= new DirectQueue();
    return this.#direct;
  }

  open(receiver: Receiver): void {
    this.#receiver = receiver;
  }

  /** Ends the connection: messages in flight will be sent again. */
  close(): void {
    this.#receiver = undefined;
    for (const sent of this.#inFlight.interrupt()) {
      if (isEntry(sent)) this.#options.queues[sent.log].released(sent);
    }
    this.#counts = { alarms: 0, messages: 0 };
    this.replay?.end();
    this.replay = undefined;
    this.#direct?.close();
    this.#direct = undefined;
  }

  /** Returns whether the packet identifier was in flight. */
  acknowledge(messageId: number, isRefused: boolean): boolean {
    const isInFlight = this.#inFlight.has(messageId);
    const sent = this.#leave(messageId);
    if (isEntry(sent))
      this.#options.queues[sent.log].settle(sent, isRefused ? 'refused' : 'delivered');
    else sent?.settle(isRefused);
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
      if (isEntry(sent)) this.#options.queues[sent.log].settle(sent, 'refused');
      this.#options.onReady();
    };
  }

  /** Sends a message of a group's queue. Returns false if it is too large. */
  carry(publish: OutgoingPublish, settle: Carried['settle']): boolean {
    const { messageId } = this.#inFlight.add({ settle });
    if (this.#receiver?.send({ ...publish, messageId, dup: false }) === true) return true;
    this.#leave(messageId);
    return false;
  }

  /** Fills the window: alarms first, telemetry in at most half of it. */
  fill(maxInFlight: number, oldestMs: number): void {
    const window = Math.min(maxInFlight, this.#receiver?.maxInFlight ?? Number.POSITIVE_INFINITY);
    const half = Math.max(1, Math.floor(window / 2));
    if (this.replay !== undefined) this.#sendAhead(this.replay, oldestMs, window);
    this.#sendFrom('alarms', oldestMs, () => this.#inFlight.size < window);
    if (this.#direct !== undefined) this.#sendDirect(this.#direct, half);
    const hasRoom = () => this.#inFlight.size < window && this.#counts.messages < half;
    // While alarms are being read or paced, telemetry does not go before them.
    const mustWait = this.replay?.holdsAlarms === true || this.#options.queues.alarms.isLoading;
    if (!mustWait) this.#sendFrom('messages', oldestMs, hasRoom);
  }

  /** Sends at most once: a receiver that cannot keep up misses the message. Returns whether it needs no other attempt. */
  sendNow(message: Sendable): boolean {
    if (this.#receiver?.isWritable !== true) return false;
    this.#direct?.noteSent(message.topic, message.payload);
    const isSent = this.#receiver.send(this.#publishOf(message, { qos: 0, messageId: 0 }));
    if (!isSent) this.#options.services.leftOut();
    return true;
  }

  #sendFrom(log: LogName, oldestMs: number, hasRoom: () => boolean): void {
    const { replay } = this;
    const queue = this.#options.queues[log];
    while (this.#receiver?.isWritable === true && hasRoom()) {
      if (replay?.maySend(log) === false) return;
      const entry = queue.take(oldestMs);
      if (entry === 'not-loaded') {
        this.#load(queue);
        return;
      }
      if (entry === 'caught-up') {
        replay?.caughtUp(log);
        return;
      }
      replay?.sent(log);
      this.#send(this.#receiver, entry);
      if (queue.wantsPage) this.#load(queue);
    }
  }

  #sendAhead(replay: Replay, oldestMs: number, window: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < window) {
      const entry = replay.takeAhead();
      if (entry === undefined) return;
      if (this.#options.queues.alarms.takeAhead(entry, oldestMs)) this.#send(this.#receiver, entry);
    }
  }

  #send(receiver: Receiver, entry: LogEntry): void {
    this.#direct?.noteSent(entry.topic, entry.payload);
    const { services, queues, qosFor } = this.#options;
    const message = messageOf(entry, services);
    if (entry.log === 'alarms' && qosFor(entry.topic, message.publisher) === 0) {
      const isSent = receiver.send(this.#publishOf(message, { qos: 0, messageId: 0, entry }));
      queues.alarms.settle(entry, isSent ? 'delivered' : 'too-large');
      return;
    }
    const { messageId, isRepeated } = this.#inFlight.add(entry);
    this.#counts[entry.log]++;
    const sending = { qos: 1, messageId, dup: isRepeated, entry } as const;
    if (receiver.send(this.#publishOf(message, sending))) return;
    this.#leave(messageId);
    queues[entry.log].settle(entry, 'too-large');
  }

  #sendDirect(direct: DirectQueue, maxInFlight: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < maxInFlight) {
      const message = direct.takeAt(this.#options.services.now());
      if (message === undefined && direct.isIdle) this.#direct = undefined;
      if (message === undefined) return;
      if (!message.retain) direct.noteSent(message.topic, message.payload);
      const messageId = message.qos === 0 ? 0 : this.#inFlight.add(undefined).messageId;
      const isSent = this.#receiver.send(this.#publishOf(message, { qos: message.qos, messageId }));
      if (isSent) continue;
      if (messageId > 0) this.#leave(messageId);
      this.#options.services.leftOut();
    }
  }

  #publishOf(message: Sendable, sending: Sending): OutgoingPublish {
    const { services, forwardingFor } = this.#options;
    const takesProperties = this.#receiver?.takesProperties === true;
    const { topic, publisher } = message;
    const forwarding = takesProperties ? forwardingFor(topic, publisher) : undefined;
    return publishOf(message, sending, forwarding, services.now);
  }

  #leave(messageId: number): Sent {
    const sent = this.#inFlight.acknowledge(messageId);
    if (isEntry(sent)) this.#counts[sent.log]--;
    return sent;
  }

  #load(queue: Queue): void {
    const { onReady, onReadFailure } = this.#options;
    if (!queue.isLoading) queue.load().then(onReady, onReadFailure);
  }
}

/** The messages that await acknowledgement, by packet identifier. */
export class InFlight<Message> {
  readonly #nameOf: (message: Message) => string | undefined;
  readonly #messages = new Map<number, Message>();
  #interrupted: InterruptedIdentifiers | undefined;
  /**
   * Starts at random, not at 1: a client may send a late acknowledgement on its next connection
   * (mqtt.js does), and this must not acknowledge another message with the same number.
   */
  #lastMessageId = Math.floor(Math.random() * MAX_MESSAGE_ID);
  /** One message at a time is timed. */
  #timed: { readonly messageId: number; readonly sentAtMs: number } | undefined;
  #lastRoundTripMs = 0;

  constructor(nameOf: (message: Message) => string | undefined) {
    this.#nameOf = nameOf;
  }

  get size(): number {
    return this.#messages.size;
  }

  /** How long the last timed message took, or the current one has taken so far, if longer. */
  get roundTripMs(): number {
    if (this.#timed === undefined) return this.#lastRoundTripMs;
    return Math.max(this.#lastRoundTripMs, performance.now() - this.#timed.sentAtMs);
  }

  /**
   * Gives the message the packet identifier it had before [MQTT-4.4.0-1], or else an unused one
   * [MQTT-2.3.1-4].
   */
  add(message: Message): { readonly messageId: number; readonly isRepeated: boolean } {
    // Interrupted messages are rare, and computing a name for every message would be the main cost here.
    const name = this.#interrupted === undefined ? undefined : this.#nameOf(message);
    const before = name === undefined ? undefined : this.#interrupted?.take(name);
    if (this.#interrupted?.size === 0) this.#interrupted = undefined;
    const messageId = before ?? this.#unused();
    this.#messages.set(messageId, message);
    this.#timed ??= { messageId, sentAtMs: performance.now() };
    return { messageId, isRepeated: before !== undefined };
  }

  has(messageId: number): boolean {
    return this.#messages.has(messageId);
  }

  get(messageId: number): Message | undefined {
    return this.#messages.get(messageId);
  }

  /** Removes and returns the message of this packet identifier. */
  acknowledge(messageId: number): Message | undefined {
    if (messageId === this.#timed?.messageId) {
      this.#lastRoundTripMs = performance.now() - this.#timed.sentAtMs;
      this.#timed = undefined;
    }
    const message = this.#messages.get(messageId);
    this.#messages.delete(messageId);
    return message;
  }

  /** Interrupts and returns all messages: entries keep their packet identifiers for the next connection. */
  interrupt(): Message[] {
    const interrupted = [...this.#messages.values()];
    for (const [messageId, message] of this.#messages) {
      const name = this.#nameOf(message);
      if (name === undefined) continue;
      this.#interrupted ??= new InterruptedIdentifiers();
      this.#interrupted.add(name, messageId);
    }
    this.#messages.clear();
    this.#timed = undefined;
    this.#lastRoundTripMs = 0;
    return interrupted;
  }

  #unused(): number {
    // Expired entries are never sent again and must not keep their packet identifiers for ever.
    const reserved = this.#interrupted?.size ?? 0;
    if (this.#messages.size + reserved >= MAX_MESSAGE_ID) this.#interrupted = undefined;
    do {
      this.#lastMessageId = (this.#lastMessageId % MAX_MESSAGE_ID) + 1;
    } while (this.#isTaken(this.#lastMessageId));
    return this.#lastMessageId;
  }

  #isTaken(messageId: number): boolean {
    return this.#messages.has(messageId) || this.#interrupted?.has(messageId) === true;
  }
}
