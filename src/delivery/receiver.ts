import type { LogEntry } from './log/log-entry.js';

/** One PUBLISH on its way to a client. */
export interface OutgoingPublish {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  readonly dup: boolean;
  /** The packet identifier at QoS 1, 0 at QoS 0. */
  readonly messageId: number;
  /** Undefined for a message beside the logs. */
  readonly entry?: LogEntry | undefined;
}

/** The connection that receives a consumer's messages. */
export interface Receiver {
  /** False while earlier messages still wait for the network. */
  readonly isWritable: boolean;
  /** The receiver's own in-flight limit, where it has stated one. */
  readonly maxInFlight?: number | undefined;
  send(publish: OutgoingPublish): void;
}
