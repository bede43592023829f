import { Frames } from '../../mqtt/bytes.js';
import { FairTurns, type TurnPlace, type TurnTaker } from './fair-turns.js';
import type { NetworkConnection } from './network-connection.js';

/** Bytes read in one turn: a few publishes; a large packet takes many turns. */
const BYTES_PER_TURN = 1_024;

/** The connection to read. */
export interface ReadConnection extends NetworkConnection {
  readonly onlyAcknowledges: boolean;
  /** The location and principal whose turns the connection shares. */
  readonly place: TurnPlace;
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
  readonly #turns: ReadTurns;
  readonly #frames: Frames;
  #messages = 0;
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

  get onlyAcknowledges(): boolean {
    return this.#connection.onlyAcknowledges;
  }

  get place(): TurnPlace {
    return this.#connection.place;
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

/** Messages read in one round; each consumer is sent about as many per round. */
const MESSAGES_PER_ROUND = 100;
/** Messages read in one round while consumers lag: acknowledgements go before publishes. */
const MESSAGES_PER_ROUND_WHEN_LAGGING = 20;
const LAG_ENTRIES = 500;
/** While consumers lag, rounds pause: longer for each so many entries, up to a bound. */
const ENTRIES_PER_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5;
const ACKNOWLEDGERS_ROUND_MS = 5;
const OTHERS_ROUND_MS = 10;
const LAG_CHECK_INTERVAL_MS = 5;

/**
 * Reads connections in turn, one bounded piece each.
 *
 * Delivery continues however fast publishes arrive. Clients that only acknowledge are read first, whatever their
 * credential: acknowledgements make room for messages. Publishes take a bounded part of each turn of the event
 * loop, and less while every prompt consumer lags.
 */
export class ReadTurns {
  readonly #router: { readonly lag: number };
  readonly #elapsed: () => number;
  readonly #acknowledgers: FairTurns;
  readonly #others: FairTurns;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #lagCheckedAtMs = Number.NEGATIVE_INFINITY;
  #lagEntries = 0;
  #othersNotBeforeMs = 0;

  /**
   * @param router `lag`: how many entries still wait to be sent to a consumer that reads
   * @param elapsed a clock that does not jump
   */
  constructor(router: { readonly lag: number }, elapsed = () => performance.now()) {
    this.#router = router;
    this.#elapsed = elapsed;
    const wantAgain = (taker: TurnTaker) => this.want(taker);
    this.#acknowledgers = new FairTurns(elapsed, wantAgain);
    this.#others = new FairTurns(elapsed, wantAgain);
  }

  /** Queues a connection that has something to read. */
  want(taker: TurnTaker): void {
    (taker.onlyAcknowledges ? this.#acknowledgers : this.#others).want(taker);
    this.#schedule();
  }

  /** Removes a connection that is gone, or whose place has changed. */
  leave(taker: TurnTaker): void {
    this.#acknowledgers.leave(taker);
    this.#others.leave(taker);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const pauseMs = this.#othersNotBeforeMs - this.#elapsed();
    if (this.#acknowledgers.waiting > 0 || pauseMs <= 0) {
      this.#isScheduled = true;
      setImmediate(() => this.#round());
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#schedule();
      }, pauseMs);
    }
  }

  #round(): void {
    this.#isScheduled = false;
    const nowMs = this.#elapsed();
    this.#readAcknowledgers(nowMs);
    if (nowMs >= this.#othersNotBeforeMs) this.#readOthers(nowMs);
    if (this.#acknowledgers.waiting + this.#others.waiting > 0) this.#schedule();
  }

  /** Gives as many turns as there are waiting clients: about one each. */
  #readAcknowledgers(nowMs: number): void {
    for (let turns = this.#acknowledgers.waiting; turns > 0; turns--) {
      this.#acknowledgers.next();
      if (this.#elapsed() - nowMs > ACKNOWLEDGERS_ROUND_MS) return;
    }
  }

  #readOthers(nowMs: number): void {
    const lag = this.#lagAt(nowMs);
    const isLagging = lag > LAG_ENTRIES;
    let left = isLagging ? MESSAGES_PER_ROUND_WHEN_LAGGING : MESSAGES_PER_ROUND;
    if (isLagging) {
      this.#othersNotBeforeMs = nowMs + Math.min(MAX_PAUSE_MS, lag / ENTRIES_PER_PAUSE_MS);
    }
    const startMs = this.#elapsed();
    while (left > 0 && this.#elapsed() - startMs < OTHERS_ROUND_MS) {
      const messages = this.#others.next();
      if (messages === undefined) return;
      // At least one: a large publish takes many turns without a message.
      left -= Math.max(1, messages);
    }
  }

  #lagAt(nowMs: number): number {
    if (nowMs - this.#lagCheckedAtMs > LAG_CHECK_INTERVAL_MS) {
      this.#lagCheckedAtMs = nowMs;
      this.#lagEntries = this.#router.lag;
    }
    return this.#lagEntries;
  }
}
