import { formatTime } from '../domain/time.js';
import type {
  EventSubscription,
  StreamMessage,
  StreamOutlet,
} from '../site/alarms/event-streams.js';

/** Readers may rely on a heartbeat every five seconds. */
const CHECK_INTERVAL_MS = 2_000;
const CHECKS_PER_HEARTBEAT = 2;
/** How long a client may leave a piece unread after it went to the network. */
const UNREAD_AFTER_MS = 5_000;
/** Bytes of a piece; even a client on the slowest link takes it in time. */
const PIECE_BYTES = 16 * 1024;
/** Bytes that may wait for the network; beyond that, a client misses messages that are in no log. */
const MAX_WAITING_BYTES = 256 * 1024;
/** A client that fell behind by the maximum gets more once only this much waits. */
const LOW_WATER_BYTES = MAX_WAITING_BYTES / 2;
const NO_VALUE = Buffer.from('null');
const LINE_END = /\r\n|\r|\n/g;

export interface EventStreamOptions {
  /** The response; it is destroyed if the client does not read. */
  readonly outgoing: { destroy(): unknown; once(event: 'close', listener: () => void): unknown };
  readonly now: () => number;
  /** A clock that does not jump. */
  readonly elapsed: () => number;
}

/** An event, or the rest of one, and the message that it carries. */
interface Frame {
  bytes: Buffer;
  readonly message: StreamMessage | undefined;
}

/**
 * A response of server-sent events, written in batches of what has arrived since the last write.
 *
 * Messages are acknowledged once the network has taken them, so the rest waits in the log.
 */
export class EventStream implements StreamOutlet {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: EventStreamOptions;
  #subscription: EventSubscription | undefined;
  readonly #frames: Frame[] = [];
  #waitingBytes = 0;
  #wasFull = false;
  /** Messages handed to the network in full, but not yet known to be taken. */
  #handedOver: StreamMessage[] = [];
  #handedOverAtMs: number | undefined;
  #isEnded = false;
  #notice: () => void = () => undefined;
  readonly #timer: NodeJS.Timeout;
  #checks = 0;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#check(), CHECK_INTERVAL_MS);
    options.outgoing.once('close', () => this.end());
    this.body = new ReadableStream<Uint8Array>(
      { pull: (controller) => this.#pull(controller) },
      { highWaterMark: 0 },
    );
  }

  /** Sets the source of the messages. */
  attach(subscription: EventSubscription): void {
    this.#subscription = subscription;
    if (this.#isEnded) subscription.close();
  }

  get isWritable(): boolean {
    return !this.#isEnded && this.#waitingBytes < MAX_WAITING_BYTES;
  }

  opened(position: string, hasMissed: boolean): void {
    const data = JSON.stringify({ position, missed: hasMissed });
    this.#add(Buffer.from(`event: open\nid: ${position}\ndata: ${data}\n\n`));
  }

  send(message: StreamMessage): void {
    this.#add(frameOf(message), message);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#timer);
    this.#subscription?.close();
    // A client that does not read would not see the end either.
    if (this.#handedOverAtMs !== undefined) this.#options.outgoing.destroy();
    this.#notice();
  }

  #add(bytes: Buffer, message?: StreamMessage): void {
    if (this.#isEnded) return;
    this.#frames.push({ bytes, message });
    this.#waitingBytes += bytes.length;
    if (!this.isWritable) this.#wasFull = true;
    this.#notice();
  }

  /** The network has taken the last piece, and asks for the next. */
  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#handedOverAtMs = undefined;
    this.#subscription?.taken(this.#handedOver);
    this.#handedOver = [];
    if (this.#frames.length === 0 && !this.#isEnded) {
      await new Promise<void>((resolve) => {
        this.#notice = resolve;
      });
    }
    // Outside the turns of HTTP: as over MQTT, an alarm does not wait for requests.
    if (this.#isEnded) controller.close();
    else this.#handOver(controller);
  }

  #handOver(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#handedOverAtMs = this.#options.elapsed();
    controller.enqueue(this.#takePiece());
    if (!this.#wasFull || this.#waitingBytes > LOW_WATER_BYTES) return;
    this.#wasFull = false;
    this.#subscription?.wake();
  }

  #takePiece(): Buffer {
    const parts: Buffer[] = [];
    let room = PIECE_BYTES;
    for (const frame of this.#frames) {
      const part = frame.bytes.subarray(0, room);
      frame.bytes = frame.bytes.subarray(part.length);
      parts.push(part);
      room -= part.length;
      if (frame.bytes.length > 0) break;
      if (frame.message !== undefined) this.#handedOver.push(frame.message);
    }
    const rest = this.#frames.findIndex(({ bytes }) => bytes.length > 0);
    this.#frames.splice(0, rest < 0 ? this.#frames.length : rest);
    this.#waitingBytes -= PIECE_BYTES - room;
    return Buffer.concat(parts);
  }

  /** Sends a heartbeat, or ends the stream of a client that does not read. */
  #check(): void {
    const { elapsed, now } = this.#options;
    const sinceMs = this.#handedOverAtMs;
    if (sinceMs !== undefined && elapsed() - sinceMs > UNREAD_AFTER_MS) {
      this.#subscription?.unread();
      this.end();
      return;
    }
    this.#checks++;
    if (this.#checks % CHECKS_PER_HEARTBEAT > 0 || !this.isWritable) return;
    const data = JSON.stringify({ at: formatTime(now()) });
    this.#add(Buffer.from(`event: heartbeat\ndata: ${data}\n\n`));
  }
}

/** A message as an event: the payload is unchanged except for line ends, which a line of an event cannot hold. */
function frameOf({ topic, payload, retained, position }: StreamMessage): Buffer {
  const id = position === undefined ? '' : `id: ${position}\n`;
  const before = `event: message\n${id}data: {"topic":${JSON.stringify(topic)},"retained":${retained},"payload":`;
  const value = payload.length === 0 ? NO_VALUE : payload;
  return Buffer.concat([Buffer.from(before), inLines(value), Buffer.from('}\n\n')]);
}

/** Continues the data on a new `data` line after each line end; the reader joins them again. */
function inLines(payload: Buffer): Buffer {
  if (!payload.includes('\n') && !payload.includes('\r')) return payload;
  return Buffer.from(payload.toString().replaceAll(LINE_END, '\ndata: '));
}
