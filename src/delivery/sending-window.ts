import { asLate } from '../domain/alarm-payload.js';
import type { ConsumerServices } from './consumer-options.js';
import type { Cursor } from './cursors/cursor.js';
import type { Replay } from './cursors/replay.js';
import { type DirectMessage, DirectQueue, directPublish } from './direct-queue.js';
import type { ConsumerLimits } from './limits.js';
import type { LogEntry, LogName } from './log/log-entry.js';
import type { Receiver } from './receiver.js';

const MAX_MESSAGE_ID = 65_535;
/** An alarm forwarded later than this after its receipt is marked `late` (CONTRACT 3). */
const LATE_AFTER_MS = 60_000;

export interface SendingWindowOptions {
  readonly cursors: Readonly<Record<LogName, Cursor>>;
  readonly services: Pick<ConsumerServices, 'now' | 'elapsedSinceMs' | 'alarmSent'>;
  /** Called when a page was loaded, or failed to load. */
  readonly onLoaded: () => void;
  /** Called when more may be sent. */
  readonly onReady: () => void;
  readonly onReadFailure: (error: unknown) => void;
}

/** A message that awaits its acknowledgement: a log entry, or one beside the logs. */
interface Sent {
  cursor: Cursor | undefined;
  readonly sequence: number;
}

/** Identifies an entry each time it is sent; undefined for a message that is sent once. */
function nameOf({ cursor, sequence }: Sent): string | undefined {
  return cursor === undefined ? undefined : `${cursor.log} ${sequence}`;
}

/** Sends to one connection, within its in-flight limit. */
export class SendingWindow {
  /** Present while a connection's backlog is sent at a pace. */
  replay: Replay | undefined;
  readonly #options: SendingWindowOptions;
  readonly #inFlight = new InFlight<Sent>(nameOf);
  /** Dead letters that are not passed yet. */
  readonly #deadLetters = new Set<Sent>();
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

  /** How long the receiver takes to acknowledge, in milliseconds. */
  get roundTripMs(): number {
    return this.#inFlight.roundTripMs;
  }

  /** The messages beside the logs that wait for room. */
  get direct(): DirectQueue {
    this.#direct ??= new DirectQueue();
    return this.#direct;
  }

  open(receiver: Receiver): void {
    this.#receiver = receiver;
  }

  close(): void {
    this.#receiver = undefined;
    this.#inFlight.interrupt();
    this.replay?.end();
    this.replay = undefined;
    this.#direct?.close();
    this.#direct = undefined;
  }

  /** Returns whether the packet identifier was in flight. */
  acknowledge(messageId: number): boolean {
    const sent = this.#inFlight.acknowledge(messageId);
    sent?.cursor?.acknowledged(sent.sequence);
    return sent !== undefined;
  }

