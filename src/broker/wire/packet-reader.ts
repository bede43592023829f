import { Frames } from '../../mqtt/bytes.js';
import type { NetworkConnection } from './network-connection.js';
import type { Turns, TurnTaker } from './turns.js';

/** Bytes read in one turn: a few publishes; a large packet takes many turns. */
const BYTES_PER_TURN = 1_024;

/** The connection to read. */
export interface ReadConnection extends NetworkConnection {
  readonly onlyAcknowledges: boolean;
  /** As `TurnTaker.principal`. */
  readonly principal: string;
  /** Whether more may be read now; if not, `resume` is called later. */
  mayReadOrWait(): boolean;
  /** Whether the answer to a CONNECT is pending: later packets wait. */
  readonly isConnecting: boolean;
  /** Called with each packet, in order. Returns whether it counts as a message. */
  onPacket(bytes: Buffer): boolean;
  /** Called with what a turn has read. */
  onRead(messages: number, bytes: number, nowMs: number): void;
  /** Called when what was read is not a packet, or cannot be handled. */
  fail(error: unknown): void;
}

/** Reads a client's packets in turns. */
export class PacketReader implements TurnTaker {
  readonly #connection: ReadConnection;
  readonly #turns: Turns;
  readonly #frames: Frames;
  #messages = 0;
  #isEnded = false;
  /** Whether the stream has ended; unread packets are still handled. */
  #hasAll = false;
  #readAtMs = performance.now();

  constructor(connection: ReadConnection, turns: Turns, maxPacketBytes: number) {
    this.#connection = connection;
    this.#turns = turns;
    this.#frames = new Frames(maxPacketBytes);
    connection.stream.on('readable', () => this.resume());
    connection.stream.once('end', () => {
      this.#hasAll = true;
      this.resume();
    });
  }

  get onlyAcknowledges(): boolean {
    return this.#connection.onlyAcknowledges;
  }

  get principal(): string {
    return this.#connection.principal;
  }

  get wantsTurn(): boolean {
    return !this.#isEnded && this.#hasUnread && this.#connection.mayReadOrWait();
  }

  /** Milliseconds since the last read; 0 while bytes wait to be read. */
  get silentMs(): number {
    return this.#hasUnread ? 0 : performance.now() - this.#readAtMs;
  }

  /** Asks for a turn: bytes have arrived, or reading is allowed again. */
  resume(): void {
    if (this.#isEnded) return;
    if (!this.#hasUnread) this.#noticeEnd();
    else if (this.#connection.mayReadOrWait()) this.#turns.want(this);
  }

  /** Ends reading. */
  end(): void {
    this.#isEnded = true;
    this.#turns.leave(this);
  }

  takeTurn(nowMs: number): number {
    // Since this turn was requested, the budget may have been used up, or the room taken.
    if (!this.#connection.mayReadOrWait()) return 0;
    this.#messages = 0;
    const bytes = this.#frames.hasMore ? 0 : this.#readSome(nowMs);
    this.#takePackets();
    this.#connection.onRead(this.#messages, bytes, nowMs);
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

  /** Closes the connection after the last packet; at the end of the stream, the read makes it emit `end`. */
  #noticeEnd(): void {
    const { stream } = this.#connection;
    if (this.#hasAll) this.#connection.close();
    if (stream.readableLength === 0 && !stream.destroyed) stream.read(0);
  }
}
