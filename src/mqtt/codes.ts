/** Reason codes of MQTT 5 (2.4) that the gateway sends, and the error of who breaks a rule. */
import type { MqttVersion } from './packets.js';

export const NORMAL = 0x00;
export const NO_SUBSCRIPTION_EXISTED = 0x11;
export const UNSPECIFIED_ERROR = 0x80;
export const MALFORMED_PACKET = 0x81;
export const PROTOCOL_ERROR = 0x82;
export const IMPLEMENTATION_SPECIFIC_ERROR = 0x83;
export const UNSUPPORTED_PROTOCOL_VERSION = 0x84;
export const CLIENT_IDENTIFIER_NOT_VALID = 0x85;
export const BAD_USER_NAME_OR_PASSWORD = 0x86;
export const NOT_AUTHORIZED = 0x87;
export const SERVER_BUSY = 0x89;
export const SERVER_SHUTTING_DOWN = 0x8b;
export const BAD_AUTHENTICATION_METHOD = 0x8c;
export const KEEP_ALIVE_TIMEOUT = 0x8d;
export const SESSION_TAKEN_OVER = 0x8e;
export const TOPIC_FILTER_INVALID = 0x8f;
export const TOPIC_ALIAS_INVALID = 0x94;
export const PACKET_TOO_LARGE = 0x95;
export const QUOTA_EXCEEDED = 0x97;
export const PAYLOAD_FORMAT_INVALID = 0x99;

/** Codes from this one on are failures. */
export const FIRST_FAILURE = 0x80;

export function isFailure(reasonCode: number): boolean {
  return reasonCode >= FIRST_FAILURE;
}

/** Why something was not done, for a client that speaks MQTT 5. */
export interface Refusal {
  readonly reasonCode: number;
  /** In words. */
  readonly reason: string;
}

/** A client breaks a rule of MQTT: its connection ends. */
export class PacketError extends Error {
  /** Of MQTT 5. */
  readonly reasonCode: number;

  constructor(message: string, reasonCode = MALFORMED_PACKET) {
    super(message);
    this.reasonCode = reasonCode;
  }

  /** The reason in words. */
  get told(): string {
    return this.message;
  }

  /** The code that a client of this version gets; null: none. */
  returnCodeFor(version: MqttVersion | undefined): number | null {
    return version === 5 ? this.reasonCode : null;
  }
}
