import type { Client } from 'aedes';
import type { OutgoingPublish, Receiver } from '../delivery/receiver.js';
import { encodePublish } from './packet-encoder.js';

/** How long a client may leave its messages unread before it is disconnected; nothing is lost. */
const DRAIN_TIMEOUT_MS = 5_000;
/**
 * So much may wait for the network: several times what is sent in one turn of the event loop, all of
 * which waits for its end. Beyond that, QoS 0 is lost to a client that does not keep up.
 */
const MAX_UNSENT_BYTES = 256 * 1024;

/**
 * The outbound side of a client's connection. Messages are written here and not through Aedes, which
 * drops what overtakes (DEPENDENCY-FAULTS 1) and lets one frozen client stall the others (10).
 */
export class ClientReceiver implements Receiver {
  readonly #client: Client;
  readonly #onWritable: () => void;
  #drainTimer: NodeJS.Timeout | undefined;
  #isCorked = false;

  /** @param onWritable called when the connection takes messages again */
  constructor(client: Client, onWritable: () => void) {
    this.#client = client;
    this.#onWritable = onWritable;
  }

  get isWritable(): boolean {
    const { conn, closed } = this.#client;
    return !closed && conn.writableLength < MAX_UNSENT_BYTES;
  }

  send(publish: OutgoingPublish): void {
    this.write(encodePublish(publish));
  }

  /** Writes a packet; all packets of one turn of the event loop leave together. */
  write(bytes: Buffer): void {
    const { conn, closed } = this.#client;
    if (closed || conn.destroyed) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      conn.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        conn.uncork();
      });
    }
    conn.write(bytes);
    if (conn.writableNeedDrain && this.#drainTimer === undefined) this.#awaitDrain();
  }

  /** The connection is gone. */
  close(): void {
    clearTimeout(this.#drainTimer);
  }

  #awaitDrain(): void {
    const { conn } = this.#client;
    this.#drainTimer = setTimeout(() => conn.destroy(), DRAIN_TIMEOUT_MS);
    conn.once('drain', () => {
      clearTimeout(this.#drainTimer);
      this.#drainTimer = undefined;
      if (!this.#client.closed) this.#onWritable();
    });
  }
}
