/** The packets that clients send, for all versions (MQTT 5, 3). */

import type { Properties } from './properties.js';

/** The protocol levels of MQTT 3.1, 3.1.1 and 5. */
export type MqttVersion = 3 | 4 | 5;
export type QoS = 0 | 1 | 2;

/** The fields that a PUBLISH and a will share. */
export interface Message {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
  /** Undefined if there are none, and before MQTT 5. */
  readonly properties: Properties | undefined;
}

export interface ConnectPacket {
  readonly cmd: 'connect';
  readonly version: MqttVersion;
  readonly clientId: string;
  readonly isCleanStart: boolean;
  readonly keepAliveSeconds: number;
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
  readonly will: Message | undefined;
  readonly properties: Properties | undefined;
  /** Of the whole packet without its fixed header. */
  readonly bytes: number;
}

export interface PublishPacket extends Message {
  readonly cmd: 'publish';
  readonly dup: boolean;
  /** 0 at QoS 0. */
  readonly messageId: number;
  /** Of the whole packet without its fixed header. */
  readonly bytes: number;
}

export interface AcknowledgementPacket {
  readonly cmd: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp';
  readonly messageId: number;
  /** 0x80 or more: failed; 0 before MQTT 5. */
  readonly reasonCode: number;
}

export interface RequestedFilter {
  readonly filter: string;
  readonly qos: QoS;
  readonly isNoLocal: boolean;
  readonly isRetainAsPublished: boolean;
  /** Which retained messages are sent: 0 all, 1 those of a new subscription, 2 none. */
  readonly retainHandling: number;
}

export interface SubscribePacket {
  readonly cmd: 'subscribe';
  readonly messageId: number;
  readonly filters: readonly RequestedFilter[];
  readonly subscriptionIdentifier: number | undefined;
}

export interface UnsubscribePacket {
  readonly cmd: 'unsubscribe';
  readonly messageId: number;
  readonly filters: readonly string[];
}

export interface DisconnectPacket {
  readonly cmd: 'disconnect';
  readonly reasonCode: number;
  readonly properties: Properties | undefined;
}

export type ClientPacket =
  | PublishPacket
  | AcknowledgementPacket
  | SubscribePacket
  | UnsubscribePacket
  | DisconnectPacket
  | { readonly cmd: 'pingreq' };
