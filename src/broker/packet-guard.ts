import type { Client } from 'aedes';
import { generate, type ISubscribePacket, type Packet } from 'mqtt-packet';
import { faultOf, levelFaultOf, type WireFault, type WireLimits } from './wire-rules.js';

export interface PacketLimits extends WireLimits {
  readonly maxPacketBytes: number;
  /** Called with what a SUBSCRIBE asks for, before Aedes sees it. */
  readonly onSubscribe: (subscriptions: ISubscribePacket['subscriptions']) => void;
  /** The same of an UNSUBSCRIBE. */
  readonly onUnsubscribe: (filters: readonly string[]) => void;
}

/** The parser behind a client: private to Aedes 1.2.0, whose version is pinned for it. */
interface PacketParser {
  readonly packet: { readonly length: number };
  error: Error | null;
  _parseLength(): boolean;
  _emitError(error: Error): void;
  listeners(event: 'packet'): ((packet: Packet) => void)[];
  removeAllListeners(event: 'packet'): void;
  on(event: 'packet', listener: (packet: Packet) => void): void;
}

/**
 * Bounds what a client may send before Aedes sees it, authenticated or not (DEPENDENCY-FAULTS 15 and
 * 16): a packet that announces too many bytes is refused at its header, before memory is taken. What
 * breaks a rule of MQTT that nobody else looks after (`faultOf`) ends the connection. Also lowers the
 * QoS asked for in a SUBSCRIBE to the one that is granted, because Aedes puts the number asked for
 * into the SUBACK.
 */
export function guardPackets(client: Client, limits: PacketLimits): void {
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
  const end = parser._emitError.bind(parser);
  const refuse = (fault: WireFault) => endAnswered(client, parser, fault, end);
  parser._emitError = (error) => {
    const fault = levelFaultOf(parser.packet);
    if (fault === undefined) end(error);
    else refuse(fault);
  };
  // In the place of Aedes' own listeners: a packet that has closed its connection must not reach
  // them any more, they would end the process over it.
  const listeners = parser.listeners('packet');
  parser.removeAllListeners('packet');
  parser.on('packet', (packet) => {
    const fault = faultOf(packet, limits);
    if (fault !== undefined) {
      refuse(fault);
      return;
    }
    if (packet.cmd === 'subscribe') {
      limitQos(packet);
      limits.onSubscribe(packet.subscriptions);
    }
    if (packet.cmd === 'unsubscribe') limits.onUnsubscribe(packet.unsubscriptions);
    for (const listener of listeners) listener.call(parser, packet);
  });
}

/**
 * Ends the connection, with a CONNACK before that where the fault has a return code for it and this
 * is the first packet: to a second CONNECT there is no answer [MQTT-3.1.0-2]. Nothing that follows
 * is read meanwhile. A client that takes no CONNACK has the time that Aedes gives for a CONNECT.
 */
function endAnswered(
  client: Client,
  parser: PacketParser,
  { reason, returnCode }: WireFault,
  end: (error: Error) => void,
): void {
  // The parser goes on after some of its errors, and may find another in the same packet.
  if (parser.error) return;
  const error = new Error(reason);
  const { conn } = client;
  const isFirst = !client.connecting && !client.connected && !client.closed && !conn.destroyed;
  if (returnCode === undefined || !isFirst) {
    end(error);
    return;
  }
  parser.error = error;
  conn.removeAllListeners('readable');
  const connack = generate({ cmd: 'connack', returnCode, sessionPresent: false });
  conn.write(connack, () => end(error));
}

function limitQos({ subscriptions }: ISubscribePacket): void {
  for (const subscription of subscriptions) {
    if (subscription.qos > 1) subscription.qos = 1;
  }
}

function parserOf(client: Client): PacketParser {
  const parser: unknown = Reflect.get(client, '_parser');
  if (isParser(parser)) return parser;
  throw new TypeError('aedes has no packet parser where version 1.2.0 has it');
}

function isParser(parser: unknown): parser is PacketParser {
  return (
    typeof parser === 'object' &&
    parser !== null &&
    typeof Reflect.get(parser, '_parseLength') === 'function' &&
    typeof Reflect.get(parser, '_emitError') === 'function' &&
    typeof Reflect.get(parser, 'listeners') === 'function'
  );
}
