import type { Duplex } from 'node:stream';
import type { Client } from 'aedes';
import type { Packet } from 'mqtt-packet';
import { parserOf } from './packet-parser.js';
import type { ReadTurns, TurnTaker } from './read-turns.js';

/** So much is read in one turn, some publishes; a large packet takes many turns. */
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
 * Reads a client's packets when it is its turn: the seam between the network and Aedes.
 *
 * Aedes would read whatever arrives. Here its reading finds nothing, and its parser is fed in turns.
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

  /** Whether nothing more is read: the connection is gone, or the client has said so. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  get isSubscriber(): boolean {
    return this.#options.isSubscriber();
  }

  get wantsTurn(): boolean {
    return !this.#isEnded && this.#options.stream.readableLength > 0 && this.#options.mayRead();
  }

  /** For how long nothing has been read though everything that arrived was, in milliseconds. */
  get silentMs(): number {
    const hasUnread = this.#options.stream.readableLength > 0;
    return hasUnread ? 0 : performance.now() - this.#readAtMs;
  }

  /** Something has arrived, or may be read again. */
  resume(): void {
    if (!this.#isEnded && this.#options.mayRead()) this.#options.turns.want(this);
  }

  /** Nothing that follows is read. */
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
    // At the end of the stream this is what has it say so.
    if (stream.readableLength === 0 && !stream.destroyed) this.#read(0);
    return this.#publishes;
  }
}
