import type { Actor } from './audit-trail.js';
import type { DeadLetter } from './bridge-list.js';
import type { QueueFigures } from './queue-figures.js';

/** Status of a webhook. */
export interface OutputStatus extends QueueFigures {
  readonly name: string;
  /** The host of its URL. */
  readonly host: string;
  /** Failing: nothing can be delivered now. Refusing: it has refused an alarm, and taken none since. */
  readonly state: 'delivering' | 'failing' | 'refusing';
  /** The last failure of this run, even if it is over. */
  readonly lastError: { readonly atMs: number; readonly reason: string } | undefined;
}

/** How many dead letters were sent again, and why no more were; undefined: none is left. */
export interface SentAgain {
  readonly sent: number;
  readonly reason: string | undefined;
}

/** The configured outputs. */
export interface OutputList {
  statuses(): Promise<OutputStatus[]>;
  /** The newest first. @throws GatewayError `output-not-found`, `store-unavailable` */
  deadLetters(name: string): Promise<DeadLetter[]>;
  /** Sends them again, the oldest first. @throws GatewayError `output-not-found`, `store-unavailable` */
  sendAgain(actor: Actor, name: string): Promise<SentAgain>;
}
