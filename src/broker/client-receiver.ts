import type { Client } from 'aedes';
import { writeToStream } from 'mqtt-packet';
import type { OutgoingPublish, Receiver } from '../delivery/receiver.js';

/** What tells a client that its publish is stored. */
export interface Acknowledgement {
  readonly cmd: 'puback' | 'pubrec';
  readonly messageId: number;
}

/** How long a client may leave its messages unread before it is disconnected; nothing is lost. */
const DRAIN_TIMEOUT_MS = 5_000;

/**
 * The outbound side of a client's connection. Messages are written here and not through Aedes: its
 * way drops what overtakes (DEPENDENCY-FAULTS 1) and lets one frozen client stall the others (10).
 */
export class ClientReceiver implements Receiver {
  readonly #client: Client;
  readonly #onWritable: () => void;
  #drainTimer: NodeJS.Timeout | undefined;

  /** @param onWritable called when the connection takes messages again */
  constructor(client: Client, onWritable: () => void) {
    this.#client = client;
    this.#onWritable = onWritable;
  }

  get isWritable(): boolean {
    return this.#drainTimer === undefined && !this.#client.closed;
  }

  send(publish: OutgoingPublish): void {
    this.#write({ cmd: 'publish', ...publish });
  }

  /** Acknowledges a publish of the client: PUBACK at QoS 1, PUBREC at QoS 2. */
  acknowledge(acknowledgement: Acknowledgement): void {
    this.#write(acknowledgement);
  }

  /** The connection is gone. */
  close(): void {
    clearTimeout(this.#drainTimer);
  }

  #write(packet: Parameters<typeof writeToStream>[0]): void {
    const { conn, closed } = this.#client;
    if (closed || conn.destroyed) return;
    writeToStream(packet, conn);
    if (conn.writableNeedDrain && this.#drainTimer === undefined) this.#awaitDrain();
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
