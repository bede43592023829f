/** Rules for packets beyond their format. */

import { isFilter } from '../../domain/topics.js';
import { PacketError, PROTOCOL_ERROR } from '../../mqtt/packet-error.js';
import type { ClientPacket, ConnectPacket } from '../../mqtt/packets.js';
import { ConnectError } from '../admission/connect-errors.js';

const MAX_CLIENT_ID_BYTES = 256;
const MAX_FILTERS_PER_PACKET = 1_000;
/** No client of ours uses longer topics; MQTT allows 65,535 bytes. */
const MAX_TOPIC_BYTES = 1_024;

/** @throws PacketError for a packet that breaks a rule */
export function checkPacket(packet: ClientPacket): void {
  switch (packet.cmd) {
    case 'publish':
      if (!isName(packet.topic)) throw new PacketError('unusable topic');
      break;
    case 'subscribe':
      checkFilters(packet.filters.map(({ filter }) => filter));
      break;
    case 'unsubscribe':
      checkFilters(packet.filters);
      break;
    case 'pubrec':
    case 'pubcomp':
      throw new PacketError('acknowledges a QoS 2 message: none is sent', PROTOCOL_ERROR);
  }
}

/**
 * @throws PacketError for a CONNECT that breaks a rule
 * @throws ConnectError for a client identifier that is too long [MQTT-3.1.3-9]
 */
export function checkConnect({ clientId, will }: ConnectPacket): void {
  if (will !== undefined && !isName(will.topic))
    throw new PacketError('unusable topic of the will');
  if (Buffer.byteLength(clientId) <= MAX_CLIENT_ID_BYTES) return;
  throw new ConnectError('client-id-too-long', { reason: 'client id too long' });
}

/** Whether it is the name of a topic [MQTT-3.3.2-2], [MQTT-4.7.3-1]. */
function isName(topic: string): boolean {
  return topic !== '' && !/[+#]/.test(topic) && Buffer.byteLength(topic) <= MAX_TOPIC_BYTES;
}

/** [MQTT-4.7.3-1]; too many: DEPENDENCY-FAULTS 6. */
function checkFilters(filters: readonly string[]): void {
  if (filters.length > MAX_FILTERS_PER_PACKET) throw new PacketError('too many filters');
  const isUsable = (filter: string) =>
    isFilter(filter) && Buffer.byteLength(filter) <= MAX_TOPIC_BYTES;
  if (!filters.every(isUsable)) throw new PacketError('unusable filter');
}
