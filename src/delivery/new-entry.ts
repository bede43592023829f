/** The entries of the history before they are stored: alarms, state changes, events of the gateway, commands to devices. */

import type { Alarm, AlarmKind } from '../domain/alarm.js';
import type { AlarmStateRecord, GivenState, StateAuthor } from '../domain/alarm-state.js';
import type { DeviceContext } from '../domain/messages.js';
import type { DueEscalation } from '../domain/rules.js';
import type { AuditEntry } from '../site/audit-trail.js';
import type { Message } from './message.js';

/** An alarm on its way into the history, with everything its record holds. */
export interface NewAlarm extends Message {
  readonly alarm: Alarm;
  readonly context: DeviceContext;
  /** The machine's clock at receipt. */
  readonly wallReceivedAtMs: number;
  /** Identifies a retransmission where the alarm's id does not [MQTT-3.3.1-1]. */
  readonly receipt: Receipt | undefined;
  /** When it is forwarded again if nobody has acknowledged it; undefined: never. */
  readonly escalations?: readonly DueEscalation[] | undefined;
  /** Whether anybody has been sent it; a live copy counts. */
  isSent: boolean;
}

export interface Receipt {
  readonly packetIdentifier: number;
  readonly payloadDigest: string;
  /** The DUP flag. */
  readonly isSentAgain: boolean;
}

/** An alarm as found in the history, with its states. */
export interface FoundAlarm {
  readonly id: string;
  readonly deviceId: string;
  readonly kind: AlarmKind;
  readonly groupId: string | null;
  readonly sequence: string;
  readonly placeText: string;
  readonly states: AlarmStateRecord;
  /** The states as stored; '' for none. */
  readonly statesText: string;
}

/** A change of an alarm's state. It is appended only if the states are still as they were read. */
export interface NewStateChange extends Message {
  readonly isNeverLate: true;
  readonly stateChange: {
    /** The change's own: the same for the same state of the same alarm. */
    readonly id: Buffer;
    readonly locationId: string;
    readonly deviceId: string;
    readonly alarmId: string;
    readonly kind: AlarmKind;
    /** Of the alarm. */
    readonly sequence: string;
    readonly placeText: string;
    readonly state: GivenState;
    readonly note: string | undefined;
    readonly by: StateAuthor;
    /** The machine's clock. */
    readonly atMs: number;
    /** The states as stored before and after. */
    readonly before: string;
    readonly after: string;
    readonly audit: AuditEntry;
  };
}

/** An event of the gateway itself. It has the guarantees of an alarm. */
export interface NewEvent extends Message {
  readonly isNeverLate: true;
  readonly event: {
    /** The event's own: the same for the same event. */
    readonly id: Buffer;
    readonly deviceId: string;
    /** The topic level after the device: `supervision`. */
    readonly level: string;
    /** The members of its JSON before the device's place, without braces. */
    readonly members: string;
    /** The device's place and custom data, as JSON (`DeviceContext.text` in braces). */
    readonly placeText: string;
    /** The machine's clock. */
    readonly atMs: number;
    readonly subject:
      | {
          readonly type: 'supervision';
          readonly state: 'silent' | 'heard';
          readonly lastSeenAtMs: number;
        }
      | {
          readonly type: 'escalation';
          /** Names the alarm and the escalation, where escalations become due. */
          readonly member: string;
          readonly alarmId: string;
        };
  };
}

/** A command to a device, for a session of it that is kept. */
export interface NewCommand extends Message {
  readonly isNeverLate: true;
  /** Random: a command has no id, and is recorded as often as it is given. */
  readonly commandId: Buffer;
}

export type NewEntry = NewAlarm | NewStateChange | NewEvent | NewCommand;

export function isAlarm(entry: NewEntry): entry is NewAlarm {
  return 'alarm' in entry;
}

/** The numbers with which entries are appended. None is ever given twice. */
export interface Numbers {
  /** The newest that the gateway knows to be stored. A store that has lost it appends nothing until it has it back. */
  readonly known: number;
  /** The newest that it has ever seen. */
  readonly above: number;
}

/** A batch is appended, or nothing is, since destinations have missing or damaged records. */
export type Appended =
  | {
      /** For each entry its number: negative if it was recorded before, 0 if its condition does not hold. */
      readonly numbers: readonly number[];
      /** How many entries wait for each destination. */
      readonly backlogs: ReadonlyMap<string, number>;
    }
  | { readonly unusable: readonly string[] };

/** Stores batches. */
export interface HistoryStore {
  /**
   * One atomic write, durable when the promise resolves. Repeated, it appends what is not there yet.
   *
   * @param destinations the names of those that get each entry
   * @throws Error with the reply code `WENTBACK` when the store has lost entries (`lastLeft`)
   */
  append(
    entries: readonly NewEntry[],
    destinations: readonly (readonly string[])[],
    numbers: Numbers,
  ): Promise<Appended>;
}
