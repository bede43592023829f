/** Reason codes of MQTT 5 (2.4) for what a packet does wrong. */
export const MALFORMED_PACKET = 0x81;
export const PROTOCOL_ERROR = 0x82;
export const PACKET_TOO_LARGE = 0x95;

/** What a client sends breaks a rule of MQTT: its connection ends. */
export class PacketError extends Error {
  /** Of MQTT 5. */
  readonly reasonCode: number;

  constructor(message: string, reasonCode = MALFORMED_PACKET) {
    super(message);
    this.reasonCode = reasonCode;
  }
}
