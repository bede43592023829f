import type { Audience } from '../domain/grants.js';
import type { Consumer } from './consumer.js';
import type { CursorState } from './cursor-state.js';
import type { ConsumerLimits } from './limits.js';
import type { LogName, LogReader, Tail } from './log-entry.js';
import type { Routes } from './routes.js';
import type { Subscriptions } from './subscriptions.js';

/** What all consumers are fed from. */
export interface ConsumerServices {
  readonly tails: Readonly<Record<LogName, Tail>>;
  readonly reader: LogReader;
  readonly routes: Routes;
  /** Runs `pump` of a consumer once, after what is being handled now. */
  readonly pumpLater: (consumer: Consumer) => void;
  /** The steady clock. */
  readonly now: () => number;
  /** The real time since a time of the steady clock, as well as that is known. */
  readonly elapsedSinceMs: (timeMs: number) => number;
}

export interface ConsumerOptions {
  /** What it is called in the metrics: the client id of a session. */
  readonly name: string;
  readonly services: ConsumerServices;
  readonly cursors: Readonly<Record<LogName, CursorState>>;
  readonly subscriptions: Subscriptions;
  /** Whether its principal may see what is about these. */
  readonly mayReceive: (audience: Audience) => boolean;
  /** The same for all whose `mayReceive` answers the same. */
  readonly audienceKey: string;
  readonly limits: ConsumerLimits;
  /** Consumers whose cursors may have moved: what is saved next. */
  readonly moved: Set<Consumer>;
  /** Called when the store has lost entries, and subscriptions hold from earlier on. */
  readonly onSubscriptionsRewound: () => void;
  /** Called when the store cannot be read; the consumer is woken again later. */
  readonly onReadFailure: (error: unknown) => void;
}
