import type { MqttVersion } from './packets.js';
import { MALFORMED_PACKET } from './reason-codes.js';

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
