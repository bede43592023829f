import type { Audience } from '../domain/grants.js';
import { withLate } from '../domain/messages.js';

/** The two logs: telemetry has its own, so that it can never push an alarm out. */
export const LOG_NAMES = ['alarms', 'messages'] as const;
export type LogName = (typeof LOG_NAMES)[number];

/** An alarm forwarded later than this after its receipt is marked `late` (CONTRACT 3). */
const LATE_AFTER_MS = 60_000;

/** One message that is owed to every destination whose filters match it. */
export interface LogEntry extends Audience {
  readonly log: LogName;
  /** Its place in the log; without gaps. */
  readonly sequence: number;
  readonly topic: string;
  readonly payload: Buffer;
  /** By the steady clock: ages are told from it, `late` and expiry. */
  readonly receivedAtMs: number;
}

/** The entry's payload as it is to be sent now. */
export function payloadAt(entry: LogEntry, nowMs: number): Buffer {
  if (entry.log !== 'alarms') return entry.payload;
  return withLate(entry.payload, nowMs - entry.receivedAtMs > LATE_AFTER_MS);
}

/** Reads the logs from the store. */
export interface LogReader {
  /** The entries after a sequence number, in order; fewer than `count` only at the end. */
  read(log: LogName, afterSequence: number, count: number): Promise<LogEntry[]>;
  /** The entries of these sequence numbers, but for those that are gone. */
  pick(log: LogName, sequences: readonly number[]): Promise<LogEntry[]>;
  lastSequence(log: LogName): Promise<number>;
}
