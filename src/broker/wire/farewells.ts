import { encodeConnack, encodeDisconnect } from '../../mqtt/encode.js';
import type { MqttVersion } from '../../mqtt/packets.js';
import type { Refusal } from '../../mqtt/reason-codes.js';
import type { ClientTerms } from './client-terms.js';

/** Undefined until the client's CONNECT is read. */
type Terms = Pick<ClientTerms, 'maxPacketBytes'> | undefined;

/** The DISCONNECT for an MQTT 5 client. */
export function farewellOf(refusal: Refusal, terms: Terms): Buffer {
  const { reasonCode, reason: reasonString } = refusal;
  const told = encodeDisconnect(reasonCode, { reasonString });
  return fits(told, terms) ? told : encodeDisconnect(reasonCode);
}

/** The CONNACK for a refused client. */
export function refusingConnack(
  refusal: Refusal,
  version: MqttVersion | undefined,
  terms: Terms,
): Buffer {
  const { reasonCode, reason: reasonString } = refusal;
  const told = encodeConnack(version ?? 4, reasonCode, false, { reasonString });
  return fits(told, terms) ? told : encodeConnack(version ?? 4, reasonCode);
}

/** Whether the client accepts a packet this large [MQTT-3.2.2-19, MQTT-3.14.2-3]. */
function fits({ length }: Buffer, terms: Terms): boolean {
  return terms === undefined || length <= terms.maxPacketBytes;
}
