import type { Duplex } from 'node:stream';
import type { Client } from 'aedes';
import type { Packet } from 'mqtt-packet';
import { FairTurns, type TurnPlace, type TurnTaker } from './fair-turns.js';
import { type PacketParser, parserOf } from './packet-parser.js';
import { wholePacket } from './packet-writer.js';

/** Bytes read in one turn: some publishes; a large packet takes many turns. */
const BYTES_PER_TURN = 1_024;

/** The connection that is read. */
export interface ReadConnection {
  readonly client: Client;
  readonly isSubscriber: boolean;
  /** Whose turns the connection takes part in. */
  readonly place: TurnPlace;
  /** Whether more may be read now; if not, `resume` is called later. */
  readonly mayRead: boolean;
  /** Called with each packet in its order. Returns whether it counts as a message. */
  onPacket(packet: Packet): boolean;
  /** Called with what a turn has read. Returns whether it was all alarms. */
  onRead(messages: number, bytes: number, nowMs: number): boolean;
}

/**
 * Reads a client's packets in turns: the seam between network and Aedes.
 *
 * Aedes would read all that arrives. Here its reads return nothing, and its parser is fed in turns. Most packets
 * do not even reach the parser, which costs several times what `wholePacket` does.
 */
export class PacketReader implements TurnTaker {
  readonly #connection: ReadConnection;
  readonly #turns: ReadTurns;
  readonly #maxPacketBytes: number;
  readonly #stream: Duplex;
  readonly #read: Duplex['read'];
  readonly #parser: PacketParser;
  /** The beginning of a packet that the parser need not take. */
  #begun: Buffer | undefined;
  /** Bytes of CONNECT still to be read. */
  #connectBytes: number;
  #messages = 0;
  #bringsAlarms = false;
  #isEnded = false;
  #readAtMs = performance.now();

