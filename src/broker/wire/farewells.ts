import { NORMAL, type Refusal } from '../../mqtt/codes.js';
import { encodeConnack, encodeDisconnect } from '../../mqtt/encode.js';
import type { MqttVersion } from '../../mqtt/packets.js';
import type { Properties } from '../../mqtt/properties.js';
import type { ClientTerms } from './client-terms.js';

/** Undefined until the client's CONNECT is read. */
type Terms = Pick<ClientTerms, 'maxPacketBytes'> | undefined;

/** The DISCONNECT for an MQTT 5 client. */
export function farewellOf(refusal: Refusal, terms: Terms): Buffer {
  const { reasonCode, reason: reasonString } = refusal;
  const told = encodeDisconnect(reasonCode, { reasonString });
  return fits(told, terms) ? told : encodeDisconnect(reasonCode);
}

/**
 * The CONNACK for an admitted client; undefined if it takes none with what it must be told [MQTT-3.1.2-24].
 *
 * Optional properties are left out first: the client then gets no topic aliases and no response information.
 */
export function acceptingConnack(
  version: MqttVersion | undefined,
  isSessionPresent: boolean,
  properties: Properties,
  terms: Terms,
): Buffer | undefined {
  const shorter = { ...properties, topicAliasMaximum: undefined, responseInformation: undefined };
  const [first, second] = [properties, shorter].map((told) =>
    encodeConnack(version ?? 4, NORMAL, isSessionPresent, told),
  );
  return [first, second].find((packet) => packet !== undefined && fits(packet, terms));
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
