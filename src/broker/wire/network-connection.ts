import type { Duplex } from 'node:stream';

/** The network connection of a client. */
export interface NetworkConnection {
  readonly stream: Duplex;
  /** Whether it is closed, or being closed: nothing more is read or written. */
  readonly isClosed: boolean;
  /** @param reasonCode for DISCONNECT to a client of MQTT 5; undefined: closes without one */
  close(reasonCode?: number): void;
}
