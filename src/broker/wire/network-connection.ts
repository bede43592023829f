import type { Duplex } from 'node:stream';

/** The network connection of a client. */
export interface NetworkConnection {
  readonly stream: Duplex;
  /** Whether it is closed, or being closed: nothing more is read or written. */
  readonly isClosed: boolean;
  /** Closes it without an answer. */
  close(): void;
}