  /** Turns a message into a dead letter. The returned function passes it. */
  deadLetter(messageId: number): () => void {
    const sent = this.#inFlight.get(messageId);
    if (sent === undefined) return () => undefined;
    this.#deadLetters.add(sent);
    return () => {
      this.#deadLetters.delete(sent);
      if (sent === this.#inFlight.get(messageId)) this.#inFlight.acknowledge(messageId);
      sent.cursor?.deadLetter(sent.sequence);
      this.#options.onReady();
    };
  }

  /** Detaches lost entries: other entries get their numbers. */
  storeWentBack(cursor: Cursor, sequence: number): void {
    for (const sent of [...this.#inFlight.all(), ...this.#deadLetters]) {
      if (sent.cursor === cursor && sent.sequence > sequence) sent.cursor = undefined;
    }
    this.#inFlight.forgetInterrupted();
  }

  /** Fills the window: alarms first, telemetry in at most half of it. */
  fill({ maxInFlight, maxAgeMs }: ConsumerLimits): void {
    const { cursors, services } = this.#options;
    const window = Math.min(maxInFlight, this.#receiver?.maxInFlight ?? Number.POSITIVE_INFINITY);
    const half = Math.max(1, Math.floor(window / 2));
    const { alarms, messages } = cursors;
    const oldestMs = services.now() - maxAgeMs;
    if (this.replay !== undefined) this.#sendAhead(this.replay, alarms, window);
    this.#sendFrom(alarms, oldestMs, () => this.#inFlight.size < window);
    if (this.#direct !== undefined) this.#sendDirect(this.#direct, half);
    const hasRoom = () => this.#inFlight.size < window && messages.inFlightCount < half;
    // While alarms are being read or are paced, telemetry does not go before them.
    const mustWait = this.replay?.holdsAlarms === true || alarms.position.isLoading;
    if (!mustWait) this.#sendFrom(messages, oldestMs, hasRoom);
  }

  /** Sends at most once: a receiver that cannot keep up misses the message. Returns whether it was sent. */
  sendNow(message: Pick<DirectMessage, 'topic' | 'payload' | 'retain'>): boolean {
    if (this.#receiver?.isWritable !== true) return false;
    this.#direct?.noteSent(message.topic, message.payload);
    this.#receiver.send(directPublish(message, 0, 0));
    return true;
  }

  /** Sends an entry to a subscription at QoS 0. */
  sendAtQos0(entry: LogEntry): void {
    const payload = payloadOf(entry, this.#options.services);
    this.sendNow({ topic: entry.topic, payload, retain: false });
  }

  #sendFrom(cursor: Cursor, oldestMs: number, hasRoom: () => boolean): void {
    const { replay } = this;
    while (this.#receiver?.isWritable === true && hasRoom()) {
      if (replay?.maySend(cursor) === false) return;
      const entry = cursor.next(oldestMs);
      if (entry === 'caught-up') {
        replay?.caughtUp(cursor);
        return;
      }
      if (entry === 'not-loaded') {
        this.#load(cursor);
        return;
      }
      replay?.sent(cursor);
      this.#send(this.#receiver, cursor, entry, cursor.sent(entry));
      if (cursor.position.wantsPage) this.#load(cursor);
    }
  }

  #sendAhead(replay: Replay, alarms: Cursor, window: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < window) {
      const entry = replay.takeAhead();
      if (entry === undefined) return;
      alarms.sentAhead(entry);
      this.#send(this.#receiver, alarms, entry, false);
    }
  }

  #send(receiver: Receiver, cursor: Cursor, entry: LogEntry, wasSent: boolean): void {
    const { topic, sequence } = entry;
    this.#direct?.noteSent(topic, entry.payload);
    const { messageId, isRepeated } = this.#inFlight.add({ cursor, sequence });
    const payload = payloadOf(entry, this.#options.services);
    const dup = wasSent || isRepeated;
    receiver.send({ topic, payload, retain: false, qos: 1, messageId, dup, entry });
  }

  #sendDirect(direct: DirectQueue, maxInFlight: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < maxInFlight) {
      const message = direct.take();
      if (message === undefined) {
        if (direct.isIdle) this.#direct = undefined;
        return;
      }
      if (!message.retain) direct.noteSent(message.topic, message.payload);
      const messageId =
        message.qos === 0 ? 0 : this.#inFlight.add({ ...BESIDE_THE_LOGS }).messageId;
      this.#receiver.send(directPublish(message, message.qos, messageId));
    }
  }

  #load(cursor: Cursor): void {
    const { position } = cursor;
    if (position.isLoading) return;
    position
      .load()
      .finally(this.#options.onLoaded)
      .then(this.#options.onReady, this.#options.onReadFailure);
  }
}

/** The payload of an entry that is sent now. */
export function payloadOf(
  entry: LogEntry,
  services: Pick<ConsumerServices, 'elapsedSinceMs' | 'alarmSent'>,
): Buffer {
  if (entry.log !== 'alarms' || entry.isStateChange === true) return entry.payload;
  const { source } = entry;
  if (source !== undefined && 'alarm' in source) services.alarmSent(source);
  const isLate = services.elapsedSinceMs(entry.receivedAtMs) > LATE_AFTER_MS;
  return isLate ? asLate(entry.payload) : entry.payload;
}

const BESIDE_THE_LOGS: Sent = { cursor: undefined, sequence: 0 };

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

  all(): Iterable<Message> {
    return this.#messages.values();
  }

  /** Interrupts all messages: entries keep their packet identifiers for the next connection. */
  interrupt(): void {
    for (const [messageId, message] of this.#messages) {
      const name = this.#nameOf(message);
      if (name === undefined) continue;
      this.#interrupted.set(name, messageId);
      this.#reserved.add(messageId);
    }
    this.#messages.clear();
    this.#timed = undefined;
    this.#lastRoundTripMs = 0;
  }

  /** Frees the packet identifiers of interrupted entries. */
  forgetInterrupted(): void {
    this.#interrupted.clear();
    this.#reserved.clear();
  }

  #unused(): number {
    // Expired entries are never sent again: they must not keep their packet identifiers for ever.
    if (this.#messages.size + this.#reserved.size >= MAX_MESSAGE_ID) this.forgetInterrupted();
    do {
      this.#lastMessageId = (this.#lastMessageId % MAX_MESSAGE_ID) + 1;
    } while (this.#messages.has(this.#lastMessageId) || this.#reserved.has(this.#lastMessageId));
    return this.#lastMessageId;
  }
}
