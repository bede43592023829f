import type { Audience } from '../domain/grants.js';
import type { Consumer } from './consumer.js';
import type { CursorState } from './cursors/cursor-state.js';
import type { ConsumerLimits } from './limits.js';
import type { LogName, LogReader, NewAlarm, Tail } from './log/log-entry.js';
import type { Routes } from './routes.js';
import type { Subscriptions } from './sessions/subscriptions.js';

/** The parts that all consumers share. */
export interface ConsumerServices {
  readonly tails: Readonly<Record<LogName, Tail>>;
  readonly reader: LogReader;
  readonly routes: Routes;
  /** Wakes a consumer once, after the events that are being handled now. */
  readonly pumpLater: (consumer: Consumer) => void;
  /** The steady clock. */
  readonly now: () => number;
  /** The real time since a time of the steady clock, as well as that is known. */
  readonly elapsedSinceMs: (timeMs: number) => number;
  /** Called with each alarm of this run that is sent. */
  readonly alarmSent: (alarm: NewAlarm) => void;
  /** Called with the number of entries that a consumer accepted, and a log no longer has. */
  readonly lost: (log: LogName, count: number) => void;
}

export interface ConsumerOptions {
  /** The name in metrics: the client id of a session. */
  readonly name: string;
  readonly services: ConsumerServices;
  readonly cursors: Readonly<Record<LogName, CursorState>>;
  readonly subscriptions: Subscriptions;
  /** Whether the principal may see messages about this audience. */
  readonly mayReceive: (audience: Audience) => boolean;
  /** Equal for principals whose `mayReceive` answers alike. */
  readonly audienceKey: string;
  readonly limits: ConsumerLimits;
  /** Consumers whose cursors may have moved, to be saved next. */
  readonly moved: Set<Consumer>;
  /** Called when the store has lost entries, and subscriptions hold from earlier on. */
  readonly onSubscriptionsRewound: () => void;
  /** Called when the store cannot be read; the consumer is woken again later. */
  readonly onReadFailure: (error: unknown) => void;
}
