import type { Audience } from '../domain/grants.js';
import type { QueuePage, QueueStore } from './accounts.js';
import type { Consumer } from './consumer.js';
import type { SendingServices } from './message.js';
import type { Subscriptions } from './sessions/subscriptions.js';
import type { Settler } from './settler.js';

/** A consumer's in-flight limit and the bounds of its backlog. */
export interface ConsumerLimits {
  /** Messages at QoS 1 that may await acknowledgement at the same time. */
  readonly maxInFlight: number;
  /** Messages other than alarms that may wait in memory, including those in flight. */
  readonly maxQueued: number;
  /** Bytes of those messages: payload and properties. */
  readonly maxQueuedBytes: number;
  /** Maximum age of both alarms and messages. */
  readonly maxAgeMs: number;
}

/** The parts that all consumers share. */
export interface ConsumerServices extends SendingServices {
  readonly queues: QueueStore;
  readonly settler: Settler;
  /** The number of the newest announced entry. */
  readonly lastAnnounced: () => number;
  /** Wakes a consumer once, after the events now being handled. */
  readonly pumpLater: (consumer: Consumer) => void;
  /** The steady clock. */
  readonly now: () => number;
  /** Called when a message outside the queues is larger than a client takes. */
  readonly leftOut: () => void;
  /** Called with the number of entries that a consumer accepted and the store has lost. */
  readonly lost: (count: number) => void;
}

/** Where the alarms of a clean session begin, if not with the next one: in the history, after a number. */
export interface HistorySource {
  readonly after: number;
  readonly page: (after: number, count: number) => Promise<QueuePage>;
}

export interface ConsumerOptions {
  /** The name in metrics: the client id of a session. */
  readonly name: string;
  /** `sessionKey` of its session. */
  readonly session: string;
  /** The name of its queue in the store; undefined for a clean session, whose queues end with its connection. */
  readonly key: string | undefined;
  readonly history?: HistorySource | undefined;
  readonly services: ConsumerServices;
  readonly subscriptions: Subscriptions;
  /** Whether the principal may see messages about this audience. */
  readonly mayReceive: (audience: Audience) => boolean;
  readonly limits: ConsumerLimits;
  /** Called when it connects and when it disconnects. */
  readonly onConnection?: (() => void) | undefined;
  /** Called when the store cannot be read. The consumer is woken again later. */
  readonly onReadFailure: (error: unknown) => void;
}
