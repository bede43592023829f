import type { Duplex } from 'node:stream';
import type { Client } from 'aedes';
import type { Packet } from 'mqtt-packet';
import { parserOf } from './packet-parser.js';

/** Bytes read in one turn: some publishes; a large packet takes many turns. */
const BYTES_PER_TURN = 1_024;

export interface PacketReaderOptions {
  readonly stream: Duplex;
  readonly client: Client;
  readonly turns: ReadTurns;
  /** Called with each packet in its order. */
  readonly onPacket: (packet: Packet) => void;
  /** Whether more may be read now; if not, `resume` is called later. */
  readonly mayRead: () => boolean;
  readonly isSubscriber: () => boolean;
}

/**
 * Reads a client's packets in turns: the seam between network and Aedes.
 *
 * Aedes would read all that arrives. Here its reads return nothing, and its parser is fed in turns.
 */
export class PacketReader implements TurnTaker {
  readonly #options: PacketReaderOptions;
  readonly #read: Duplex['read'];
  readonly #parse: (bytes: Buffer) => void;
  #publishes = 0;
  #isEnded = false;
  #readAtMs = performance.now();

  constructor(options: PacketReaderOptions) {
    this.#options = options;
    const { stream, client, turns, onPacket } = options;
    this.#read = stream.read.bind(stream);
    // `read(0)` is how Node itself asks the stream to go on.
    stream.read = (size?: number) => (size === 0 ? this.#read(0) : null);
    stream.on('readable', () => this.resume());
    stream.once('close', () => {
      this.#isEnded = true;
      turns.leave(this);
    });
    const parser = parserOf(client);
    this.#parse = (bytes) => parser.parse(bytes);
    parser.removeAllListeners('packet');
    parser.on('packet', (packet) => {
      if (this.#isEnded) return;
      if (packet.cmd === 'publish') this.#publishes++;
      onPacket(packet);
    });
  }

  /** Whether reading has ended: the connection is gone, or the client has sent DISCONNECT. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  get isSubscriber(): boolean {
    return this.#options.isSubscriber();
  }

  get wantsTurn(): boolean {
    return !this.#isEnded && this.#options.stream.readableLength > 0 && this.#options.mayRead();
  }

  /** Milliseconds since the last read; 0 while bytes wait to be read. */
  get silentMs(): number {
    const hasUnread = this.#options.stream.readableLength > 0;
    return hasUnread ? 0 : performance.now() - this.#readAtMs;
  }

  /** Asks for a turn: bytes have arrived, or reading is allowed again. */
  resume(): void {
    if (!this.#isEnded && this.#options.mayRead()) this.#options.turns.want(this);
  }

  /** Ends reading. */
  end(): void {
    this.#isEnded = true;
    this.#options.turns.leave(this);
  }

  takeTurn(): number {
    this.#publishes = 0;
    const { stream } = this.#options;
    const bytes: unknown = this.#read(Math.min(stream.readableLength, BYTES_PER_TURN) || undefined);
    this.#readAtMs = performance.now();
    if (bytes instanceof Buffer) this.#parse(bytes);
    // At the end of the stream, this read makes it emit `end`.
    if (stream.readableLength === 0 && !stream.destroyed) this.#read(0);
    return this.#publishes;
  }
}

/** A client's connection, which is read in turns. */
export interface TurnTaker {
  /** Whether the client is a subscriber, whose acknowledgements make room for messages. */
  readonly isSubscriber: boolean;
  /** Reads a bounded piece. Returns how many publishes were in it. */
  takeTurn(): number;
  /** Whether there is more to read, and it may be read. */
  readonly wantsTurn: boolean;
}

/** Publishes read in one round; about as many are sent to each consumer in one. */
const PUBLISHES_PER_ROUND = 100;
/** Publishes read in one round while consumers lag: acknowledgements go before publishes. */
const PUBLISHES_PER_ROUND_WHEN_LAGGING = 20;
const LAG_ENTRIES = 500;
/** The more entries consumers lag, the longer the pause between rounds, up to a bound. */
const ENTRIES_PER_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5;
const SUBSCRIBERS_ROUND_MS = 5;
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
  readonly #subscribers = new Set<TurnTaker>();
  readonly #others = new Set<TurnTaker>();
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #lagCheckedAtMs = Number.NEGATIVE_INFINITY;
  #lagEntries = 0;
  #othersNotBeforeMs = 0;

  /** @param deliveries `lag`: how many entries a consumer that reads has still to be sent */
  constructor(deliveries: { readonly lag: number }) {
    this.#deliveries = deliveries;
  }

  /** Queues a connection that has something to read. */
  want(taker: TurnTaker): void {
    (taker.isSubscriber ? this.#subscribers : this.#others).add(taker);
    this.#schedule();
  }

  /** Removes a connection that is gone. */
  leave(taker: TurnTaker): void {
    this.#subscribers.delete(taker);
    this.#others.delete(taker);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const pauseMs = this.#othersNotBeforeMs - performance.now();
    if (this.#subscribers.size > 0 || pauseMs <= 0) {
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
    const nowMs = performance.now();
    this.#readSubscribers(nowMs);
    if (nowMs >= this.#othersNotBeforeMs) this.#readOthers(nowMs);
    if (this.#subscribers.size + this.#others.size > 0) this.#schedule();
  }

  #readSubscribers(nowMs: number): void {
    for (const taker of [...this.#subscribers]) {
      this.#turn(this.#subscribers, taker);
      if (performance.now() - nowMs > SUBSCRIBERS_ROUND_MS) return;
    }
  }

  #readOthers(nowMs: number): void {
    const lag = this.#lagAt(nowMs);
    const isLagging = lag > LAG_ENTRIES;
    let budget = isLagging ? PUBLISHES_PER_ROUND_WHEN_LAGGING : PUBLISHES_PER_ROUND;
    if (isLagging) {
      this.#othersNotBeforeMs = nowMs + Math.min(MAX_PAUSE_MS, lag / ENTRIES_PER_PAUSE_MS);
    }
    for (const taker of this.#others) {
      if (budget <= 0) return;
      // One turn at least: a large publish takes many that bring none.
      budget -= Math.max(1, this.#turn(this.#others, taker));
    }
  }

  /** A taker that wants more goes to the end of the line. */
  #turn(line: Set<TurnTaker>, taker: TurnTaker): number {
    line.delete(taker);
    const publishes = taker.takeTurn();
    if (taker.wantsTurn) line.add(taker);
    return publishes;
  }

  #lagAt(nowMs: number): number {
    if (nowMs - this.#lagCheckedAtMs > LAG_CHECK_INTERVAL_MS) {
      this.#lagCheckedAtMs = nowMs;
      this.#lagEntries = this.#deliveries.lag;
    }
    return this.#lagEntries;
  }
}
