import { hasExpired } from '../mqtt/message-properties.js';
import type { ConsumerServices } from './consumer-options.js';
import { DirectQueue } from './direct-queue.js';
import {
  type LogEntry,
  type LogName,
  payloadOf,
  publishOf,
  type Sendable,
  type Sending,
} from './log/log-entry.js';
import type { Outcome } from './queues/queue-store.js';
import type { Queues } from './queues/queues.js';
import type { Replay } from './queues/replay.js';
import type { OutgoingPublish, Receiver } from './receiver.js';
import type { Forwarding } from './sessions/subscriptions.js';

const MAX_MESSAGE_ID = 65_535;

export interface SendingWindowOptions {
  readonly queues: Queues;
  readonly services: Pick<ConsumerServices, 'elapsedSinceMs' | 'alarmSent' | 'now'>;
  /** What the subscriptions that match a topic ask of its messages. */
  readonly forwardingFor: (topic: string) => Forwarding;
  /** Called when more may be sent. */
  readonly onReady: () => void;
  readonly onReadFailure: (error: unknown) => void;
}

/** Identifies an entry each time it is sent; undefined for a message that is sent once. */
const nameOf = (entry: LogEntry | undefined) => entry && `${entry.log} ${entry.item}`;

/** Sends to one connection, within its in-flight limit. */
export class SendingWindow {
  replay: Replay | undefined;
  readonly #options: SendingWindowOptions;
  /** Entries of the queues; undefined for messages beside them. */
  readonly #inFlight = new InFlight<LogEntry | undefined>(nameOf);
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

  /** Ends the connection: what is in flight is to be sent again. */
  close(): void {
    this.#receiver = undefined;
    for (const entry of this.#inFlight.interrupt()) {
      if (entry !== undefined) this.#options.queues.released(entry);
    }
    this.#counts = { alarms: 0, messages: 0 };
    this.replay?.end();
    this.replay = undefined;
    this.#direct?.close();
    this.#direct = undefined;
  }

  /** Returns whether the packet identifier was in flight. */
  acknowledge(messageId: number, outcome: Outcome): boolean {
    const isInFlight = this.#inFlight.has(messageId);
    const entry = this.#leave(messageId);
    if (entry !== undefined) this.#options.queues.settle(entry, outcome);
    return isInFlight;
  }

