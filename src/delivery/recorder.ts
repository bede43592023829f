import type { Alarm } from '../domain/alarms.js';
import type { DeviceContext } from '../domain/messages.js';
import type { LogEntry } from './log-entry.js';

/** An alarm with all that is recorded of it. */
export interface AlarmToRecord {
  readonly alarm: Alarm;
  readonly context: DeviceContext;
  readonly receivedAtMs: number;
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

/** Writes into the logs. Both resolve once the entry is stored, in the order of the log. */
export interface Recorder {
  /** Resolves to the new log entry, or undefined when the alarm had been recorded before. */
  recordAlarm(alarm: AlarmToRecord): Promise<LogEntry | undefined>;
  appendMessage(message: MessageToAppend): Promise<LogEntry>;
}
