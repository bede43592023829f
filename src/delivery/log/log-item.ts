import type { AlarmStateRecord, GivenState, StateAuthor } from '../../domain/alarm-states.js';
import type { Alarm } from '../../domain/alarms.js';
import type { Audience } from '../../domain/grants.js';
import type { DeviceContext } from '../../domain/messages.js';
import type { DueEscalation } from '../../domain/time/escalations.js';
import type { MessageProperties } from '../../mqtt/message-properties.js';
import type { Actor } from '../../site/audit-trail.js';

/** A message on its way into a log. */
export interface NewMessage extends Audience {
  readonly topic: string;
  /** The forwarded text; for an alarm with `"late":false`. `LogTail` replaces it with a copy of its own. */
  payload: Buffer;
  /** By the steady clock, which decides expiry and `late`. */
  readonly receivedAtMs: number;
  readonly properties?: MessageProperties | undefined;
  /** `sessionKey` of the publisher, if one of its subscriptions is No Local (MQTT 5, 3.8.3.1). */
  readonly publisher?: string | undefined;
  /** For a QoS 2 publish: stored with the message, to recognise a repetition. */
  readonly received?: ReceivedIdentifier | undefined;
  /** Whether it goes into the log of alarms but is not an alarm, and so has no `late`. */
  readonly isNeverLate?: boolean | undefined;
}

/** An alarm on its way into its log, with everything its record holds. */
export interface NewAlarm extends NewMessage {
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

/** A requested change of an alarm's state. */
export interface StateChange {
  readonly locationId: string;
  readonly deviceId: string;
  readonly alarmId: string;
  readonly state: GivenState;
  readonly note: string | undefined;
  readonly by: StateAuthor;
  /** The machine's clock. */
  readonly atMs: number;
  /** Only an alarm that happened in one of these groups; undefined: anywhere in the location. */
  readonly groupIds: readonly string[] | undefined;
  readonly actor: Actor;
}

/** The result of a change: the alarm's states, or why it was refused. */
export type StateOutcome =
  | { readonly record: AlarmStateRecord }
  | { readonly refused: 'unknown-alarm' | 'alarm-resolved' };

/**
 * A change of an alarm's state on its way into the log of alarms.
 *
 * Its topic and payload are not those of the entry: the log, which knows the alarm, renders them.
 */
export interface NewStateChange extends NewMessage {
  readonly stateChange: StateChange;
  /** Called when the store has answered, and again if it loses the entry and stores it again. */
  readonly onOutcome: (outcome: StateOutcome) => void;
}

/** What an event is about. The store appends one event for each. */
export type EventSubject =
  | {
      readonly type: 'supervision';
      readonly deviceId: string;
      readonly state: 'silent' | 'heard';
      /** The event's own id. */
      readonly id: string;
      readonly lastSeenAtMs: number;
    }
  | {
      readonly type: 'escalation';
      /** Names the alarm and the escalation. */
      readonly member: string;
      readonly alarmSequence: number;
      readonly alarmId: string;
    };

/** An event of the gateway itself on its way into the log of alarms. It has the guarantees of an alarm. */
export interface NewEvent extends NewMessage {
  readonly isNeverLate: true;
  readonly event: {
    /** The topic level after the device: `supervision`. */
    readonly level: string;
    /** The members of its JSON before the device's place, without braces. */
    readonly members: string;
    /** The device's place and custom data, as JSON (`DeviceContext.text` in braces). */
    readonly placeText: string;
    /** The machine's clock. */
    readonly atMs: number;
    readonly subject: EventSubject;
  };
}

/** Anything that goes into the log of alarms. */
export type AlarmLogItem = NewAlarm | NewStateChange | NewEvent;

/** The packet identifier of a QoS 2 publish until PUBREL [MQTT-4.3.3-2]. */
export interface ReceivedIdentifier {
  /** `sessionKey` */
  readonly session: string;
  readonly packetIdentifier: number;
}

export interface Receipt {
  readonly packetIdentifier: number;
  readonly payloadDigest: string;
  /** The DUP flag. */
  readonly isSentAgain: boolean;
}