  /**
   * Turns a message into a dead letter. The returned function settles it; until then it stays in flight.
   */
  deadLetter(messageId: number): () => void {
    const entry = this.#inFlight.get(messageId);
    return () => {
      if (entry !== undefined && entry === this.#inFlight.get(messageId)) this.#leave(messageId);
      if (entry !== undefined) this.#options.queues.settle(entry, 'refused');
      this.#options.onReady();
    };
  }

  /** Fills the window: alarms first, telemetry in at most half of it. */
  fill(maxInFlight: number, oldestMs: number): void {
    const window = Math.min(maxInFlight, this.#receiver?.maxInFlight ?? Number.POSITIVE_INFINITY);
    const half = Math.max(1, Math.floor(window / 2));
    if (this.replay !== undefined) this.#sendAhead(this.replay, oldestMs, window);
    this.#sendFrom('alarms', oldestMs, () => this.#inFlight.size < window);
    if (this.#direct !== undefined) this.#sendDirect(this.#direct, half);
    const hasRoom = () => this.#inFlight.size < window && this.#counts.messages < half;
    // While alarms are being read or are paced, telemetry does not go before them.
    const mustWait = this.replay?.holdsAlarms === true || this.#options.queues.isLoading('alarms');
    if (!mustWait) this.#sendFrom('messages', oldestMs, hasRoom);
  }

  /** Sends at most once: a receiver that cannot keep up misses the message. Returns whether it was sent. */
  sendNow(message: Sendable): boolean {
    if (this.#receiver?.isWritable !== true) return false;
    this.#direct?.noteSent(message.topic, message.payload);
    this.#receiver.send(this.#publishOf(message, { qos: 0, messageId: 0 }));
    return true;
  }

  /** Sends an entry to a subscription at QoS 0. */
  sendAtQos0(entry: LogEntry): void {
    const payload = payloadOf(entry, this.#options.services);
    const { topic, properties } = entry;
    this.sendNow({ topic, payload, retain: false, properties });
  }

  #sendFrom(log: LogName, oldestMs: number, hasRoom: () => boolean): void {
    const { replay } = this;
    const { queues } = this.#options;
    while (this.#receiver?.isWritable === true && hasRoom()) {
      if (replay?.maySend(log) === false) return;
      const entry = queues.take(log, oldestMs);
      if (entry === 'not-loaded') {
        this.#load(log);
        return;
      }
      if (entry === 'caught-up') {
        replay?.caughtUp(log);
        return;
      }
      replay?.sent(log);
      this.#send(this.#receiver, entry);
      if (queues.wantsPage(log)) this.#load(log);
    }
  }

  #sendAhead(replay: Replay, oldestMs: number, window: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < window) {
      const entry = replay.takeAhead();
      if (entry === undefined) return;
      if (this.#options.queues.takeAhead(entry, oldestMs)) this.#send(this.#receiver, entry);
    }
  }

  #send(receiver: Receiver, entry: LogEntry): void {
    const { topic, properties } = entry;
    this.#direct?.noteSent(topic, entry.payload);
    const { messageId, isRepeated } = this.#inFlight.add(entry);
    this.#counts[entry.log]++;
    const payload = payloadOf(entry, this.#options.services);
    const message = { topic, payload, retain: false, properties };
    const sending = { qos: 1, messageId, dup: isRepeated, entry } as const;
    if (receiver.send(this.#publishOf(message, sending))) return;
    this.#leave(messageId);
    this.#options.queues.settle(entry, 'too-large');
  }

  #sendDirect(direct: DirectQueue, maxInFlight: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < maxInFlight) {
      const message = direct.take();
      if (message === undefined && direct.isIdle) this.#direct = undefined;
      if (message === undefined) return;
      const { properties } = message;
      if (properties && hasExpired(properties, this.#options.services.now())) continue;
      if (!message.retain) direct.noteSent(message.topic, message.payload);
      const messageId = message.qos === 0 ? 0 : this.#inFlight.add(undefined).messageId;
      const isSent = this.#receiver.send(this.#publishOf(message, { qos: message.qos, messageId }));
      if (!isSent && messageId > 0) this.#leave(messageId);
    }
  }

  #publishOf(message: Sendable, sending: Sending): OutgoingPublish {
    const { services, forwardingFor } = this.#options;
    const takesProperties = this.#receiver?.takesProperties === true;
    const forwarding = takesProperties ? forwardingFor(message.topic) : undefined;
    return publishOf(message, sending, forwarding, services.now);
  }

  #leave(messageId: number): LogEntry | undefined {
    const entry = this.#inFlight.acknowledge(messageId);
    if (entry !== undefined) this.#counts[entry.log]--;
    return entry;
  }

  #load(log: LogName): void {
    const { queues, onReady, onReadFailure } = this.#options;
    if (queues.isLoading(log)) return;
    queues.load(log).then(onReady, onReadFailure);
  }
}

/** The messages that await their acknowledgement, by packet identifier. */
export class InFlight<Message> {
  readonly #nameOf: (message: Message) => string | undefined;
  readonly #messages = new Map<number, Message>();
  /** Packet identifiers of entries in flight when the connection broke, by name. */
  readonly #interrupted = new Map<string, number>();
  /** The interrupted packet identifiers, which no other message gets. */
  readonly #reserved = new Set<number>();
  /**
   * Starts at random, not at 1: a client may send a delayed acknowledgement on its next connection
   * (mqtt.js does), which must not acknowledge another message of the same number.
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

  /** How long the last timed message took, or the present one has taken so far, if longer. */
  get roundTripMs(): number {
    if (this.#timed === undefined) return this.#lastRoundTripMs;
    return Math.max(this.#lastRoundTripMs, performance.now() - this.#timed.sentAtMs);
  }

  /**
   * Gives the message the packet identifier that it had before [MQTT-4.4.0-1], else one that is not in
   * use [MQTT-2.3.1-4].
   */
  add(message: Message): { readonly messageId: number; readonly isRepeated: boolean } {
    // Hardly ever is one interrupted, and a name for each message would cost the most of this.
    const name = this.#interrupted.size === 0 ? undefined : this.#nameOf(message);
    const before = name === undefined ? undefined : this.#interrupted.get(name);
    const messageId = before ?? this.#unused();
    if (name !== undefined && this.#interrupted.delete(name)) this.#reserved.delete(messageId);
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
      this.#interrupted.set(name, messageId);
      this.#reserved.add(messageId);
    }
    this.#messages.clear();
    this.#timed = undefined;
    this.#lastRoundTripMs = 0;
    return interrupted;
  }

  #unused(): number {
    // Expired entries are never sent again: they must not keep their packet identifiers for ever.
    if (this.#messages.size + this.#reserved.size >= MAX_MESSAGE_ID) {
      this.#interrupted.clear();
      this.#reserved.clear();
    }
    do {
      this.#lastMessageId = (this.#lastMessageId % MAX_MESSAGE_ID) + 1;
    } while (this.#messages.has(this.#lastMessageId) || this.#reserved.has(this.#lastMessageId));
    return this.#lastMessageId;
  }
}
