import type { Duplex } from 'node:stream';

/** The network connection of a client. */
export interface NetworkConnection {
  readonly stream: Duplex;
  /** Whether it is closed, or being closed: nothing more is read or written. */
  readonly isClosed: boolean;
  /** @param reasonCode for a client that speaks MQTT 5; undefined: it is told nothing */
  close(reasonCode?: number): void;
}