  /** @param limits `connectBytes`: the length of the first packet, behind which nothing is read before its answer */
  constructor(
    connection: ReadConnection,
    turns: ReadTurns,
    limits: { readonly maxPacketBytes: number; readonly connectBytes: number },
  ) {
    this.#connection = connection;
    this.#turns = turns;
    this.#maxPacketBytes = limits.maxPacketBytes;
    this.#connectBytes = limits.connectBytes;
    const { client } = connection;
    const stream = client.conn;
    this.#stream = stream;
    this.#read = stream.read.bind(stream);
    // `read(0)` is how Node itself asks the stream to go on.
    stream.read = (size?: number) => (size === 0 ? this.#read(0) : null);
    stream.on('readable', () => this.resume());
    this.#parser = parserOf(client);
    this.#parser.removeAllListeners('packet');
    this.#parser.on('packet', (packet) => this.#take(packet));
  }

  /** Whether reading has ended: the connection is gone, or the client has sent DISCONNECT. */
  get isEnded(): boolean {
    return this.#isEnded;
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
    return !this.#isEnded && this.#stream.readableLength > 0 && this.#connection.mayRead;
  }

  /** Milliseconds since the last read; 0 while bytes wait to be read. */
  get silentMs(): number {
    const hasUnread = this.#stream.readableLength > 0;
    return hasUnread ? 0 : performance.now() - this.#readAtMs;
  }

  /** Asks for a turn: bytes have arrived, or reading is allowed again. */
  resume(): void {
    if (this.#isEnded) return;
    if (this.#stream.readableLength === 0) this.#noticeEnd();
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
    const stream = this.#stream;
    this.#messages = 0;
    const most = Math.min(
      stream.readableLength,
      this.#connectBytes || BYTES_PER_TURN,
      BYTES_PER_TURN,
    );
    const bytes: unknown = this.#read(most || undefined);
    this.#readAtMs = nowMs;
    if (bytes instanceof Buffer) {
      this.#connectBytes = Math.max(0, this.#connectBytes - bytes.length);
      this.#parse(bytes);
      this.#bringsAlarms = this.#connection.onRead(this.#messages, bytes.length, nowMs);
    }
    this.#noticeEnd();
    return this.#messages;
  }

  /** At the end of the stream, this read makes it emit `end`. */
  #noticeEnd(): void {
    if (this.#stream.readableLength === 0 && !this.#stream.destroyed) this.#read(0);
  }

  #parse(bytes: Buffer): void {
    const { error, packet } = this.#parser;
    if (error !== null || packet.cmd !== null) {
      this.#parser.parse(bytes);
      return;
    }
    const all = this.#begun === undefined ? bytes : Buffer.concat([this.#begun, bytes]);
    this.#begun = undefined;
    const maxBytes = Math.min(MAX_BEGUN_BYTES, this.#maxPacketBytes);
    for (let at = 0; at < all.length && this.#parser.error === null; ) {
      const whole = wholePacket(all, at, maxBytes);
      if (whole === undefined) {
        this.#parser.parse(all.subarray(at));
        return;
      }
      if (whole === 'incomplete') {
        this.#begun = all.subarray(at);
        return;
      }
      this.#take(whole);
      at = whole.end;
    }
  }

  #take(packet: Packet): void {
    // Aedes takes no packet of a client that it has closed.
    if (this.#isEnded || this.#connection.client.closed) return;
    if (this.#connection.onPacket(packet)) this.#messages++;
  }
}

/** A longer packet is left to the parser, because its beginning would be copied in each turn. */
const MAX_BEGUN_BYTES = 4 * BYTES_PER_TURN;

/** Messages read in one round; about as many are sent to each consumer in one. */
const MESSAGES_PER_ROUND = 100;
/** Messages read in one round while consumers lag: acknowledgements go before publishes. */
const MESSAGES_PER_ROUND_WHEN_LAGGING = 20;
const LAG_ENTRIES = 500;
/** The more entries consumers lag, the longer the pause between rounds, up to a bound. */
const ENTRIES_PER_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5;
const SUBSCRIBERS_ROUND_MS = 5;
const OTHERS_ROUND_MS = 10;
const LAG_CHECK_INTERVAL_MS = 5;

/**
 * Reads connections in turn, one bounded piece each.
 *
 * Delivery goes on however fast publishes come in: subscribers, whose acknowledgements make room
 * for messages, are read first, and publishes take a bounded part of each turn of the event loop,
 * less the more the consumers lag.
 */
export class ReadTurns {
  readonly #deliveries: { readonly lag: number };
  readonly #elapsed: () => number;
  readonly #subscribers: FairTurns;
  readonly #others: FairTurns;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #lagCheckedAtMs = Number.NEGATIVE_INFINITY;
  #lagEntries = 0;
  #othersNotBeforeMs = 0;

  /**
   * @param deliveries `lag`: how many entries a consumer that reads has still to be sent
   * @param elapsed a clock that does not jump
   */
  constructor(deliveries: { readonly lag: number }, elapsed = () => performance.now()) {
    this.#deliveries = deliveries;
    this.#elapsed = elapsed;
    this.#subscribers = new FairTurns(elapsed);
    this.#others = new FairTurns(elapsed);
  }

  /** Queues a connection that has something to read. */
  want(taker: TurnTaker): void {
    (taker.isSubscriber ? this.#subscribers : this.#others).want(taker);
    this.#schedule();
  }

  /** Removes a connection that is gone, or whose place is another now. */
  leave(taker: TurnTaker): void {
    this.#subscribers.leave(taker);
    this.#others.leave(taker);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const pauseMs = this.#othersNotBeforeMs - this.#elapsed();
    if (this.#subscribers.waiting > 0 || pauseMs <= 0) {
      this.#isScheduled = true;
      setImmediate(() => this.#round());
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#round();
      }, pauseMs);
    }
  }

  #round(): void {
    this.#isScheduled = false;
    const nowMs = this.#elapsed();
    this.#readSubscribers(nowMs);
    if (nowMs >= this.#othersNotBeforeMs) this.#readOthers(nowMs);
    if (this.#subscribers.waiting + this.#others.waiting > 0) this.#schedule();
  }

  /** As many turns as there are subscribers that want one: about one each. */
  #readSubscribers(nowMs: number): void {
    for (let turns = this.#subscribers.waiting; turns > 0; turns--) {
      this.#subscribers.next();
      if (this.#elapsed() - nowMs > SUBSCRIBERS_ROUND_MS) return;
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
      // One at least: a large publish takes many turns that bring none.
      left -= Math.max(1, messages);
    }
  }

  #lagAt(nowMs: number): number {
    if (nowMs - this.#lagCheckedAtMs > LAG_CHECK_INTERVAL_MS) {
      this.#lagCheckedAtMs = nowMs;
      this.#lagEntries = this.#deliveries.lag;
    }
    return this.#lagEntries;
  }
}
