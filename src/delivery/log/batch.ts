import type { Audience } from '../../domain/grants.js';
import type { Backlog } from '../queues/queue-store.js';
import type { LogEntry, LogName } from './log-entry.js';
import type { NewMessage } from './log-item.js';

/** Where the store keeps the items of a durable consumer. */
export interface Destination {
  /** Its name in the store. */
  readonly key: string;
}

/** The destinations that a message is for. */
export type DestinationsOf<To extends Destination> = (
  message: Audience & { readonly topic: string },
) => readonly To[];

/** The result of appending one item. */
export interface Appended {
  /** 0 when nothing was appended, now or before. */
  readonly sequence: number;
  /** False when the alarm had been recorded before, under this sequence. */
  readonly isNew: boolean;
  /** The entry, if the item does not contain it. */
  readonly entry?: LogEntry | undefined;
}

/** The result of a write. If it lists destinations with missing or damaged records, nothing was written. */
export type Written =
  | {
      readonly appended: readonly Appended[];
      readonly backlogs: ReadonlyMap<string, Partial<Backlog>>;
    }
  | { readonly unusable: readonly string[] };

/** Identifies a batch when it is written again. */
export interface BatchIdentity {
  readonly id: string;
  /** Distinguishes its items from those that get the same numbers after a failover. */
  readonly tag: number;
  /** The newest number the gateway knows. A store that has lost it rejects the batch until it has it back. */
  readonly after: number;
}

/** A batch ready for the store. Repeated writes store it once. */
export interface FrozenBatch<To extends Destination> {
  /** The destinations of each item. */
  readonly destinations: readonly (readonly To[])[];
  /**
   * One atomic write, durable when the promise resolves.
   *
   * @throws Error with the reply code `WENTBACK` when the store has lost alarms (`lastLeft`)
   */
  write(): Promise<Written>;
}

/** Stores batches. */
export interface BatchStore<Item extends NewMessage> {
  /** Matches the items of a batch with their destinations, and freezes it. */
  freeze<To extends Destination>(
    items: readonly Item[],
    destinationsOf: DestinationsOf<To>,
    identity: BatchIdentity,
  ): Promise<FrozenBatch<To>>;
}

/** A stored entry, and the destinations that have it in their queues. */
export interface Announced<To extends Destination> {
  readonly entry: LogEntry;
  /** False when it had been recorded before. */
  readonly isNew: boolean;
  readonly destinations: readonly To[];
}

/** The part that delivers what a writer has stored. */
export interface Fed<To extends Destination> {
  destinationsOf(log: LogName, message: Parameters<DestinationsOf<To>>[0]): readonly To[];
  announce(entries: readonly Announced<To>[]): void;
  noteBacklogs(backlogs: ReadonlyMap<string, Partial<Backlog>>): void;
  /** Restores the records of destinations that the store has lost; forgets destinations that have ended. */
  mend(destinations: readonly string[]): Promise<void>;
  /** The number of the newest entry that was announced. */
  lastAnnounced(log: LogName): number;
}
