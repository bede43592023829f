import type { Duplex } from 'node:stream';
import type { Refusal } from '../../mqtt/codes.js';

/** The network connection of a client. */
export interface NetworkConnection {
  readonly stream: Duplex;
  /** Whether it is closed, or being closed: nothing more is read or written. */
  readonly isClosed: boolean;
  /** @param refusal for the DISCONNECT to an MQTT 5 client; undefined: closes without one */
  close(refusal?: Refusal): void;
}
