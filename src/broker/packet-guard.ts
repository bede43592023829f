import type { Client } from 'aedes';
import type { ISubscribePacket, Packet } from 'mqtt-packet';

export interface PacketLimits {
  readonly maxPacketBytes: number;
  readonly maxFiltersPerPacket: number;
  readonly maxClientIdBytes: number;
}

/** The parser behind a client: private to Aedes 1.2.0, whose version is pinned for it. */
interface PacketParser {
  readonly packet: { readonly length: number };
  _parseLength(): boolean;
  _emitError(error: Error): void;
  listeners(event: 'packet'): ((packet: Packet) => void)[];
  removeAllListeners(event: 'packet'): void;
  on(event: 'packet', listener: (packet: Packet) => void): void;
}

/** Longer ones are nobody's; MQTT allows 65,535 bytes. */
const MAX_TOPIC_BYTES = 1024;

/**
 * Bounds what a client may send before Aedes sees it, authenticated or not (DEPENDENCY-FAULTS 15 and
 * 16): a packet that announces too many bytes is refused at its header, before memory is taken. Also
 * lowers the QoS asked for in a SUBSCRIBE to the one that is granted, because Aedes puts the number
 * asked for into the SUBACK.
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
  // In the place of Aedes' own listeners: a packet that has closed its connection must not reach
  // them any more, they would end the process over it.
  const listeners = parser.listeners('packet');
  parser.removeAllListeners('packet');
  parser.on('packet', (packet) => {
    const fault = faultOf(packet, limits);
    if (fault !== undefined) {
      parser._emitError(new Error(fault));
      return;
    }
    if (packet.cmd === 'subscribe') limitQos(packet);
    for (const listener of listeners) listener.call(parser, packet);
  });
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

function faultOf(packet: Packet, limits: PacketLimits): string | undefined {
  switch (packet.cmd) {
    case 'connect':
      if (isUnusable(packet.clientId, limits.maxClientIdBytes)) return 'unusable client id';
      return packet.will !== undefined && isUnusableWillTopic(packet.will.topic)
        ? 'unusable topic of the will'
        : undefined;
    case 'publish':
      if (isUnusable(packet.topic, MAX_TOPIC_BYTES)) return 'unusable topic';
      // [MQTT-2.3.1-1]; where there is none, the parser says -1.
      return packet.qos > 0 && (packet.messageId ?? 0) < 1 ? 'no packet identifier' : undefined;
    case 'subscribe':
      if (packet.subscriptions.length > limits.maxFiltersPerPacket) return 'too many filters';
      return packet.subscriptions.some(({ topic }) => isUnusable(topic, MAX_TOPIC_BYTES))
        ? 'unusable filter'
        : undefined;
    case 'unsubscribe':
      return packet.unsubscriptions.length > limits.maxFiltersPerPacket
        ? 'too many filters'
        : undefined;
    default:
      return undefined;
  }
}

/** What Aedes demands of a PUBLISH, it does not demand of the will that is published one day. */
function isUnusableWillTopic(topic: string): boolean {
  return isUnusable(topic, MAX_TOPIC_BYTES) || topic.includes('+') || topic.includes('#');
}

/** Whether a text is too long, or holds the character that none may hold [MQTT-1.5.3-2]. */
function isUnusable(text: string, maxBytes: number): boolean {
  return Buffer.byteLength(text) > maxBytes || text.includes('\u0000');
}
