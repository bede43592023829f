import type { Audience } from '../domain/grants.js';
import type { Consumer } from './consumer.js';
import type { LogName, SendingServices, Tail } from './log/log-entry.js';
import type { QueueStore } from './queues/queue-store.js';
import type { Settler } from './queues/settler.js';
import type { Routes } from './routes.js';
import type { Subscriptions } from './sessions/subscriptions.js';

/** A consumer's in-flight limit and the bounds of its backlog. */
export interface ConsumerLimits {
  /** Messages at QoS 1 that may await acknowledgement at the same time. */
  readonly maxInFlight: number;
  /** Messages other than alarms that may be queued, including those in flight. */
  readonly maxQueued: number;
  /** Bytes of those messages: payload and properties. */
  readonly maxQueuedBytes: number;
  /** Maximum age of both alarms and messages. */
  readonly maxAgeMs: number;
  /** How fast a backlog is sent; undefined: as fast as it is acknowledged. */
  readonly replayPerSecond?: number | undefined;
}

/** The parts that all consumers share. */
export interface ConsumerServices extends SendingServices {
  readonly queues: QueueStore;
  readonly settler: Settler;
  readonly routes: Pick<Routes<Consumer>, 'connected'>;
  /** The newest alarms. */
  readonly tail: Tail;
  /** The number of the last announced entry of a log. */
  readonly lastAnnounced: (log: LogName) => number;
  /** Wakes a consumer once, after the events now being handled. */
  readonly pumpLater: (consumer: Consumer) => void;
  /** The steady clock. */
  readonly now: () => number;
  /** Called when a message outside the queues is larger than a client takes. */
  readonly leftOut: () => void;
  /** Called with the number of entries that a consumer accepted and the store has lost. */
  readonly lost: (log: LogName, count: number) => void;
}

export interface ConsumerOptions {
  /** The name in metrics: the client id of a session. */
  readonly name: string;
  /** `sessionKey` of its session. */
  readonly session: string;
  /** The name of its queues in the store; undefined for a clean session, whose queues are in memory. */
  readonly key: string | undefined;
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
