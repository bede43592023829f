import { asLate } from '../domain/messages.js';
import type { ConsumerServices } from './consumer-options.js';
import type { Cursor } from './cursor.js';
import { type DirectMessage, DirectQueue, directPublish } from './direct-queue.js';
import { InFlight } from './in-flight.js';
import type { ConsumerLimits } from './limits.js';
import type { LogEntry, LogName } from './log-entry.js';
import type { Receiver } from './receiver.js';
import type { Replay } from './replay.js';
import { RoundTrip } from './round-trip.js';

/** An alarm forwarded later than this after its receipt is marked `late` (CONTRACT 3). */
const LATE_AFTER_MS = 60_000;

export interface SendingWindowOptions {
  readonly cursors: Readonly<Record<LogName, Cursor>>;
  readonly replay: Replay;
  readonly services: Pick<ConsumerServices, 'now' | 'elapsedSinceMs'>;
  /** Called when a page has come, or could not be read. */
  readonly onLoaded: () => void;
  /** Called when more may be sent. */
  readonly onReady: () => void;
  readonly onReadFailure: (error: unknown) => void;
}

/** What an acknowledgement settles: an entry of a log, or a message beside the logs. */
interface Sent {
  cursor: Cursor | undefined;
  readonly sequence: number;
}

/** Sends to one connection, which has a bounded number of messages in flight. */
export class SendingWindow {
  readonly direct = new DirectQueue();
  readonly #options: SendingWindowOptions;
  readonly #inFlight = new InFlight<Sent>(nameOf);
  readonly #loading = new Set<Cursor>();
  /** Refused by the receiver, and not passed yet. */
  readonly #refusals = new Set<Sent>();
  readonly #roundTrip = new RoundTrip();
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
    return this.#roundTrip.ms;
  }

  open(receiver: Receiver): void {
    this.#receiver = receiver;
  }

  close(): void {
    this.#receiver = undefined;
    this.#inFlight.interrupt();
    this.#roundTrip.reset();
    this.direct.clear();
  }

  /** Returns whether the packet identifier was in flight. */
  acknowledge(messageId: number): boolean {
    const sent = this.#inFlight.take(messageId);
    this.#roundTrip.acknowledged(messageId);
    sent?.cursor?.acknowledged(sent.sequence);
    return sent !== undefined;
  }

  /** The receiver will never take the message. The returned function passes it. */
  refusal(messageId: number): () => void {
    const sent = this.#inFlight.get(messageId);
    if (sent === undefined) return () => undefined;
    this.#refusals.add(sent);
    return () => {
      this.#refusals.delete(sent);
      if (sent === this.#inFlight.get(messageId)) this.#inFlight.take(messageId);
      sent.cursor?.refused(sent.sequence);
      this.#options.onReady();
    };
  }

  /** An answer to a lost entry says nothing of the one that gets its number. */
  storeWentBack(cursor: Cursor, sequence: number): void {
    for (const sent of [...this.#inFlight.all(), ...this.#refusals]) {
      if (sent.cursor === cursor && sent.sequence > sequence) sent.cursor = undefined;
    }
    this.#inFlight.forgetInterrupted();
  }

  /** Sends what may be sent: alarms first, and telemetry never takes more than half the window. */
  fill({ maxInFlight, maxAgeMs }: ConsumerLimits): void {
    const { cursors, replay, services } = this.#options;
    const window = Math.min(maxInFlight, this.#receiver?.maxInFlight ?? Number.POSITIVE_INFINITY);
    const half = Math.max(1, Math.floor(window / 2));
    const { alarms, messages } = cursors;
    const oldestMs = services.now() - maxAgeMs;
    this.#sendAhead(alarms, window);
    this.#sendFrom(alarms, oldestMs, () => this.#inFlight.size < window);
    this.#sendDirect(half);
    const hasRoom = () => this.#inFlight.size < window && messages.inFlightCount < half;
    // While alarms are being read or keep a pace, telemetry does not come before them.
    const mustWait = replay.holdsAlarms || this.#loading.has(alarms);
    if (!mustWait) this.#sendFrom(messages, oldestMs, hasRoom);
  }

  /** At most once: a receiver that cannot keep up misses it rather than queueing without bound. */
  sendNow(message: Pick<DirectMessage, 'topic' | 'payload' | 'retain'>): void {
    if (this.#receiver?.isWritable === true) this.#receiver.send(directPublish(message, 0, 0));
  }

  payloadOf(entry: LogEntry): Buffer {
    if (entry.log !== 'alarms') return entry.payload;
    const isLate = this.#options.services.elapsedSinceMs(entry.receivedAtMs) > LATE_AFTER_MS;
    return isLate ? asLate(entry.payload) : entry.payload;
  }

  #sendFrom(cursor: Cursor, oldestMs: number, hasRoom: () => boolean): void {
    const { replay } = this.#options;
    while (this.#receiver?.isWritable === true && hasRoom() && !this.#isHeldUp(cursor)) {
      if (!replay.mayGoOn(cursor)) return;
      const entry = cursor.next(oldestMs);
      if (entry === 'caught-up') {
        replay.caughtUp(cursor);
        return;
      }
      if (entry === 'behind') {
        this.#load(cursor);
        return;
      }
      replay.took(cursor);
      this.#send(this.#receiver, cursor, entry, cursor.sent(entry));
      if (cursor.wantsPage) this.#load(cursor);
    }
  }

  /** Whether a page is being loaded and nothing of the page before is left. */
  #isHeldUp(cursor: Cursor): boolean {
    return this.#loading.has(cursor) && !cursor.hasPage;
  }

  #sendAhead(alarms: Cursor, window: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < window) {
      const entry = this.#options.replay.takeAhead();
      if (entry === undefined) return;
      alarms.sentAhead(entry);
      this.#send(this.#receiver, alarms, entry, false);
    }
  }

  #send(receiver: Receiver, cursor: Cursor, entry: LogEntry, wasSent: boolean): void {
    const { topic, sequence } = entry;
    this.direct.noteSent(topic);
    const { messageId, isRepeated } = this.#inFlight.add({ cursor, sequence });
    const payload = this.payloadOf(entry);
    this.#roundTrip.sent(messageId);
    receiver.send({ topic, payload, retain: false, qos: 1, messageId, dup: wasSent || isRepeated });
  }

  #sendDirect(maxInFlight: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < maxInFlight) {
      const message = this.direct.take();
      if (message === undefined) return;
      const messageId =
        message.qos === 0 ? 0 : this.#inFlight.add({ cursor: undefined, sequence: 0 }).messageId;
      this.#receiver.send(directPublish(message, message.qos, messageId));
    }
  }

  #load(cursor: Cursor): void {
    if (this.#loading.has(cursor)) return;
    this.#loading.add(cursor);
    cursor
      .load()
      .finally(() => {
        this.#loading.delete(cursor);
        this.#options.onLoaded();
      })
      .then(this.#options.onReady, this.#options.onReadFailure);
  }
}

/** The same for an entry of a log whenever it is sent; the rest is sent once. */
function nameOf({ cursor, sequence }: Sent): string | undefined {
  return cursor && `${cursor.log} ${sequence}`;
}
