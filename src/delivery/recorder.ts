import type { Alarm } from '../domain/alarms.js';
import type { DeviceContext } from '../domain/messages.js';
import type { LogEntry } from './log-entry.js';

/** An alarm with all that is recorded of it. */
export interface AlarmToRecord {
  readonly alarm: Alarm;
  readonly context: DeviceContext;
  readonly receivedAtMs: number;
  /** The same moment by the steady clock. */
  readonly steadyAtMs: number;
  readonly topic: string;
  /** The forwarded message, without `late`. */
  readonly payload: Buffer;
  /** What tells a retransmission, where the alarm's id does not (MQTT 3.1.1, 3.3.1.1 and 2.3.1). */
  readonly receipt: Receipt | undefined;
}

export interface Receipt {
  readonly packetIdentifier: number;
  readonly payloadDigest: string;
  /** The DUP flag. */
  readonly sentAgain: boolean;
}

/** A message that is no alarm, on its way into the log. */
export type MessageToAppend = Omit<LogEntry, 'log' | 'sequence'>;

/** What recording came to. */
export interface Recorded {
  readonly entry: LogEntry;
  /** False when the alarm had been recorded before, and the entry is the one from then. */
  readonly isNew: boolean;
}

/**
 * Writes into the logs. What resolves is stored; it resolves in the order of the log. Rejects with
 * `store-unavailable` when the store will take the write later.
 */
export interface Recorder {
  recordAlarm(alarm: AlarmToRecord): Promise<Recorded>;
  appendMessage(message: MessageToAppend): Promise<Recorded>;
}
