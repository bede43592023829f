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
  /** The entry, where the item does not tell it. */
  readonly entry?: LogEntry | undefined;
}

/** The result of a write; or the destinations whose records are gone or damaged, and then nothing is written. */
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
  /** The newest number that the gateway knows of: a store that has lost it takes nothing before it has that again. */
  readonly after: number;
}

/** A batch as it goes to the store: however often it is written, it is stored once. */
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

/** An entry that is stored, and on the queues of these destinations. */
export interface Announced<To extends Destination> {
  readonly entry: LogEntry;
  /** False when it had been recorded before. */
  readonly isNew: boolean;
  readonly destinations: readonly To[];
}

/** The part that delivers what a writer has stored. */
export interface Fed<To extends Destination> {
  readonly destinationsOf: DestinationsOf<To>;
  announce(entries: readonly Announced<To>[]): void;
  noteBacklogs(backlogs: ReadonlyMap<string, Partial<Backlog>>): void;
  /** Makes destinations usable whose records the store has lost; those that have ended are forgotten. */
  mend(destinations: readonly string[]): Promise<void>;
  /** The number of the newest entry that was announced. */
  lastAnnounced(log: LogName): number;
}
