import type { TurnPlace, TurnTaker } from './fair-turns.js';
import { Frames } from './frames.js';
import type { NetworkConnection } from './network-connection.js';
import type { ReadTurns } from './read-turns.js';

/** Bytes read in one turn: some publishes; a large packet takes many turns. */
const BYTES_PER_TURN = 1_024;

/** The connection that is read. */
export interface ReadConnection extends NetworkConnection {
  readonly isSubscriber: boolean;
  /** Whose turns the connection takes part in. */
  readonly place: TurnPlace;
  /** Whether more may be read now; if not, `resume` is called later. */
  readonly mayRead: boolean;
  /** Whether a CONNECT is being answered: what follows it waits. */
  readonly isConnecting: boolean;
  /** Called with each packet in its order. Returns whether it counts as a message. */
  onPacket(bytes: Buffer): boolean;
  /** Called with what a turn has read. Returns whether it was all alarms. */
  onRead(messages: number, bytes: number, nowMs: number): boolean;
  /** Called when what was read is no packet. */
  fail(error: unknown): void;
}

/** Reads a client's packets in turns. */
export class PacketReader implements TurnTaker {
  readonly #connection: ReadConnection;
  readonly #turns: ReadTurns;
  readonly #frames: Frames;
  #messages = 0;
  #bringsAlarms = false;
  #isEnded = false;
  /** Whether the stream has ended; unread packets are still handled. */
  #hasAll = false;
  #readAtMs = performance.now();

  constructor(connection: ReadConnection, turns: ReadTurns, maxPacketBytes: number) {
    this.#connection = connection;
    this.#turns = turns;
    this.#frames = new Frames(maxPacketBytes);
    connection.stream.on('readable', () => this.resume());
    connection.stream.once('end', () => {
      this.#hasAll = true;
      this.resume();
    });
  }

  get isSubscriber(): boolean {
    return this.#connection.isSubscriber;
  }

  get place(): TurnPlace {
    return this.#connection.place;
  }

  get bringsAlarms(): boolean {
    return this.#bringsAlarms;
  }

  get wantsTurn(): boolean {
    return !this.#isEnded && this.#hasUnread && this.#connection.mayRead;
  }

  /** Milliseconds since the last read; 0 while bytes wait to be read. */
  get silentMs(): number {
    return this.#hasUnread ? 0 : performance.now() - this.#readAtMs;
  }

  /** Asks for a turn: bytes have arrived, or reading is allowed again. */
  resume(): void {
    if (this.#isEnded) return;
    if (!this.#hasUnread) this.#noticeEnd();
    else if (this.#connection.mayRead) this.#turns.want(this);
  }

  /** Ends reading. */
  end(): void {
    this.#isEnded = true;
    this.#turns.leave(this);
  }

  takeTurn(nowMs: number): number {
    // The budget may have been used up, or the room taken, since the turn was asked for.
    if (!this.#connection.mayRead) return 0;
    this.#messages = 0;
    const bytes = this.#frames.hasMore ? 0 : this.#readSome(nowMs);
    this.#takePackets();
    this.#bringsAlarms = this.#connection.onRead(this.#messages, bytes, nowMs);
    if (!this.#hasUnread) this.#noticeEnd();
    return this.#messages;
  }

  get #hasUnread(): boolean {
    return this.#frames.hasMore || this.#connection.stream.readableLength > 0;
  }

  /** Returns how many bytes were read. */
  #readSome(nowMs: number): number {
    const { stream } = this.#connection;
    const bytes: unknown = stream.read(
      Math.min(stream.readableLength, BYTES_PER_TURN) || undefined,
    );
    this.#readAtMs = nowMs;
    if (!(bytes instanceof Buffer)) return 0;
    this.#frames.add(bytes);
    return bytes.length;
  }

  #takePackets(): void {
    const connection = this.#connection;
    try {
      while (!this.#isEnded && !connection.isClosed && !connection.isConnecting) {
        const packet = this.#frames.next();
        if (packet === undefined) return;
        if (connection.onPacket(packet)) this.#messages++;
      }
    } catch (error) {
      connection.fail(error);
    }
  }

  /** Closes the connection behind the last packet; at the end of the stream, this read makes it emit `end`. */
  #noticeEnd(): void {
    const { stream } = this.#connection;
    if (this.#hasAll) this.#connection.close();
    if (stream.readableLength === 0 && !stream.destroyed) stream.read(0);
  }
}
