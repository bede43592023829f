import type { Client } from 'aedes';
import { generate, type Packet } from 'mqtt-packet';
import { parserOf } from './packet-parser.js';
import { faultOf, levelFaultOf, type WireFault, type WireLimits } from './wire-rules.js';

export interface PacketLimits extends WireLimits {
  readonly maxPacketBytes: number;
}

/**
 * Bounds what a client may send, authenticated or not (DEPENDENCY-FAULTS 15 and 16).
 *
 * A packet that announces too many bytes is refused at its header, before memory is taken. What breaks
 * a rule of MQTT that neither the parser nor Aedes looks after (`faultOf`) ends the connection.
 */
export class PacketGuard {
  readonly #client: Client;
  readonly #limits: PacketLimits;
  readonly #end: (error: Error) => void;

  constructor(client: Client, limits: PacketLimits) {
    this.#client = client;
    this.#limits = limits;
    const parser = parserOf(client);
    const parseLength = parser._parseLength.bind(parser);
    parser._parseLength = () => {
      const isComplete = parseLength();
      if (isComplete && parser.packet.length > limits.maxPacketBytes) {
        parser._emitError(new Error('packet too large'));
        return false;
      }
      return isComplete;
    };
    this.#end = parser._emitError.bind(parser);
    parser._emitError = (error) => {
      const fault = levelFaultOf(parser.packet);
      if (fault === undefined) this.#end(error);
      else this.#refuse(fault);
    };
  }

  /** Whether the packet may be handled; if not, the connection is ending. */
  admits(packet: Packet): boolean {
    const fault = faultOf(packet, this.#limits);
    if (fault === undefined) return true;
    this.#refuse(fault);
    return false;
  }

  /**
   * Ends the connection, with a CONNACK before that where the fault has a return code for it and this
   * is the first packet: to a second CONNECT there is no answer [MQTT-3.1.0-2]. Nothing that follows
   * is read meanwhile. A client that takes no CONNACK has the time that Aedes gives for a CONNECT.
   */
  #refuse({ reason, returnCode }: WireFault): void {
    const client = this.#client;
    const parser = parserOf(client);
    // The parser goes on after some of its errors, and may find another in the same packet.
    if (parser.error) return;
    const error = new Error(reason);
    const { conn } = client;
    const isFirst = !client.connecting && !client.connected && !client.closed && !conn.destroyed;
    if (returnCode === undefined || !isFirst) {
      this.#end(error);
      return;
    }
    parser.error = error;
    conn.removeAllListeners('readable');
    const connack = generate({ cmd: 'connack', returnCode, sessionPresent: false });
    conn.write(connack, () => this.#end(error));
  }
}
