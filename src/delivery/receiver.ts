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
  /** Encoded properties of MQTT 5. */
  readonly fields?: Buffer | undefined;
  /** How long until the message expires (MQTT 5, 3.3.2.3.3). */
  readonly expirySeconds?: number | undefined;
  /** Of all subscriptions that match. */
  readonly subscriptionIdentifiers?: readonly number[] | undefined;
  /** Undefined for a message beside the logs. */
  readonly entry?: LogEntry | undefined;
}

/** The connection that receives a consumer's messages. */
export interface Receiver {
  /** False while earlier messages still wait for the network. */
  readonly isWritable: boolean;
  /** Whether it takes the properties of MQTT 5. */
  readonly takesProperties?: boolean;
  /** The receiver's own in-flight limit, where it has stated one. */
  readonly maxInFlight?: number | undefined;
  /** Returns false for a message that is larger than the receiver takes, now and ever. */
  send(publish: OutgoingPublish): boolean;
}
