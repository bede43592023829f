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
  /** Encoded MQTT 5 properties. */
  readonly fields?: Buffer | undefined;
  /** Seconds until the message expires (MQTT 5, 3.3.2.3.3). */
  readonly expirySeconds?: number | undefined;
  /** Those of all matching subscriptions. */
  readonly subscriptionIdentifiers?: readonly number[] | undefined;
  /** Undefined for a message outside the logs. */
  readonly entry?: LogEntry | undefined;
}

/** The connection that receives a consumer's messages. */
export interface Receiver {
  /** False while earlier messages still wait for the network. */
  readonly isWritable: boolean;
  /** Whether it takes MQTT 5 properties. */
  readonly takesProperties?: boolean;
  /** The receiver's own in-flight limit, if it has stated one. */
  readonly maxInFlight?: number | undefined;
  /** Returns false for a message that is too large for the receiver, now and always. */
  send(publish: OutgoingPublish): boolean;
}
